"""Stores in PostgreSQL, and logs that move between databases."""

import shutil
import threading

import pytest

from goalbound.errors import (
    CaseExists,
    CaseNotFound,
    FileFormatError,
    InputError,
    StorageFailed,
    StoreDamaged,
    StoreError,
    StoreLocked,
)
from goalbound.serve.store import Store, StoreOptions
from goalbound.serve.store.audit import verify
from goalbound.serve.store.database_url import database_of
from goalbound.serve.store.postgres_connection import connected
from goalbound.serve.store.postgres_log import PostgresLog
from goalbound.serve.store.transfer import export_log, import_log
from tests.support.incidents_at_work import greedy
from tests.support.stores import SELDOM, Handled, drawing, open_store, until, without_time

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
            with pytest.raises(StorageFailed):
                store.close()
        store.close()
    with open_store(database) as store:
        assert without_time(stopped.answers) == without_time(straight.answers)
        assert store.digest()["state"] == digest
    found = verify(database)
    assert (found.replayed, found.state, found.notes) == (51, digest, ())
    assert found.snapshots == 3


def test_a_text_that_postgresql_does_not_keep_is_wrong_input_and_the_store_goes_on(database):
    with open_store(database) as store:
        learner = store.create("incidents", greedy())
        learner.begin(CALM, "down", id="a")
        with pytest.raises(CaseNotFound):
            learner.observe("\0", 0.1, "down", step=1)
        with pytest.raises(InputError, match="cannot keep a value"):
            store.writer.call(lambda engine: engine.log.case_number(1, "\0"))
        assert learner.observe("a", 0.1, "down", step=1).step == 1


@pytest.fixture
def held_uploads(database):
    """Rows of snapshots are not written until the other session that this yields lets go of a lock, or is closed."""
    PostgresLog(database).close()
    with connected(database, writes=True) as other:
        schema = database_of(database).schema
        other.execute(f"SET search_path = {schema}".encode())
        other.execute("""CREATE FUNCTION held() RETURNS trigger AS
            $$ BEGIN PERFORM pg_advisory_xact_lock_shared(74); RETURN NEW; END $$ LANGUAGE plpgsql""")
        other.execute("CREATE TRIGGER held BEFORE INSERT ON snapshot_part FOR EACH ROW EXECUTE FUNCTION held()")
        other.execute("SELECT pg_advisory_lock(74)")
        yield other


def waits(other):
    """Whether an upload waits for the lock."""
    found = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 74 AND NOT granted"
    return other.execute(found).fetchone() == (1,)


def in_time(work):
    """Let another thread do something that must not wait for the upload."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(60)
    return not thread.is_alive()


@pytest.mark.parametrize("many", [100, 1])
def test_steps_go_on_while_a_snapshot_is_sent_slowly(database, held_uploads, monkeypatch, many):
    """Written by the thread of the store, and by a copy of the process."""
    monkeypatch.setattr("goalbound.serve.store.snapshot_schedule._MANY_CASES", many)
    handled = Handled(seed=4)
    with open_store(database, StoreOptions(snapshot_events=20, snapshot_seconds=1e9)) as store:
        learner = store.create("incidents", drawing())
        assert in_time(lambda: handled.go_on(learner, 30))
        until(lambda: waits(held_uploads))
        assert in_time(lambda: handled.go_on(learner, 30))
        assert (store.status()["events"], store.status()["snapshot_event"]) == (61, 0)
        held_uploads.execute("SELECT pg_advisory_unlock(74)")
        until(lambda: store.status()["snapshots"] > 0)
        listed = store.status()["snapshot_event"]
        assert 20 <= listed <= 31
        store._log._connection.close()  # as if it had been killed: no other snapshot is taken
        with pytest.raises(StorageFailed):
            learner.status()
    with open_store(database) as store:
        assert store.status()["replayed"] == 61 - listed
        digest = store.digest()["state"]
    found = verify(database)
    assert (found.state, found.notes) == (digest, ())


@pytest.mark.parametrize("what", ["snapshot", "compact", "close"])
def test_a_snapshot_that_is_asked_for_takes_the_place_of_one_that_is_being_sent(database, held_uploads, what):
    handled = Handled(seed=4)
    store = open_store(database, StoreOptions(snapshot_events=20, snapshot_seconds=1e9))
    handled.go_on(store.create("incidents", drawing()), 30)
    until(lambda: waits(held_uploads))
    handled.go_on(store.learner("incidents"), 5)
    threading.Timer(0.2, held_uploads.execute, ("SELECT pg_advisory_unlock(74)",)).start()
    getattr(store, what)()
    store.close()
    with open_store(database) as store:
        assert store.status()["replayed"] == 0
        digest = store.digest()["state"]
    found = verify(database)
    assert (found.base, found.state, found.notes) == (36 if what == "compact" else 0, digest, ())
    with connected(database, writes=True) as other:
        parts = f"SELECT DISTINCT seq FROM {database_of(database).schema}.snapshot_part"
        assert other.execute(parts.encode()).fetchall() == [(36,)]


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


def test_of_a_broken_file_nothing_is_written(database, tmp_path, monkeypatch):
    monkeypatch.setattr("goalbound.serve.store.transfer._CHUNK", 5)  # the damage is far behind
    with open_store(tmp_path / "one") as store:
        Handled(seed=2).go_on(store.create("incidents", drawing()), 20)
    export_log(tmp_path / "one", tmp_path / "log")
    lines = (tmp_path / "log").read_bytes().splitlines(keepends=True)
    (tmp_path / "broken").write_bytes(b"".join(lines[:-1]))
    with pytest.raises(FileFormatError, match="no last line"):
        import_log(database, tmp_path / "broken")
    assert import_log(database, tmp_path / "log") == 21  # so it was still empty


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
    changed(database, "UPDATE {schema}.snapshot_part SET bytes = bytes || 'x'")
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


def test_with_a_folder_that_stays_a_database_that_lost_its_end_is_noticed(database, tmp_path):
    options = StoreOptions(snapshot_seconds=1e9, cache=tmp_path / "cache")
    with Store.open(database, options=options) as store:
        Handled().go_on(store.create("incidents", greedy()), 20)
    changed(database, "DELETE FROM {schema}.event WHERE seq > 18; DELETE FROM {schema}.snapshot")
    with pytest.raises(StoreDamaged, match="the log ends with event 18, and event 21 was committed"):
        Store.open(database, options=options)
    shutil.rmtree(tmp_path / "cache")
    with Store.open(database, options=options) as store:  # as the error says
        assert store.digest()["seq"] == 18


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


def test_an_idle_leader_stops_once_it_is_replaced(database):
    with open_store(database) as old:
        old.create("incidents", greedy())
        old._log._connection.execute("SELECT pg_advisory_unlock_all()")
        with open_store(database, SELDOM):
            until(lambda: not old.writer.alive)


def test_with_many_open_cases_a_copy_of_the_process_takes_the_snapshot_and_the_connection_stays(database):
    options = StoreOptions(snapshot_events=100, snapshot_seconds=1e9)
    with Store.open(database, options=options) as store:
        learner = store.create("incidents", greedy())
        for number in range(110):
            learner.begin(CALM, "down", id=f"c{number}")
        until(lambda: store.status()["snapshots"] > 0)
        learner.override("c1", "restart", 0.1, "down", step=1)
        until(lambda: store._log.snapshots() != [])
        taken = store._log.snapshots()[0]
        assert store._log._sha256_of(taken.seq) == taken.sha256
        digest = store.digest()
    assert verify(database).state == digest["state"]
