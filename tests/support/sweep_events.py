"""The events of a sweep, from the first to the last."""

from goalbound.experiments.progress import Event

SWEEP = Event("sweep", data={"runs": 3, "todo": 2, "episodes": 200, "workers": 2, "others": 1,
                             "unversioned": [], "folder": "out"})  # fmt: skip
END = {"done": 1, "reused": 1, "failed": 1, "damaged": 0, "others": 1, "open": 0, "interrupted": False, "seconds": 3.0}
STORY = [
    SWEEP,
    Event("reused", "c", "three"),
    Event("started", "a", "one [red]", {"episodes": 100}),
    Event("started", "b", "two", {"episodes": 100}),
    Event("finished", "a", "one [red]", {"seconds": 2.0, "episodes": 100, "steps": 300, "expected_regret": 5.0}),
    Event("failed", "b", "two", {"error": "RuntimeError: no", "episodes": 100}),
    Event("done", data=END),
]  # fmt: skip
