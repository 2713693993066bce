"""A run as a worker executes it."""

import goalbound
from goalbound.experiments.job import Failed, Finished, run_job
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
