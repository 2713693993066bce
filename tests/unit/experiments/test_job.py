"""A run as a worker executes it."""

import sys

import pytest

import goalbound
from goalbound.experiments.job import Failed, Finished, Job, Stopped, Throttled, run_job
from goalbound.experiments.plugins import Plugins
from tests.support.sweep_cases import HERE, small_spec


def quiet(*_: object) -> None:
    pass


def test_a_task_gives_the_content_of_the_record_and_what_a_person_wants_to_know():
    run = small_spec().runs()[0]

    outcome = run_job(Job.from_spec(run), report=quiet)

    assert isinstance(outcome, Finished)
    assert outcome.record.startswith(b"PAR1")
    assert outcome.record.endswith(b"PAR1")
    assert (outcome.id, outcome.episodes) == (run.id, 20)
    assert outcome.version == goalbound.__version__


def test_a_task_that_is_asked_to_stop_leaves_nothing_and_begins_again(monkeypatch):
    monkeypatch.setattr(sys.modules["goalbound.experiments.run"], "CHUNK", 10)  # progress after 10 of 20 episodes
    run = small_spec().runs()[0]
    job = Job.from_spec(run)
    told = []

    assert run_job(job, report=lambda done, *_: told.append(done), stop=lambda: bool(told)) == Stopped(run.id)
    assert told[-1] < 20
    assert run_job(job, report=pytest.fail, stop=lambda: True) == Stopped(run.id)  # asked before it began
    assert run_job(job, report=quiet).record == run_job(job, report=quiet).record


def test_a_worker_imports_nothing_that_its_task_does_not_allow():
    run = small_spec(learners=[{"use": f"{HERE}:raising"}]).runs()[0]

    outcome = run_job(Job.from_spec(run), report=quiet)

    assert isinstance(outcome, Failed)
    assert "--plugin tests" in outcome.error


def test_what_a_run_raises_comes_back_in_words():
    run = small_spec(learners=[{"use": f"{HERE}:raising"}]).runs()[0]

    outcome = run_job(Job.from_spec(run, plugins=Plugins((HERE,))), report=quiet)

    assert isinstance(outcome, Failed)
    assert outcome.error == "RuntimeError: there is no cure"
    assert "in raising" in outcome.traceback


def test_reports_are_few_and_the_last_one_is_among_them():
    read = []
    report = Throttled(lambda *data: read.append(data), seconds=60.0)

    for done in range(1, 101):
        report(done, 100, 0.5)

    assert read == [(1, 100, 0.5), (100, 100, 0.5)]
