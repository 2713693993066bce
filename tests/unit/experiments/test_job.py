"""A run as a worker executes it."""

import sys

import goalbound
from goalbound.experiments.job import Failed, Finished, Stopped, run_job
from goalbound.experiments.plugins import Plugins
from tests.support.sweep_cases import HERE, small_spec


def test_a_task_gives_the_content_of_the_record_and_what_a_person_wants_to_know():
    run = small_spec().runs()[0]

    outcome = run_job(run)

    assert isinstance(outcome, Finished)
    assert outcome.record.startswith(b"PAR1")
    assert outcome.record.endswith(b"PAR1")
    assert (outcome.id, outcome.episodes) == (run.id, 20)
    assert outcome.version == goalbound.__version__


def test_a_task_that_is_asked_to_stop_leaves_nothing_and_begins_again(monkeypatch):
    monkeypatch.setattr(sys.modules["goalbound.experiments.run"], "CHUNK", 10)  # progress after 10 of 20 episodes
    run = small_spec().runs()[0]
    asked = []

    def stop_at_the_second() -> bool:
        asked.append(True)
        return len(asked) > 1

    assert run_job(run, stop=stop_at_the_second) == Stopped(run.id)
    assert len(asked) == 2  # before the run, and after its first part
    assert run_job(run, stop=lambda: True) == Stopped(run.id)  # before it began
    assert run_job(run).record == run_job(run).record


def test_a_worker_imports_nothing_that_its_task_does_not_allow():
    run = small_spec(learners=[{"use": f"{HERE}:raising"}]).runs()[0]

    outcome = run_job(run)

    assert isinstance(outcome, Failed)
    assert "--plugin tests" in outcome.error


def test_what_a_run_raises_comes_back_in_words():
    run = small_spec(learners=[{"use": f"{HERE}:raising"}]).runs()[0]

    outcome = run_job(run, Plugins((HERE,)))

    assert isinstance(outcome, Failed)
    assert outcome.error == "RuntimeError: there is no cure"
    assert "in raising" in outcome.traceback
