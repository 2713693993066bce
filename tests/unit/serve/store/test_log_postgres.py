"""Events in PostgreSQL; what every log does is tested in test_log.py."""

import builtins
import logging
import time

import psycopg
import pytest
from psycopg import errors

from faults.postgres import GUARDED, SECRET
from goalbound.errors import (
    InputError,
    StorageFailed,
    StorageFull,
    StoreDamaged,
    StoreError,
    StoreLocked,
)
from goalbound.serve.store import log as log_module
from goalbound.serve.store.database_url import database_of, place_of
from goalbound.serve.store.log import PostgresLog, connected, open_log, store_error
from tests.support.stores import some_events


@pytest.fixture
def log(database):
    log = PostgresLog(database, create=True)
    yield log
    log.leave()


def rows(database):
    """How many events there are, for another session."""
    with connected(database, writes=True) as other:
        return other.execute(f"SELECT count(*) FROM {database_of(database).schema}.event".encode()).fetchone()[0]


def taken_over(log, database):
    """Another leader, where the lock of this one was lost without its noticing, as behind a pooler."""
    log._connection.execute("SELECT pg_advisory_unlock_all()")
    return PostgresLog(database, create=True)


def test_a_store_has_one_leader_and_the_next_one_has_another_epoch(log, database):
    begun = time.monotonic()
    with pytest.raises(StoreLocked, match="another process has this store open"):
        PostgresLog(database, create=True)
    assert time.monotonic() - begun < 30.0
    log.close()
    after = PostgresLog(database, create=True)
    assert after._epoch == log._epoch + 1
    after.close()


def test_a_fenced_leader_writes_no_row_whatever_it_writes(log, database):
    log.append(some_events(2))
    after = taken_over(log, database)
    for write in (
        lambda: log.append(some_events(1, after=2), cases=[(3, 1, "three")]),
        lambda: log.add_learner(1, b"file"),
        lambda: log.set_meta("software", "old"),
        lambda: log.put_snapshot(2, log.chain_at(2), {"state": b""}, keep=2),
        lambda: log.rebase(1),
    ):
        with pytest.raises(StorageFailed, match="another process has become the leader"):
            write()
    assert (rows(database), after.last_case(), after.get_meta("software"), after.snapshots()) == (2, 0, None, [])
    assert (after.base().seq, after.learner_files()) == (0, [])
    after.append(some_events(1, after=2))
    after.close()
    assert rows(database) == 3


def test_what_a_leader_has_under_way_is_waited_for_by_the_next_row(log, database):
    """The old one has sent its rows, and its commit comes after the next one was started: it reads them."""
    log._connection.execute("SELECT pg_advisory_unlock_all()")
    events = some_events(1)
    with log.writing():
        log.add(events)
        with connected(database, writes=True) as other:
            other.execute("SET lock_timeout = '100ms'")
            with pytest.raises(errors.LockNotAvailable):
                other.execute(f"UPDATE {database_of(database).schema}.leader SET epoch = epoch + 1".encode())
    after = PostgresLog(database, create=True)
    assert list(after.events(0)) == events
    after.close()


@pytest.mark.parametrize("idle", [True, False])
def test_a_leader_that_writes_nothing_notices_that_it_was_replaced(log, database, monkeypatch, idle):
    log.append(some_events(1))
    after = taken_over(log, database)
    log.tidy(idle=idle)  # it was the leader a moment ago
    monkeypatch.setattr(log_module, "_LED_SECONDS", 0.0)
    log.last()  # reading says nothing about it
    with pytest.raises(StorageFailed, match="another process has become the leader"):
        log.tidy(idle=idle)
    after.close()


def test_after_a_connection_is_lost_it_is_not_made_again(log, database):
    log.append(some_events(1))
    with connected(database, writes=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", (log._connection.info.backend_pid,))
    for _ in range(2):
        with pytest.raises(StorageFailed, match="the store has stopped"):
            log.append(some_events(1, after=1))
    log.leave()
    assert rows(database) == 1
    PostgresLog(database, create=True).close()  # it can be opened at once


def test_commits_are_synced_and_a_stronger_setting_stays(log, database, monkeypatch):
    assert log._row("SHOW synchronous_commit")[0] == "on"
    log.leave()
    for setting, found in (("off", "on"), ("local", "on"), ("remote_apply", "remote_apply")):
        other = PostgresLog(f"{database}&options=-csynchronous_commit%3D{setting}")
        assert other._row("SHOW synchronous_commit")[0] == found
        other.close()
    monkeypatch.setattr(PostgresLog, "_row", lambda self, statement, values=(): ("off",))
    with pytest.raises(StoreError, match="fsync = off"):
        log._check_durable("FULL")


def test_without_space_nothing_is_written_and_writing_goes_on_once_there_is(log):
    raises = "BEGIN RAISE 'no space left' USING ERRCODE = '53100'; END"
    log._run(f"CREATE FUNCTION filled() RETURNS trigger AS $$ {raises} $$ LANGUAGE plpgsql")
    log._run("CREATE TRIGGER filled AFTER INSERT ON event EXECUTE FUNCTION filled()")
    with pytest.raises(StorageFull, match="no space left"):
        log.append(some_events(2), cases=[(1, 1, "one")])
    assert (log.last()[0], log.last_case()) == (0, 0)
    log._run("DROP TRIGGER filled ON event")
    log.append(some_events(2), cases=[(1, 1, "one")])
    assert log.last()[0] == 2


def test_what_is_no_store_is_refused_and_nothing_is_made(database):
    for options in ({"readonly": True}, {"create": False}):
        with pytest.raises(StoreError, match="there is no store"):
            PostgresLog(database, **options)
    with connected(database, writes=True) as other:
        assert other.execute("SELECT to_regnamespace(%s)", (database_of(database).schema,)).fetchone() == (None,)


@pytest.fixture
def guarded(postgres):
    """A role with a password that may read and write nothing yet."""
    with connected(postgres.url(), writes=True) as admin:
        admin.execute(f"DROP ROLE IF EXISTS {GUARDED}".encode())
        admin.execute(f"CREATE ROLE {GUARDED} LOGIN PASSWORD '{SECRET}'".encode())
        yield admin
        admin.execute(f"DROP OWNED BY {GUARDED}".encode())
        admin.execute(f"DROP ROLE {GUARDED}".encode())


def test_passwords_are_in_no_error_and_in_no_message(postgres, guarded, database, caplog):
    schema = database_of(database).schema
    PostgresLog(database, create=True).close()
    good = postgres.url(schema, user=GUARDED, password=SECRET)
    texts = []
    with caplog.at_level(logging.DEBUG):
        for url in (
            good,  # it may connect, and read nothing
            good.replace("correct", "incorrect"),
            good.replace("@/", "@nobody.invalid/").replace("host=", "application_name="),
            good.replace("?", "?connect_timeout=soon&"),
            good.replace("?", "?no-such-setting=1&"),
        ):
            with pytest.raises(StoreError) as caught:
                PostgresLog(url)
            texts += [str(caught.value), repr(caught.value), str(caught.value.__cause__)]
    assert "may not use this schema" in texts[0]
    assert "password authentication failed" in texts[3]
    for text in (*texts, caplog.text):
        assert not any(word in text for word in ("correct", "horse", "%20"))


def test_a_reader_needs_only_to_read(postgres, guarded, database):
    schema = database_of(database).schema
    log = PostgresLog(database, create=True)
    log.append(some_events(3))
    for statement in (f"GRANT USAGE ON SCHEMA {schema} TO {GUARDED}",
                      f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {GUARDED}"):  # fmt: skip
        guarded.execute(statement.encode())
    url = postgres.url(schema, user=GUARDED, password=SECRET)
    reader = PostgresLog(url, readonly=True)
    assert len(list(reader.events(0))) == 3
    assert reader._row("SHOW default_transaction_read_only")[0] == "on"
    reader.close()
    log.close()
    with pytest.raises(StoreError, match="may not do this"):
        PostgresLog(url)  # it may not write


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (errors.DiskFull("no space"), StorageFull),
        (errors.DataCorrupted("invalid page"), StoreDamaged),
        (errors.IndexCorrupted("broken"), StoreDamaged),
        (errors.UndefinedTable("gone"), StoreDamaged),
        (errors.UniqueViolation("twice"), StoreDamaged),
        (errors.InsufficientPrivilege("not yours"), StoreError),
        (errors.ReadOnlySqlTransaction("a standby now"), StorageFailed),
        (errors.AdminShutdown("ending"), StorageFailed),
        (errors.SerializationFailure("again"), StorageFailed),
        (psycopg.DataError("text fields cannot contain NUL bytes"), InputError),  # psycopg's own: nothing was sent
        (errors.CharacterNotInRepertoire("invalid byte sequence"), StorageFailed),
        (psycopg.OperationalError("server closed the connection"), StorageFailed),
    ],
)
def test_errors_of_postgresql_are_told_apart(error, kind):
    found = store_error(error, "postgresql://ann:hush@db/x")
    assert type(found) is kind
    assert "hush" not in str(found)
    assert "postgresql://ann@db/x" in str(found)


def test_without_psycopg_it_is_said_how_to_install_it(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("psycopg"):
            raise ModuleNotFoundError("no psycopg", name=name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"needs psycopg: .*pip install.*\[postgres\]"):
        open_log(place_of("postgresql://db/x"), readonly=True)
