"""A run as a worker executes it."""

import sys

import pytest

import goalbound
from goalbound.experiments.executors import ProgressFiles
from goalbound.experiments.job import Failed, Finished, Job, Stopped, Throttled, run_job
from goalbound.experiments.plugins import Plugins
from tests.support.sweep_cases import HERE, small_spec


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
