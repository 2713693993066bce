import io
import json
import time

import pytest

pytest.importorskip("pydantic")
pytest.importorskip("pyarrow")
pytest.importorskip("joblib")

from goalbound.experiments.progress import Bars, Event, JsonLines, Lines, Pace, progress_on, silent
from goalbound.experiments.sweep import sweep
from goalbound.models import ModelError
from tests.unit.experiments.sweeping import HERE, small_spec

SWEEP = Event("sweep", facts={"runs": 3, "todo": 2, "episodes": 200, "workers": 2, "others": 1, "folder": "out"})
END = {"done": 1, "reused": 1, "failed": 1, "damaged": 0, "others": 1, "open": 0, "interrupted": False, "seconds": 3.0}
STORY = [
    SWEEP,
    Event("reused", "c", "three"),
    Event("started", "a", "one [red]", {"episodes": 100, "resumed": False}),
    Event("started", "b", "two", {"episodes": 100, "resumed": False}),
    Event("progress", "a", "one [red]", {"done": 40, "episodes": 100, "regret": 2.5}),
    Event("progress", "a", "one [red]", {"done": 50, "episodes": 100, "regret": float("nan")}),
    Event("finished", "a", "one [red]", {"seconds": 2.0, "episodes": 100, "steps": 300, "regret": 5.0,
                                         "resumed": False}),
    Event("failed", "b", "two", {"error": "RuntimeError: no", "episodes": 100}),
    Event("done", facts=END),
]  # fmt: skip


def told(progress, story=STORY):
    for event in story:
        progress(event)


def test_lines_are_one_per_run_that_ends():
    stream = io.StringIO()

    told(Lines(stream))

    assert stream.getvalue().splitlines() == [
        "3 runs: 1 reused, 2 are new; --fresh runs all again; 1 records of other specs, or of code as it was, are left "
        "alone; workers: 2",
        "[1/2] one [red]: regret 5, 2.0 s (50 episodes/s)",
        "[2/2] two: failed: RuntimeError: no",
        "ended after 3.0 s: 1 done, 1 reused, 1 failed",
    ]


def test_between_them_lines_tell_the_progress_now_and_then():
    stream = io.StringIO()

    told(Lines(stream, seconds=0.0), STORY[:5])

    assert "0 of 2 runs, 20%" in stream.getvalue().splitlines()[-1]


def test_json_is_one_object_per_line_without_nan():
    stream = io.StringIO()

    told(JsonLines(stream, seconds=0.0))

    lines = [json.loads(line, parse_constant=pytest.fail) for line in stream.getvalue().splitlines()]
    assert [line["event"] for line in lines] == [event.kind for event in STORY]
    assert lines[4] == {"event": "progress", "id": "a", "label": "one [red]", "done": 40, "episodes": 100,
                        "regret": 2.5}  # fmt: skip
    assert lines[5]["regret"] is None
    assert lines[-1]["failed"] == 1


def test_json_tells_the_progress_of_a_run_at_most_once_a_second():
    stream = io.StringIO()

    told(JsonLines(stream))

    assert stream.getvalue().count('"progress"') == 1


def test_bars_end_with_a_plain_line_and_do_not_take_labels_for_markup():
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    progress = progress_on(stream)

    assert isinstance(progress, Bars)
    told(progress)
    assert "one [red]: regret 5" in stream.getvalue()
    assert "ended after 3.0 s" in stream.getvalue().splitlines()[-1]


def test_the_style_follows_the_stream_and_unknown_ones_are_refused():
    assert isinstance(progress_on(io.StringIO()), Lines)
    assert isinstance(progress_on(style="json"), JsonLines)
    assert progress_on(style="none") is silent
    with pytest.raises(ModelError, match='there is no progress "xml"'):
        progress_on(style="xml")


def test_what_a_checkpoint_brought_is_progress_but_not_speed():
    pace = Pace()
    pace.hear(Event("sweep", facts={"todo": 1, "episodes": 1000}))
    pace.hear(Event("started", "a", facts={"episodes": 1000, "resumed": True}))
    pace.hear(Event("progress", "a", facts={"done": 900, "episodes": 1000, "regret": 0.0}))
    assert (pace.done, pace.speed, pace.left) == (900, 0.0, None)

    time.sleep(0.01)
    pace.hear(Event("progress", "a", facts={"done": 950, "episodes": 1000, "regret": 0.0}))

    assert pace.speed > 0
    assert pace.left == pytest.approx(50 / pace.speed, rel=0.1)


def test_a_run_that_fails_or_is_tried_again_takes_its_episodes_back():
    pace = Pace()
    told(pace.hear, STORY[:5])
    pace.hear(Event("retried", "a", facts={"error": "died"}))
    assert (pace.done, pace.episodes, pace.ended) == (0, 200, 0)

    pace.hear(Event("failed", "a", facts={"error": "died", "episodes": 100}))

    assert (pace.done, pace.episodes, pace.ended, pace.failed) == (0, 100, 1, 1)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_sweep_tells_its_story_in_order(workers, tmp_path):
    stream = io.StringIO()
    spec = small_spec(seeds=1, learners=[{"use": f"{HERE}:raising"}, {"use": "clairvoyant"}])

    sweep(spec, tmp_path, workers=workers, progress=JsonLines(stream, seconds=0.0))

    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    bad, good = (run.id for run in spec.runs())
    assert lines[0] == {"event": "sweep", "runs": 2, "todo": 2, "episodes": 40, "workers": workers, "others": 0,
                        "folder": str(tmp_path)}  # fmt: skip
    assert [line["event"] for line in lines if line.get("id") == bad] == ["started", "failed"]
    good_story = [line["event"] for line in lines if line.get("id") == good]
    assert (good_story[0], good_story[-1]) == ("started", "finished")
    assert set(good_story[1:-1]) <= {"progress"}
    assert lines[-1]["event"] == "done"
    assert (lines[-1]["done"], lines[-1]["failed"]) == (1, 1)
