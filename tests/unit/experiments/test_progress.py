import io
import json

import pytest

from goalbound.experiments.progress import Event, JsonLines, Lines
from goalbound.experiments.sweep import sweep
from tests.support.sweep_cases import HERE, small_spec
from tests.support.sweep_events import STORY

pytest.importorskip("pydantic")
pytest.importorskip("pyarrow")
pytest.importorskip("joblib")


def given(progress, story=STORY):
    for event in story:
        progress(event)


def test_lines_are_one_per_run_that_ends():
    stream = io.StringIO()

    given(Lines(stream))

    assert stream.getvalue().splitlines() == [
        "3 runs: 1 reused, 2 are new; --fresh runs all again; 1 records of other specs, or of other versions, are left "
        "alone; workers: 2",
        "[1/2] one [red]: expected regret 5, 2.0 s (50 episodes/s)",
        "[2/2] two: failed: RuntimeError: no",
        "ended after 3.0 s: 1 done, 1 reused, 1 failed",
    ]


def test_json_is_one_object_per_line_without_nan():
    stream = io.StringIO()

    nan = Event("finished", "a", "one [red]", {"expected_regret": float("nan")})
    given(JsonLines(stream), [*STORY[:3], nan, *STORY[4:]])

    lines = [json.loads(line, parse_constant=pytest.fail) for line in stream.getvalue().splitlines()]
    assert [line["event"] for line in lines] == ["sweep", "reused", "started", "finished", "finished", "failed", "done"]
    assert lines[3] == {"event": "finished", "id": "a", "label": "one [red]", "expected_regret": None}
    assert lines[-1]["failed"] == 1


@pytest.mark.parametrize("workers", [1, 2])
def test_a_sweep_tells_its_story_in_order(workers, tmp_path):
    stream = io.StringIO()
    spec = small_spec(seeds=1, learners=[{"use": f"{HERE}:raising"}, {"use": "clairvoyant"}])

    sweep(spec, tmp_path, workers=workers, progress=JsonLines(stream))

    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    bad, good = (run.id for run in spec.runs())
    assert lines[0] == {"event": "sweep", "runs": 2, "todo": 2, "episodes": 40, "workers": workers, "others": 0,
                        "unversioned": [f"{HERE}:raising"], "folder": str(tmp_path)}  # fmt: skip
    assert [line["event"] for line in lines if line.get("id") == bad] == ["started", "failed"]
    assert [line["event"] for line in lines if line.get("id") == good] == ["started", "finished"]
    assert lines[-1]["event"] == "done"
    assert (lines[-1]["done"], lines[-1]["failed"]) == (1, 1)
