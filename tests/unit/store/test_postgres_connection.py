"""Connections to PostgreSQL; that no password is in their errors is tested in test_postgres_log.py."""

import psycopg
import pytest
from psycopg import errors

from goalbound.errors import InputError, StorageFailed, StorageFull, StoreDamaged, StoreError
from goalbound.store.postgres_connection import SharedText, connected, lock_key, store_error
from goalbound.store.postgres_log import PostgresLog


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


def test_every_name_has_a_lock_of_its_own():
    assert lock_key("one") != lock_key("other")
    assert -(2**63) <= lock_key("one") < 2**63


def test_without_a_server_there_is_no_connection():
    with pytest.raises(StoreError, match=r"postgresql://ann@nobody.invalid/cases: no connection"):
        connected("postgresql://ann:hush@nobody.invalid/cases", writes=True)
