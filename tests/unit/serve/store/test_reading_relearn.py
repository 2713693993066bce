"""What comes out of a store: a learner that has forgotten what changed, and files of learners."""

import warnings

import pytest

from goalbound import Guarded, LossScale, MappedContexts, Monitored, load_learner
from goalbound.adapters.covariates import CovariateLearner, Hats
from goalbound.errors import ExcessLossWarning, FileConflictError
from goalbound.learners.layers import unwrap
from goalbound.serve.store.reading import alarms
from tests.support.incidents_at_work import RUNBOOK, changed, greedy
from tests.support.stores import open_store
from tests.support.units import in_units

CALM = [1.0, 0.0]
HATS = Hats([0, 100], clamp=True)


WRAPPED = {
    "alone": (changed, CALM),
    "guarded": (lambda: changed(Guarded(greedy(), RUNBOOK, after_steps=5)), CALM),
    "in units behind a map": (lambda: CovariateLearner(HATS, in_units(changed(), LossScale("min", cap=60))), 0),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_a_relearned_challenger_is_put_in_and_promoted(tmp_path, name):
    make, context = WRAPPED[name]
    with open_store(tmp_path / "store") as store:
        store.create("recovery", make())
        fresh = store.relearn("recovery", "fresh")
        assert (fresh.status()["follows"], fresh.status()["alarms"]) == ("recovery", [])
        assert 0 < fresh.status()["steps"] < store.learner("recovery").status()["steps"]
        store.promote("fresh")
        recovery = store.learner("recovery")
        assert recovery.status()["alarms"] == []
        assert recovery.begin(context, "down", id="a").name == "page"
        assert store.relearn("fresh").status()["follows"] == "recovery"
        digest = store.digest()
    with open_store(tmp_path / "store") as store:
        assert store.digest() == digest


def test_relearned_acknowledge_and_alarms_go_through_maps_and_units():
    for learner in (
        in_units(changed(), LossScale("min", cap=60)),
        CovariateLearner(HATS, changed()),
        MappedContexts(changed(), [[1.0, 0.0], [0.0, 1.0]]),
    ):
        assert len(learner.alarms) > 0
        again = learner.relearned(keep_others=False)
        assert type(again) is type(learner)
        assert again.alarms == ()
        assert unwrap(again)._steps < unwrap(learner)._steps
        learner.acknowledge()
        assert learner.alarms == ()
        assert alarms(learner) == []


def with_two_alarms():
    """A monitor that has noticed a change, and inside it a guard that has noticed losses above its plans."""
    inside = Guarded(greedy(), RUNBOOK, after_steps=30)
    learner = changed(inside)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExcessLossWarning)
        while not inside._test.add(10.0, 1.0):
            pass
    assert [one["kind"] for one in alarms(learner)] == ["change", "excess"]
    return learner


def test_since_when_there_is_an_alarm_is_kept_and_is_not_part_of_the_state(tmp_path):
    with open_store(tmp_path / "store") as store:
        recovery = store.create("recovery", changed())
        assert recovery.status()["alarmed"] is None  # it came with the learner
        recovery.begin(CALM, "down", id="a")
        since = recovery.status()["alarmed"]
        recovery.begin(CALM, "down", id="b")
        assert recovery.status()["alarmed"] == since == store.events()[1].time
    with open_store(tmp_path / "store") as store:  # from a snapshot
        recovery = store.learner("recovery")
        assert recovery.status()["alarmed"] == since
        recovery.acknowledge()
        assert recovery.status()["alarmed"] is None


def test_an_acknowledgement_is_of_all_alarms_of_a_guard_in_a_monitor_and_a_replay_agrees(tmp_path):
    with open_store(tmp_path / "store") as store:
        recovery = store.create("recovery", with_two_alarms())
        recovery.acknowledge()
        assert recovery.status()["alarms"] == []
        digest = store.digest()
    with open_store(tmp_path / "store") as store:
        assert store.digest() == digest


def test_a_learner_is_written_as_it_is_now_without_its_open_cases(tmp_path):
    with open_store(tmp_path / "store") as store:
        learner = store.create("recovery", in_units(Monitored(greedy()), LossScale("min", cap=60)))
        learner.begin(CALM, "down", id="a")
        learner.observe("a", 6.0, "down", step=1)
        digest = store.digest()
        learner.save(tmp_path / "now.npz")
        assert store.digest() == digest
        found = load_learner(tmp_path / "now.npz")
        assert unwrap(found)._steps == 1
        assert found.open_episodes == ()
        store.create("copy", found)
        with pytest.raises(FileConflictError, match="overwrite=True"):
            learner.save(tmp_path / "now.npz")
        learner.save(tmp_path / "now.npz", overwrite=True)
