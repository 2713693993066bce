"""From the log to the state."""

import sqlite3

import pytest

from goalbound.errors import ReplayDifference, StoreDamaged
from goalbound.serve.store.events import FIRST_CHAIN, Event, chained
from goalbound.serve.store.replay import restore
from tests.support.incidents_at_work import contexts
from tests.support.stores import drawing, new_engine


@pytest.fixture
def engine(tmp_path):
    engine = new_engine(tmp_path / "store", drawing())
    for number, context in enumerate(contexts(10, 0)):
        engine.begin("incidents", context, "down", id=str(number))
        if number == 5:
            engine.snapshot()
    engine.observe("incidents", "2", 0.1, "goal", step=1)
    engine.commit()
    yield engine
    engine.log.close()


def rewrite(engine, change):
    """Change events and make a new chain, as somebody would who wants to hide it."""
    events = [change(event) for event in engine.log.events(0)]
    connection = sqlite3.connect(engine.log._path)
    chain = FIRST_CHAIN
    connection.execute("DELETE FROM event")
    for event in events:
        chain = chained(chain, event)
        row = event._replace(chain=chain)
        connection.execute(f"INSERT INTO event VALUES ({', '.join('?' * len(Event._fields))})", row)
    connection.commit()
    connection.close()


def test_from_a_snapshot_or_from_nothing_the_state_is_the_same(engine):
    digest = engine.digest()
    engine.rebuild()
    assert (engine.restored.snapshot, engine.restored.replayed) == (7, 5)
    assert engine.digest() == digest
    whole = restore(engine.log, before=0)
    assert (whole.snapshot, whole.replayed) == (None, 12)
    engine.machine = whole.machine
    assert engine.digest() == digest


def test_a_damaged_snapshot_is_passed_over_and_said(engine):
    engine.snapshot()
    digest = engine.digest()
    engine.log._run("UPDATE snapshot_part SET bytes = x'00' WHERE seq = 12")
    engine.rebuild()
    assert (engine.restored.snapshot, engine.restored.replayed) == (7, 5)
    assert "not as it was written; it was not used" in engine.restored.notes[0]
    assert engine.digest() == digest


def test_an_action_that_was_another_one_is_named(engine):
    rewrite(engine, lambda event: event._replace(action=1 - event.action) if event.seq == 9 else event)
    with pytest.raises(ReplayDifference, match=r"event 9 \(begin of case 8, step 0\): the log says that action"):
        restore(engine.log, before=0)


def test_a_loss_that_was_changed_is_found_by_the_chain_and_without_it_by_what_follows(engine):
    connection = sqlite3.connect(engine.log._path)
    connection.execute("UPDATE event SET loss = 0.2 WHERE seq = 12")
    connection.commit()
    connection.close()
    with pytest.raises(StoreDamaged, match="event 12 is not as it was written"):
        engine.rebuild()


def test_an_event_that_cannot_have_been_is_named(engine):
    rewrite(engine, lambda event: event._replace(next_state=9) if event.seq == 12 else event)
    with pytest.raises(ReplayDifference, match=r"event 12 \(observe of case 3, step 1\): it cannot be replayed"):
        restore(engine.log, before=0)


def test_a_learner_that_was_exchanged_is_found(engine):
    engine.log.add_learner(1, b"another file")
    with pytest.raises(StoreDamaged, match="whose file is not as it was written"):
        restore(engine.log, before=0)
