"""Connections to PostgreSQL; that no password is in their errors is tested in test_postgres_log.py."""

import psycopg
import pytest
from psycopg import errors

from faults.postgres import Cluster
from goalbound.errors import InputError, StorageFailed, StorageFull, StoreDamaged, StoreError
from goalbound.serve.store.postgres_connection import SharedText, connected, lock_key, store_error
from goalbound.serve.store.postgres_log import PostgresLog


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


def test_a_text_is_shared_by_several_processes(database):
    PostgresLog(database).close()
    one, other = SharedText(database, "tokens"), SharedText(database, "tokens")
    assert one.read() is None
    one.change(lambda text: b"a" if text is None else b"wrong")
    other.change(lambda text: text + b"b")
    assert one.read() == b"ab"
    with connected(database, writes=True) as third:
        third.execute("SELECT pg_terminate_backend(%s)", (one._connection.info.backend_pid,))
    with pytest.raises(StorageFailed):
        one.read()
    assert one.read() == b"ab"  # by another connection
    one.close()
    other.close()


def test_a_text_is_changed_beside_the_leader_of_a_schema_of_its_name(postgres):
    database = postgres.url("tokens")
    log = PostgresLog(database)
    text = SharedText(f"{database}&options=-clock_timeout%3D5s", "tokens")
    assert text.change(lambda text: b"a") == b"a"
    assert text.read() == b"a"
    text.close()
    log.close()


def test_of_several_hosts_a_text_is_kept_by_the_one_that_writes(postgres, database):
    """The first one stands for a standby."""
    PostgresLog(database).close()
    with Cluster() as standby:
        with connected(standby.url(), writes=True) as other:
            other.execute("ALTER ROLE goalbound SET default_transaction_read_only = on")
        both = database.replace(f"host={postgres.folder}", f"host={standby.folder},{postgres.folder}")
        text = SharedText(both, "tokens")
        text.change(lambda text: b"a")
        assert text.read() == b"a"
        text.close()
    text = SharedText(database, "tokens")
    assert text.read() == b"a"
    text.close()


def test_where_no_host_writes_a_text_is_read_and_not_changed(database):
    PostgresLog(database).close()
    text = SharedText(f"{database}&options=-cdefault_transaction_read_only%3Don", "tokens")
    assert text.read() is None
    with pytest.raises(StoreError, match="no connection"):
        text.change(lambda text: b"a")
    text.close()


def test_every_name_has_a_lock_of_its_own():
    locks = [lock_key("one"), lock_key("other"), lock_key("tokens"), lock_key("one", "tokens"),
             lock_key("other", "tokens")]  # fmt: skip
    assert len(set(locks)) == len(locks)
    assert -(2**63) <= lock_key("one") < 2**63


def test_without_a_server_there_is_no_connection():
    with pytest.raises(StoreError, match=r"postgresql://ann@nobody.invalid/cases: no connection"):
        connected("postgresql://ann:hush@nobody.invalid/cases", writes=True)
