"""Snapshots of a store."""

import pytest

from goalbound import ContextBlind, LossScale, Support
from goalbound.baselines import uc_ssp
from goalbound.errors import InputError, StoreDamaged
from goalbound.serve.store.events import Change, Kind
from goalbound.serve.store.snapshots import digest_of, loadable, machine_of, snapshot_of
from tests.support.incidents_at_work import contexts
from tests.support.stores import drawing, learners, new_engine
from tests.support.units import in_units


@pytest.mark.parametrize("kind", ["greedy", "drawing", "optimistic"])
def test_what_was_read_from_a_snapshot_goes_on_to_the_bit(tmp_path, kind):
    engine = new_engine(tmp_path / "store", learners()[kind])
    engine.create("rival", drawing(), follows="incidents")
    for number, context in enumerate(contexts(6, 2)):
        engine.begin("incidents", context, "down", id=str(number))
    engine.observe("incidents", "1", 0.1, "down", step=1)
    machine = machine_of(snapshot_of(engine.machine))
    assert digest_of(machine) == digest_of(engine.machine)
    for state in (engine.machine, machine):
        case = state.find(1, "2")
        outcome = Change(Kind.OBSERVE, 1, case.number, 1, None, 0.1, 2 if case.action else 0)
        state.apply(outcome)
        state.apply(Change(Kind.BEGIN, 1, 7, 0, next_state=0, body='{"context":[0.5,0.5],"id":"another"}'))
    assert digest_of(machine) == digest_of(engine.machine)
    assert digest_of(machine_of(snapshot_of(machine))) == digest_of(machine)
    engine.log.close()


def test_files_that_are_no_snapshot_are_damage(tmp_path):
    engine = new_engine(tmp_path / "store")
    files = snapshot_of(engine.machine)
    engine.log.close()
    for bad in ({}, files | {"state": b"{"}, files | {"state": b"{}"}, {"state": files["state"]}):
        with pytest.raises(StoreDamaged, match="a snapshot cannot be read"):
            machine_of(bad)


def test_a_learner_whose_file_has_not_all_of_it_is_refused():
    inside = uc_ssp(Support.full(2, 2), loss_floor=0.1)
    loadable(inside)
    for learner in (ContextBlind(inside), in_units(ContextBlind(inside), LossScale("min", 10.0))):
        with pytest.raises(InputError, match="a ContextBlind is not in the file of a learner"):
            loadable(learner)
