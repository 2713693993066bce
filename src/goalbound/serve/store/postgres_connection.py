"""Connections to PostgreSQL and their errors, and a text that is kept there."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from typing import Any

import psycopg
from psycopg import conninfo, errors, sql

from goalbound.errors import InputError, StorageFailed, StorageFull, StoreDamaged, StoreError
from goalbound.serve.store.database_url import database_of, scrubbed, shown_url

_CONNECTION = {
    "connect_timeout": "10", "keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "3",
    "tcp_user_timeout": "20000", "client_encoding": "utf8",
}  # fmt: skip
"""Of connections, unless the URL says otherwise: a server that is gone is noticed within half a minute."""
REOPEN = "the store has stopped. Open it again: it replays what is there"


def connected(url: str, *, writes: bool) -> psycopg.Connection[Any]:
    """A connection; :class:`StoreError` if there is none. Of several hosts the leader takes the one that writes."""
    database = database_of(url)
    try:
        given = conninfo.conninfo_to_dict(database.address)
    except psycopg.Error:  # its message may quote any part of the URL
        raise StoreError(
            f"{shown_url(url)}: this is no address of a database; write postgresql://user@host/database, with %40 and "
            "the like for special characters"
        ) from None
    own = {"fallback_application_name": f"goalbound on {platform.node()[:30]}, process {os.getpid()}"}
    if writes:
        own["target_session_attrs"] = "read-write"
    try:
        return psycopg.connect(conninfo.make_conninfo("", **{**_CONNECTION, **own, **given}), autocommit=True)
    except psycopg.Error as error:
        raise StoreError(f"{shown_url(url)}: no connection ({words_of(error, url)})") from None


def lock_key(schema: str, what: str = "") -> int:
    """The advisory lock of a schema, or of something in it; locks are those of one database."""
    name = f"{schema}\0{what}" if what else schema  # no name of a schema has a NUL
    return int.from_bytes(blake2b(name.encode(), digest_size=8, person=b"goalbound store").digest(), signed=True)


def store_error(error: psycopg.Error, url: str) -> StoreError | InputError:
    """An error of the server, or of the connection, as that of a store; values that cannot be sent are wrong input."""
    where, words = shown_url(url), words_of(error, url)
    if isinstance(error, errors.DiskFull):
        return StorageFull(f"{where}: the server has no space left ({words}); free some, and ask again")
    if isinstance(error, errors.DataCorrupted | errors.IndexCorrupted | errors.UndefinedTable | errors.UndefinedColumn):
        return StoreDamaged(f"{where}: the database is damaged ({words}); restore a back-up")
    if isinstance(error, errors.IntegrityError):
        return StoreDamaged(f"{where}: {words}; the log holds what it should not")
    if isinstance(error, errors.InsufficientPrivilege):
        return StoreError(f"{where}: the role may not do this ({words}); see docs/how_to/operations.md")
    if isinstance(error, psycopg.DataError) and error.sqlstate is None:
        return InputError(f"{where}: PostgreSQL cannot keep a value ({words}); nothing was sent")
    return StorageFailed(f"{where}: reading or writing failed ({type(error).__name__}: {words}); {REOPEN}")


def words_of(error: psycopg.Error, url: str) -> str:
    """What an error says, on one line, without the password of the URL, and without the values in its details."""
    return scrubbed(" ".join((error.diag.message_primary or str(error)).split())[:500], url)


class SharedText:
    """A text that several processes read and change, under a key of the table ``meta``: tokens.

    The connection by which it is read is its own, and is made again after an error.
    """

    def __init__(self, url: str, key: str) -> None:
        self._url, self._key = url, key
        self._schema = database_of(url).schema
        self._connection: psycopg.Connection[Any] | None = None

    def read(self) -> bytes | None:
        """The text; None: there is none."""
        try:
            if self._connection is None:
                self._connection = self._connected_to_read()
            return self._value(self._connection)
        except psycopg.Error as error:
            self.close()
            raise store_error(error, self._url) from None

    def change(self, change: Callable[[bytes | None], bytes]) -> bytes:
        """Replace the text by what ``change`` makes of it; nobody else changes it meanwhile. What it is now."""
        try:
            with self._connected(writes=True) as connection, connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key(self._schema, self._key),))
                new = change(self._value(connection))
                put = "INSERT INTO meta VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
                connection.execute(put, (self._key, new.decode()))
            return new
        except psycopg.Error as error:
            raise store_error(error, self._url) from None

    def _value(self, connection: psycopg.Connection[Any]) -> bytes | None:
        found = connection.execute("SELECT value FROM meta WHERE key = %s", (self._key,)).fetchone()
        return None if found is None else str(found[0]).encode()

    def _connected_to_read(self) -> psycopg.Connection[Any]:
        """Of several hosts the one that writes, where a change is seen first; any, if none does."""
        try:
            return self._connected(writes=True)
        except StoreError:
            return self._connected(writes=False)

    def _connected(self, *, writes: bool) -> psycopg.Connection[Any]:
        connection = connected(self._url, writes=writes)
        try:
            connection.execute(sql.SQL("SET search_path = {}").format(sql.Identifier(self._schema)))
            if not (connection.execute("SELECT to_regclass('meta') IS NOT NULL").fetchone() or (False,))[0]:
                raise StoreError(f"{shown_url(self._url)}: there is no store")
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Nothing is used any more."""
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
            self._connection = None
