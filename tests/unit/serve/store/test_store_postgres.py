"""Stores in PostgreSQL, and logs that move between databases."""

import pytest

from goalbound.errors import (
    CaseExists,
    CaseNotFound,
    InputError,
    StorageFailed,
    StoreDamaged,
    StoreError,
    StoreLocked,
)
from goalbound.serve.store import Store
from goalbound.serve.store.database_url import database_of
from goalbound.serve.store.log import connected
from goalbound.serve.store.replay import verify
from goalbound.serve.store.transfer import export_log, import_log
from tests.support.incidents_at_work import greedy
from tests.support.stores import Handled, drawing, open_store, without_time

CALM = [1.0, 0.0]


def changed(database, statement):
    """Change the tables behind the store's back."""
    with connected(database, writes=True) as other:
        other.execute(statement.format(schema=database_of(database).schema).encode())


def test_with_restarts_everything_is_as_in_a_folder_without(database, tmp_path):
    """Snapshots in the database, restarts, a leader that was killed: the answers and the state of a plain folder."""
    straight, stopped = Handled(seed=4), Handled(seed=4)
    with open_store(tmp_path / "one") as store:
        straight.go_on(store.create("incidents", drawing()), 50)
        digest = store.digest()["state"]
    for number, steps in enumerate((1, 10, 20, 19)):
        store = open_store(database)
        learner = store.create("incidents", drawing()) if number == 0 else store.learner("incidents")
        assert store.status()["replayed"] == (20 if number == 3 else 0)
        stopped.go_on(learner, steps)
        if number == 2:  # as if it had been killed: no snapshot, and the server ends its session
            store._log._connection.close()
        store.close()
    with open_store(database) as store:
        assert without_time(stopped.answers) == without_time(straight.answers)
        assert store.digest()["state"] == digest
    found = verify(database)
    assert (found.replayed, found.state, found.notes) == (51, digest, ())
    assert found.snapshots == 2


def test_a_text_that_postgresql_does_not_keep_is_wrong_input_and_the_store_goes_on(database):
    with open_store(database) as store:
        learner = store.create("incidents", greedy())
        learner.begin(CALM, "down", id="a")
        with pytest.raises(CaseNotFound):
            learner.observe("\0", 0.1, "down", step=1)
        with pytest.raises(InputError, match="cannot keep a value"):
            store.writer.call(lambda engine: engine.log.case_number(1, "\0"))
        assert learner.observe("a", 0.1, "down", step=1).step == 1


def test_a_store_in_a_database_is_open_once_and_backed_up_by_its_own_tools(database, tmp_path):
    with open_store(database) as store:
        with pytest.raises(StoreLocked, match="has this store open"):
            open_store(database)
        with pytest.raises(StoreError, match="pg_dump"):
            store.back_up(tmp_path / "copy")
        assert store.has_space()
    with pytest.raises(StoreError, match="there is no store"):
        Store.open(database + "_none", create=False)


def test_a_log_moves_to_postgresql_and_back_with_the_same_chain_and_state(database, tmp_path):
    handled = Handled(seed=2)
    with open_store(tmp_path / "one") as store:
        handled.go_on(store.create("incidents", drawing()), 40)
        digest = store.digest()
    export_log(tmp_path / "one", tmp_path / "log")
    assert import_log(database, tmp_path / "log") == 41
    with open_store(database) as store:
        assert store.digest() == digest
        handled.go_on(store.learner("incidents"), 10)
        digest = store.digest()
    export_log(database, tmp_path / "longer")
    assert (tmp_path / "longer").read_bytes().splitlines()[:43] == (tmp_path / "log").read_bytes().splitlines()[:43]
    import_log(tmp_path / "two", tmp_path / "longer")
    for place in (database, tmp_path / "two"):
        found = verify(place)
        assert {"seq": found.seq, "chain": found.chain, "state": found.state} == digest


def test_a_compacted_store_goes_on_from_the_snapshot_in_the_database(database, tmp_path):
    handled = Handled(seed=2)
    with open_store(database) as store:
        handled.go_on(store.create("incidents", drawing()), 40)
        export_log(database, tmp_path / "old")
        assert store.compact() == 41
        handled.go_on(store.learner("incidents"), 20)
        digest = store.digest()
    with open_store(database) as store:
        assert store.digest() == digest
        with pytest.raises(CaseExists, match=r"in the archive|begun already"):
            store.learner("incidents").begin(CALM, "down", id="case-1")
    found = verify(database)
    assert (found.base, found.replayed, found.state) == (41, 20, digest["state"])
    export_log(database, tmp_path / "new")
    import_log(tmp_path / "whole", tmp_path / "old")
    import_log(tmp_path / "whole", tmp_path / "new")
    assert verify(tmp_path / "whole").state == digest["state"]


def test_changed_rows_and_lost_snapshots_are_noticed(database):
    with open_store(database) as store:
        Handled().go_on(store.create("incidents", greedy()), 20)
        digest = store.digest()
    changed(database, "UPDATE {schema}.snapshot_part SET bytes = bytes || 'x'::bytea")
    assert "not as it was written" in verify(database).notes[0]
    with open_store(database) as store:  # all is replayed
        assert (store.digest(), store.status()["replayed"]) == (digest, 21)
    changed(database, "UPDATE {schema}.event SET loss = loss + 1e-9 WHERE seq = 9")
    with pytest.raises(StoreDamaged, match="event 9 is not as it was written"):
        verify(database)
    with open_store(database) as store:  # from the snapshot; what came before it is not looked at
        assert store.digest() == digest
    changed(database, "DELETE FROM {schema}.event WHERE seq = 12")
    changed(database, "DELETE FROM {schema}.snapshot")
    with pytest.raises(StoreDamaged):
        open_store(database)


def test_a_leader_that_was_replaced_stops_and_acknowledges_nothing(database):
    old = open_store(database)
    learner = old.create("incidents", greedy())
    learner.begin(CALM, "down", id="a")
    old._log._connection.execute("SELECT pg_advisory_unlock_all()")
    with open_store(database) as new:
        seq = new.digest()["seq"]
        with pytest.raises(StorageFailed, match="another process has become the leader"):
            learner.observe("a", 0.1, "down", step=1)
        assert not old.writer.alive
        with pytest.raises(StorageFailed):
            learner.act("a")  # nor does it say what may be no longer so
        assert new.digest()["seq"] == seq
        assert new.learner("incidents").observe("a", 0.1, "down", step=1).seq == seq + 1
        old.close()
    verify(database)
