import io
import json

import pytest

from goalbound.errors import InputError
from goalbound.experiments.progress import Bars, Event, JsonLines, Lines, ThroughputEstimator, progress_reporter, silent
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


def test_between_them_lines_tell_the_progress_now_and_then():
    stream = io.StringIO()

    given(Lines(stream, seconds=0.0), STORY[:5])

    assert "0 of 2 runs, 20%" in stream.getvalue().splitlines()[-1]


def test_json_is_one_object_per_line_without_nan():
    stream = io.StringIO()

    given(JsonLines(stream, seconds=0.0))

    lines = [json.loads(line, parse_constant=pytest.fail) for line in stream.getvalue().splitlines()]
    assert [line["event"] for line in lines] == [event.kind for event in STORY]
    assert lines[4] == {"event": "progress", "id": "a", "label": "one [red]", "done": 40, "episodes": 100,
                        "expected_regret": 2.5}  # fmt: skip
    assert lines[5]["expected_regret"] is None
    assert lines[-1]["failed"] == 1


def test_json_tells_the_progress_of_a_run_at_most_once_a_second():
    stream = io.StringIO()

    given(JsonLines(stream))

    assert stream.getvalue().count('"progress"') == 1


def test_bars_end_with_a_plain_line_and_do_not_take_labels_for_markup():
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    progress = progress_reporter(stream)

    assert isinstance(progress, Bars)
    given(progress)
    assert "one [red]: expected regret 5" in stream.getvalue()
    assert "ended after 3.0 s" in stream.getvalue().splitlines()[-1]


def test_the_style_follows_the_stream_and_unknown_ones_are_refused():
    assert isinstance(progress_reporter(io.StringIO()), Lines)
    assert isinstance(progress_reporter(style="json"), JsonLines)
    assert progress_reporter(style="none") is silent
    with pytest.raises(InputError, match='there is no progress "xml"'):
        progress_reporter(style="xml")


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def moved(throughput, name, done):
    throughput.update(Event("progress", name, data={"done": done, "episodes": 0, "expected_regret": 0.0}))


def test_the_compiler_is_not_taken_for_the_speed_of_a_sweep():
    # 12 runs of 100,000 episodes at 5,000 a second: 240 s. The first part of a run is 266 episodes, and the compiler
    # takes 17 s of it; by episodes over time since the start this was 12 * 100,000 / (266 / 17) = 76,692 s, 21 hours.
    clock = Clock()
    throughput, given = ThroughputEstimator(clock), []
    throughput.update(Event("sweep", data={"todo": 12, "episodes": 1_200_000}))
    for run in map(str, range(12)):
        throughput.update(Event("started", run, data={"episodes": 100_000}))
        clock.now += 17.0 if run == "0" else 0.05
        for done in range(266, 100_000, 2500):
            moved(throughput, run, done)
            if throughput.seconds_left is not None:
                given.append((throughput.seconds_left, (1_200_000 - throughput.done) / 5000.0))
            clock.now += 0.5
        throughput.update(Event("finished", run, data={"episodes": 100_000}))
    assert min(truth for _, truth in given) < 5.0
    assert max(truth for _, truth in given) > 200.0  # it speaks early
    assert all(0.8 < said / truth < 1.25 for said, truth in given if truth > 5.0)


def test_how_long_is_left_is_not_said_by_little():
    clock = Clock()
    throughput = ThroughputEstimator(clock)
    throughput.update(Event("sweep", data={"todo": 1, "episodes": 100_000}))
    throughput.update(Event("started", "a", data={"episodes": 100_000}))
    moved(throughput, "a", 10)
    clock.now += 4.0
    moved(throughput, "a", 9_010)
    assert throughput.seconds_left is None  # nearly a tenth, in less than five seconds
    clock.now += 4.0
    moved(throughput, "a", 9_010)
    assert throughput.seconds_left == pytest.approx((100_000 - 9_010) / (9_000 / 8.0))
    slow = ThroughputEstimator(clock)
    slow.update(Event("sweep", data={"todo": 1, "episodes": 100_000}))
    slow.update(Event("started", "a", data={"episodes": 100_000}))
    moved(slow, "a", 10)
    clock.now += 60.0
    moved(slow, "a", 2_010)
    assert slow.seconds_left is None  # a fiftieth after a minute
    assert str(slow) == "0 of 1 runs, 2%, 33 episodes/s"
    clock.now += 600.0
    moved(slow, "a", 22_010)
    assert slow.seconds_left == pytest.approx((100_000 - 22_010) / (22_000 / 660.0))


def test_a_slow_run_on_its_way_is_waited_for():
    clock = Clock()
    throughput = ThroughputEstimator(clock)
    throughput.update(Event("sweep", data={"todo": 3, "episodes": 3000}))
    for name in "abc":
        throughput.update(Event("started", name, data={"episodes": 1000}))
        moved(throughput, name, 100)
    clock.now += 9.0
    for name in "ab":
        throughput.update(Event("finished", name, data={"episodes": 1000}))
    moved(throughput, "c", 190)
    # All together 1890 in 9 s, and 810 are left: 3.9 s. But the run that is left has made 90 in 9 s.
    assert throughput.seconds_left == pytest.approx(81.0)


def test_a_run_that_has_said_nothing_yet_has_no_speed():
    clock = Clock()
    throughput = ThroughputEstimator(clock)
    throughput.update(Event("sweep", data={"todo": 1, "episodes": 100}))
    throughput.update(Event("started", "a", data={"episodes": 100}))
    clock.now += 100.0
    assert (throughput.speed, throughput.seconds_left, str(throughput)) == (0.0, None, "0 of 1 runs, 0%")


def test_a_run_that_fails_or_is_tried_again_takes_its_episodes_back():
    throughput = ThroughputEstimator()
    given(throughput.update, STORY[:5])
    throughput.update(Event("retried", "a", data={"error": "died"}))
    assert (throughput.done, throughput.episodes, throughput.ended) == (0, 200, 0)

    throughput.update(Event("failed", "a", data={"error": "died", "episodes": 100}))

    assert (throughput.done, throughput.episodes, throughput.ended, throughput.failed) == (0, 100, 1, 1)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_sweep_tells_its_story_in_order(workers, tmp_path):
    stream = io.StringIO()
    spec = small_spec(seeds=1, learners=[{"use": f"{HERE}:raising"}, {"use": "clairvoyant"}])

    sweep(spec, tmp_path, workers=workers, progress=JsonLines(stream, seconds=0.0))

    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    bad, good = (run.id for run in spec.runs())
    assert lines[0] == {"event": "sweep", "runs": 2, "todo": 2, "episodes": 40, "workers": workers, "others": 0,
                        "unversioned": [f"{HERE}:raising"], "folder": str(tmp_path)}  # fmt: skip
    assert [line["event"] for line in lines if line.get("id") == bad] == ["started", "failed"]
    good_story = [line["event"] for line in lines if line.get("id") == good]
    assert (good_story[0], good_story[-1]) == ("started", "finished")
    assert set(good_story[1:-1]) <= {"progress"}
    assert lines[-1]["event"] == "done"
    assert (lines[-1]["done"], lines[-1]["failed"]) == (1, 1)
