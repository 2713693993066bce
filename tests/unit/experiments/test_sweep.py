import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from goalbound.errors import InputError
from goalbound.experiments.results_dir import read_times
from goalbound.experiments.sweep import sweep
from tests.support.sweep_cases import HERE, EventLog, records_in, small_spec

pytest.importorskip("pydantic")
pytest.importorskip("pyarrow")
pytest.importorskip("joblib")
ROOT = Path(__file__).parents[3]


def test_the_records_are_the_same_bytes_with_one_process_and_with_two(undisturbed, tmp_path):
    spec = small_spec()

    result = sweep(spec, tmp_path, workers=2)

    assert result.complete
    assert set(result.done) == {run.id for run in spec.runs()}
    assert records_in(tmp_path) == records_in(undisturbed)
    assert len(records_in(tmp_path)) == 4  # 2 learners, 2 seeds


def test_what_is_done_is_not_done_again(tmp_path):
    first = sweep(small_spec(), tmp_path, workers=1)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "records").iterdir()}
    events = EventLog()

    again = sweep(small_spec(), tmp_path, workers=1, progress=events)

    assert (again.done, set(again.reused)) == ((), set(first.done))
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "records").iterdir()} == before
    assert events.kinds() == ["sweep", *["reused"] * 4, "done"]
    assert len(read_times(tmp_path)) == 4


def test_records_of_another_spec_are_left_alone(tmp_path):
    one = sweep(small_spec(seeds=1), tmp_path, workers=1)
    before = records_in(tmp_path)

    other = sweep(small_spec(seeds=1, episodes=10), tmp_path, workers=1)

    assert set(other.others) == set(one.done) == set(before)
    assert not other.reused
    assert before.items() <= records_in(tmp_path).items()


def test_a_run_that_raises_does_not_stop_the_others_and_is_tried_again(tmp_path):
    cure = tmp_path / "cure"
    learners = [{"use": f"{HERE}:raising", "until": str(cure)}, {"use": "clairvoyant"}]
    spec = small_spec(seeds=1, learners=learners)
    bad, good = (run.id for run in spec.runs())
    folder = tmp_path / "out"

    result = sweep(spec, folder, workers=1)

    assert result.done == (good,)
    assert list(result.failed) == [bad]
    assert not result.complete
    kept = json.loads((folder / "failures" / f"{bad}.json").read_text())
    assert kept["error"] == result.failed[bad] == f"RuntimeError: there is no {cure}"
    assert "in raising" in kept["traceback"]
    assert kept["spec"] == spec.runs()[0].as_json()

    cure.touch()
    again = sweep(spec, folder, workers=1)

    assert again.complete
    assert (again.done, again.reused) == ((bad,), (good,))
    assert not list((folder / "failures").iterdir())


@pytest.mark.parametrize(("wrong", "said"), [({"workers": 0}, "workers is 0"), ({"workers": 2, "on": "x"}, "give one")])
def test_settings_that_cannot_be_are_refused(wrong, said, tmp_path):
    with pytest.raises(InputError, match=said):
        sweep(small_spec(), tmp_path, **wrong)


def _python(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own, as it would be killed or interrupted there."""
    opening = """
import json, os, signal, sys, time
from pathlib import Path
from goalbound.experiments import results_dir as folders
from goalbound.experiments.sweep import sweep
from goalbound.experiments.toml import toml_text
from tests.support.sweep_cases import HERE, small_spec
folder = Path(sys.argv[1])
def kill(): os.kill(os.getpid(), signal.SIGKILL)
def interrupt(): os.kill(os.getpid(), signal.SIGINT)
def wait_for_one_in(path):
    while not list(Path(path).iterdir()):
        time.sleep(0.02)
"""
    command = [sys.executable, "-c", opening + script, str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, start_new_session=True)


posix = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")


@posix
def test_a_sweep_that_is_killed_in_the_middle_goes_on_where_it_was(undisturbed, tmp_path):
    until, pids = tmp_path / "until", tmp_path / "pids"
    pids.mkdir()
    out = tmp_path / "out"
    waiter = {"use": f"{HERE}:waiting", "until": str(until), "pid": str(pids)}
    spec = small_spec(learners=[{"use": "lr-cssp", "scale": 0.1}, {"use": "clairvoyant"}, waiter])
    ended = _python(
        f"""
def killed(event):
    if event.kind == "started" and "waiting" in event.label:
        wait_for_one_in({str(pids)!r})
        kill()
spec = small_spec(learners=[{{"use": "lr-cssp", "scale": 0.1}}, {{"use": "clairvoyant"}}, {waiter!r}])
sweep(spec, folder, workers=2, progress=killed)
""",
        out,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert len(records_in(out)) == 3  # of 6; with two at a time, the first waiter starts when three have ended
    orphans = [int(path.name) for path in pids.iterdir()]
    assert orphans

    until.touch()
    result = sweep(spec, out, workers=1)  # the lock is free: the system let it go

    assert result.complete
    assert not result.damaged
    assert records_in(undisturbed).items() <= records_in(out).items()
    fresh = tmp_path / "fresh"
    sweep(spec, fresh, workers=1)
    assert records_in(fresh) == records_in(out)
    assert not any(_lives_after(5.0, pid) for pid in orphans)


def _lives_after(seconds: float, pid: int) -> bool:
    if pid == os.getpid():
        return False
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").exists() and ") Z " in Path(f"/proc/{pid}/stat").read_text():
                return False  # dead; its new parent has not looked yet
        except ProcessLookupError:
            return False
        time.sleep(0.1)
    return True


@posix
@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_in_one_process_keeps_finished_runs_and_the_rest_gives_the_same_bytes(undisturbed, tmp_path):
    ended = _python(
        """
def ctrl_c(event):
    if event.kind == "finished" and "seed 1" in event.label:
        interrupt()
result = sweep(small_spec(), folder, workers=1, progress=ctrl_c)
print(json.dumps(result.counts))
""",
        tmp_path,
    )
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr
    counts = json.loads(ended.stdout)
    assert counts["interrupted"]
    assert (counts["done"], counts["open"], counts["failed"]) == (2, 2, 0)
    kept = records_in(tmp_path)
    assert len(kept) == 2

    assert len(sweep(small_spec(), tmp_path, workers=1).done) == 2

    assert records_in(tmp_path) == records_in(undisturbed)


@posix
@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_keeps_what_is_finished_and_ends_processes_that_do_not_listen(tmp_path):
    pids = tmp_path / "pids"
    pids.mkdir()
    waiter = {"use": f"{HERE}:waiting", "until": str(tmp_path / "never"), "pid": str(pids)}
    out = tmp_path / "out"
    ended = _python(
        f"""
ends = []
def ctrl_c(event):
    if event.kind == "finished":
        wait_for_one_in({str(pids)!r})
        ends.append(time.monotonic())
        os.killpg(0, signal.SIGINT)  # as a terminal does: to the workers as well
waiter = {waiter!r}
result = sweep(small_spec(seeds=1, learners=[waiter, {{"use": "clairvoyant"}}]), folder, workers=2, progress=ctrl_c)
print(json.dumps({{**result.counts, "seconds": time.monotonic() - ends[0]}}))
""",
        out,
    )
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr
    counts = json.loads(ended.stdout)
    assert counts["interrupted"]
    assert (counts["done"], counts["open"], counts["failed"]) == (1, 1, 0)
    assert counts["seconds"] < 5.0
    assert not any(_lives_after(3.0, int(path.name)) for path in pids.iterdir())
