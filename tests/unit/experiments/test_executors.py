import os
import re
import signal
import sys
import time

import pytest

pytest.importorskip("pydantic")
pytest.importorskip("pyarrow")
pytest.importorskip("joblib")

import goalbound
from goalbound.errors import InputError
from goalbound.experiments import executors
from goalbound.experiments.executors import ProgressFiles
from goalbound.experiments.job import Failed, Finished, Job, Stopped, Throttled, run_job
from goalbound.experiments.plugins import Plugins
from goalbound.experiments.signals import stop_on_signals
from goalbound.experiments.sweep import sweep
from goalbound.extras import install_command
from tests.support.sweep_cases import HERE, EventLog, records_in, small_spec


def never() -> bool:
    return False


def quiet(*_: object) -> None:
    pass


def test_a_task_gives_the_content_of_the_record_and_what_a_person_wants_to_know():
    run = small_spec().runs()[0]

    outcome = run_job(Job.from_spec(run), report=quiet, stop=never)

    assert isinstance(outcome, Finished)
    assert outcome.record.startswith(b"PAR1")
    assert outcome.record.endswith(b"PAR1")
    assert (outcome.id, outcome.episodes, outcome.restored) == (run.id, 20, False)
    assert outcome.version == goalbound.__version__


def test_a_task_that_is_asked_to_stop_leaves_a_checkpoint_that_another_goes_on_from(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["goalbound.experiments.run"], "CHUNK", 10)  # progress after 10 of 20 episodes
    run = small_spec().runs()[0]
    progress_files = ProgressFiles(tmp_path)
    job = Job.from_spec(run, checkpoint=tmp_path / "one.npz")

    assert run_job(job, report=lambda *_: progress_files.request_stop(), stop=progress_files.stop_requested) == Stopped(
        run.id
    )
    assert job.has_checkpoint
    assert run_job(job, report=pytest.fail, stop=progress_files.stop_requested) == Stopped(
        run.id
    )  # asked before it began
    rest = run_job(job, report=quiet, stop=never)

    assert isinstance(rest, Finished)
    assert rest.restored
    assert rest.record == run_job(Job.from_spec(run), report=quiet, stop=never).record


def test_a_worker_imports_nothing_that_its_task_does_not_allow():
    run = small_spec(learners=[{"use": f"{HERE}:raising"}]).runs()[0]

    outcome = run_job(Job.from_spec(run), report=quiet, stop=never)

    assert isinstance(outcome, Failed)
    assert "--plugin tests" in outcome.error


def test_what_a_run_raises_comes_back_in_words():
    run = small_spec(learners=[{"use": f"{HERE}:raising"}]).runs()[0]

    outcome = run_job(Job.from_spec(run, plugins=Plugins((HERE,))), report=quiet, stop=never)

    assert isinstance(outcome, Failed)
    assert outcome.error == "RuntimeError: there is no cure"
    assert "in raising" in outcome.traceback
    assert outcome.disk_errno == 0


def test_reports_are_few_and_the_last_one_is_among_them():
    read = []
    report = Throttled(lambda *data: read.append(data), seconds=60.0)

    for done in range(1, 101):
        report(done, 100, 0.5)

    assert read == [(1, 100, 0.5), (100, 100, 0.5)]


def test_a_board_passes_over_what_is_torn_and_does_not_mind_a_full_disk(tmp_path):
    progress_files = ProgressFiles(tmp_path)
    progress_files.write("a", {"done": 3})
    (tmp_path / "b").write_text('{"done": 3')
    (tmp_path / "c").write_text("3")

    assert progress_files.read("a") == {"done": 3}
    assert [progress_files.read(name) for name in "bcd"] == [None, None, None]
    ProgressFiles(tmp_path / "nowhere").write("a", {"done": 3})
    ProgressFiles(tmp_path / "nowhere").request_stop()


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_a_run_whose_process_is_killed_is_tried_again_alone_and_one_that_kills_always_has_failed(tmp_path):
    for name in ("once", "always"):
        (tmp_path / name).mkdir()
    once = {"use": f"{HERE}:deadly", "label": "once", "marks": str(tmp_path / "once"), "main": os.getpid()}
    always = {"use": f"{HERE}:deadly", "label": "always", "marks": str(tmp_path / "always"), "main": os.getpid(),
              "deaths": 99}  # fmt: skip
    spec = small_spec(seeds=1, learners=[once, always, {"use": "clairvoyant"}])
    first, second, third = (run.id for run in spec.runs())
    read = EventLog()

    result = sweep(spec, tmp_path / "out", workers=2, progress=read)

    assert set(result.done) == {first, third}
    assert list(result.failed) == [second]
    assert "its process died twice" in result.failed[second]
    assert {first, second} <= {event.id for event in read.of("retried")} | {event.id for event in read.of("finished")}
    sweep(spec, tmp_path / "fresh", workers=1)  # where it spares the main process
    assert records_in(tmp_path / "out").items() <= records_in(tmp_path / "fresh").items()


def test_a_worker_process_uses_one_thread(tmp_path):
    spec = small_spec(seeds=1, learners=[{"use": f"{HERE}:threads", "path": str(tmp_path / name)} for name in "ab"])

    assert sweep(spec, tmp_path / "out", workers=2).complete

    assert [(tmp_path / name).read_text() for name in "ab"] == ["1 1", "1 1"]


def test_a_worker_with_another_version_is_not_believed(tmp_path, monkeypatch):
    def elsewhere(job, **_):
        return Finished(job.id, b"PAR1", 1.0, 20, 40, 0.0, False, "0.0.1")

    monkeypatch.setattr(executors, "run_job", elsewhere)
    result = sweep(small_spec(seeds=1), tmp_path, workers=1)

    assert not result.done
    assert all("the worker has goalbound 0.0.1" in error for error in result.failed.values())


def test_a_cluster_without_its_extra_is_an_error_that_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)

    with pytest.raises(InputError, match=re.escape(install_command("cluster"))):
        sweep(small_spec(), tmp_path, on="tcp://127.0.0.1:8786")


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://x"])
def test_a_scheduler_that_does_not_answer_is_an_error_that_names_it(address, tmp_path, monkeypatch):
    pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
    monkeypatch.setattr(executors, "CONNECT_SECONDS", 0.5)
    started = time.monotonic()

    with pytest.raises(InputError, match=f"no Dask scheduler answers at '{address}'"):
        sweep(small_spec(), tmp_path, on=address)

    assert time.monotonic() - started < 10.0


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.usefixtures("ctrl_c")
def test_the_first_ctrl_c_asks_and_the_second_insists():
    before = signal.getsignal(signal.SIGINT)
    with stop_on_signals() as stop:
        assert not stop()
        signal.raise_signal(signal.SIGTERM)
        assert stop()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_where_ctrl_c_is_ignored_it_stays_so_and_a_request_to_end_still_insists(ctrl_c):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as nohup, or a shell that starts it in the background
    with stop_on_signals(force_after=0.1) as stop:
        signal.raise_signal(signal.SIGINT)
        assert not stop()
        signal.raise_signal(signal.SIGTERM)
        assert stop()
        with pytest.raises(KeyboardInterrupt):
            time.sleep(5.0)


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.usefixtures("ctrl_c")
def test_work_that_never_checks_is_interrupted_after_the_grace():
    with stop_on_signals(force_after=0.1):
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            time.sleep(30.0)
