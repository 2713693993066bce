"""Events in PostgreSQL: one leader writes, every commit synced; whoever lost its place writes nothing.

Who holds an advisory lock of the database is the leader. It takes the next number of the table ``leader``, its epoch,
and every transaction that writes holds the row with that number (``FOR SHARE``). Whoever becomes the leader changes the
row, and so waits for transactions that are under way; from then on no row has the old number, and all that the old
leader writes has zero rows. It needs no clock, and holds also where the lock was lost unnoticed.

The connection is made once. After any error of it nobody knows what was committed: the store stops, and whoever opens
it again reads what is there. No commit is sent twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from goalbound.errors import InputError, StorageFailed, StoreDamaged, StoreError, StoreLocked
from goalbound.models.files.io import atomic_write
from goalbound.serve.store.database_url import database_of, shown_url
from goalbound.serve.store.events import FIRST_CHAIN, Event
from goalbound.serve.store.log import SnapshotEntry
from goalbound.serve.store.postgres_connection import REOPEN, connected, lock_key, store_error
from goalbound.serve.store.postgres_upload import SnapshotUpload, parts_of
from goalbound.serve.store.snapshots import is_whole, prune
from goalbound.serve.store.sql_log import COLUMNS, SqlLog, statements

FORMAT = "1"
"""The version of the tables."""
OLDEST_SERVER = 12
_TABLES = """
CREATE TABLE leader (one boolean PRIMARY KEY DEFAULT true CHECK (one), epoch bigint NOT NULL);
INSERT INTO leader (epoch) VALUES (0);
CREATE TABLE meta (key text PRIMARY KEY, value text NOT NULL);
CREATE TABLE learner (number bigint PRIMARY KEY, file bytea NOT NULL);
CREATE TABLE "case" (number bigint PRIMARY KEY, learner bigint NOT NULL, id text NOT NULL, UNIQUE (learner, id));
CREATE TABLE event (
  seq bigint PRIMARY KEY, kind smallint NOT NULL, learner bigint NOT NULL, "case" bigint, step bigint,
  taken bigint, loss double precision, next_state bigint, body bytea, action bigint, propensity double precision,
  others bytea, "time" bigint NOT NULL, chain bytea NOT NULL, UNIQUE ("case", step)
);
CREATE TABLE snapshot (seq bigint PRIMARY KEY, chain bytea NOT NULL, file text NOT NULL, sha256 text NOT NULL);
CREATE TABLE snapshot_part (seq bigint, part bigint, bytes bytea NOT NULL, PRIMARY KEY (seq, part));
"""
_TYPES = ("bigint", "smallint", "bigint", "bigint", "bigint", "bigint", "double precision", "bigint", "bytea",
          "bigint", "double precision", "bytea", "bigint", "bytea")  # fmt: skip
_ARRAYS = ", ".join(f"%s::{kind}[]" for kind in _TYPES)
_HELD = "held AS MATERIALIZED (SELECT 1 FROM leader WHERE epoch = %s FOR SHARE)"
_APPEND = f"""WITH {_HELD},
begun AS (INSERT INTO "case" SELECT one.* FROM held, unnest(%s::bigint[], %s::bigint[], %s::text[]) AS one)
INSERT INTO event ({COLUMNS}) SELECT one.* FROM held, unnest({_ARRAYS}) AS one"""
_PUT_META = f"""WITH {_HELD}
INSERT INTO meta SELECT %s, %s FROM held ON CONFLICT (key) DO UPDATE SET value = excluded.value"""
_PUT_LEARNER = f"""WITH {_HELD}
INSERT INTO learner SELECT %s, %s FROM held ON CONFLICT (number) DO UPDATE SET file = excluded.file"""
_HIDDEN = "SELECT to_regnamespace(%s) IS NOT NULL AND NOT has_schema_privilege(to_regnamespace(%s), 'USAGE')"
_PAGE = 2000  # events of one query
_LOCK_SECONDS = 0.8  # a server takes a moment to notice that a process was killed
_LED_SECONDS = 1.0


class PostgresLog(SqlLog):
    """An :class:`~goalbound.serve.store.log.EventLog` in a schema of a PostgreSQL database.

    Args:
        url: ``postgresql://user@host/database?schema=incidents``; the schema is ``goalbound`` if none is named.
        readonly: only read, beside the leader; nothing is locked.
        create: make the tables where there are none.
        synchronous: FULL. Tests set others.
    """

    path: str
    _mark, _errors = "%s", psycopg.Error

    def __init__(self, url: str, *, readonly: bool = False, create: bool = True, synchronous: str = "FULL") -> None:
        self.path = shown_url(url)
        self._url = url
        self._readonly = readonly
        self._epoch = -1
        self._warning: str | None = None
        self._led = 0.0  # by the monotonic clock: it was the leader then
        self._upload: SnapshotUpload | None = None
        self._connection = connected(url, writes=not readonly)
        try:
            with self._as_store_errors():
                self._set_up(synchronous, create=create)
        except BaseException:
            self.leave()
            raise

    def _set_up(self, synchronous: str, *, create: bool) -> None:
        """The session, the tables, and the place of the leader."""
        connection, schema = self._connection, database_of(self._url).schema
        connection.add_notice_handler(self._on_notice)
        version = connection.info.server_version // 10_000
        if version < OLDEST_SERVER:
            raise StoreError(f"{self.path}: the server is PostgreSQL {version}; use {OLDEST_SERVER} or newer")
        self._run("SET default_transaction_isolation = 'read committed'")
        connection.execute(sql.SQL("SET search_path = {}").format(sql.Identifier(schema)))
        found = self._one("SELECT to_regclass('meta') IS NOT NULL")[0]
        if not found and self._one(_HIDDEN, (schema, schema))[0]:
            raise StoreError(f"{self.path}: the role may not use this schema: see docs/how_to/operations.md")
        if not found and (self._readonly or not create):
            raise StoreError(f"{self.path}: there is no store")
        if self._readonly:
            self._run("SET default_transaction_read_only = on")
        else:
            self._check_durable(synchronous)
            self._lock(schema)
            if not self._one("SELECT to_regclass('meta') IS NOT NULL")[0]:
                self._make_tables(schema)
        self._check_format(FORMAT)
        if not self._readonly:
            # From here on what an earlier leader sends has no rows; what it had under way is waited for.
            self._epoch = self._one("UPDATE leader SET epoch = epoch + 1 RETURNING epoch")[0]

    def _check_durable(self, synchronous: str) -> None:
        """What is committed is on the disk of the server, and on that of its synchronous standbys if there are any."""
        if synchronous != "FULL":
            self._run("SET synchronous_commit = off")
            return
        if self._one("SHOW fsync")[0] != "on":
            raise StoreError(
                f"{self.path}: the server has fsync = off, so that a committed step may be lost; switch it on"
            )
        if self._one("SHOW synchronous_commit")[0] not in ("on", "remote_apply"):
            self._run("SET synchronous_commit = on")

    def _lock(self, schema: str) -> None:
        """Become the one that writes; :class:`StoreLocked` if somebody is."""
        key = lock_key(schema)
        until = time.monotonic() + _LOCK_SECONDS
        while not self._one("SELECT pg_try_advisory_lock(%s)", (key,))[0]:
            if time.monotonic() < until:
                time.sleep(0.02)
                continue
            who = self._one(
                """SELECT pid, application_name FROM pg_locks JOIN pg_stat_activity USING (pid)
                WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND classid = %s AND objid = %s
                AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())""",
                (key >> 32 & 0xFFFFFFFF, key & 0xFFFFFFFF),
            )
            owner = "another process" if who is None else f"{who[1] or 'another process'} (server process {who[0]})"
            raise StoreLocked(
                f"{self.path}: {owner} has this store open; a store has one writer. Stop that one first, or follow it"
            )

    def _make_tables(self, schema: str) -> None:
        with self._connection.transaction():
            if not self._one("SELECT to_regnamespace(%s) IS NOT NULL", (schema,))[0]:  # only then it must be allowed
                self._connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
            for statement in statements(_TABLES):
                self._run(statement)
            self._run("INSERT INTO meta VALUES ('format', %s), ('base', %s)", (FORMAT, f"0 {FIRST_CHAIN.hex()}"))

    def _on_notice(self, notice: psycopg.errors.Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING":
            self._warning = notice.message_primary

    def _store_error(self, error: psycopg.Error) -> StoreError | InputError:
        return store_error(error, self._url)

    def _run(self, statement: str, values: Sequence[Any] = ()) -> psycopg.Cursor[Any]:
        return self._connection.execute(statement.encode(), values or None, binary=True)

    def _bytes(self, value: Any) -> bytes:
        return bytes(value)

    # Writing: whatever writes holds the row of the leader's epoch.

    def _fenced(self) -> StorageFailed:
        return StorageFailed(
            f"{self.path}: another process has become the leader of this store (it was epoch {self._epoch} here); "
            f"nothing was written, and {REOPEN}"
        )

    def _write(self, statement: str, values: Sequence[Any], rows: int) -> None:
        """One statement that holds the epoch, and is a transaction: all of its rows are written, durably, or none."""
        self._warning = None
        with self._as_store_errors():
            found = self._run(statement, (self._epoch, *values)).rowcount
        if found != rows:
            raise self._fenced()
        self._led = time.monotonic()
        if self._warning is not None:  # a wait for a standby was given up: it is committed here, and maybe not there
            raise StorageFailed(f"{self.path}: the server warned of the commit ({self._warning}); {REOPEN}")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Several statements that hold the epoch."""
        self._warning = None
        with self._as_store_errors(), self._connection.transaction():
            if self._run("SELECT 1 FROM leader WHERE epoch = %s FOR SHARE", (self._epoch,)).fetchone() is None:
                raise self._fenced()
            self._led = time.monotonic()
            yield
        if self._warning is not None:
            raise StorageFailed(f"{self.path}: the server warned of the commit ({self._warning}); {REOPEN}")

    def append(self, events: Sequence[Event], *, cases: Sequence[tuple[int, int, str]] = ()) -> None:
        """Write events, and the cases that they begin; all or none, durably, in one message to the server."""
        begun = [list(column) for column in zip(*cases, strict=True)] or [[], [], []]
        columns = [list(column) for column in zip(*events, strict=True)]
        self._write(_APPEND, (*begun, *columns), len(events))

    def add_learner(self, number: int, file: bytes) -> None:
        """Keep the file of a learner, before the event that creates it is appended."""
        self._write(_PUT_LEARNER, (number, file), 1)

    def set_meta(self, key: str, value: str) -> None:
        """Keep a text."""
        self._write(_PUT_META, (key, value), 1)

    def set_snapshots(self, entries: Sequence[SnapshotEntry]) -> None:
        """Replace the list of snapshots, durably; the files of those that are not in it are removed."""
        self._end_upload()
        with self._transaction():
            self._run("DELETE FROM snapshot")
            for entry in entries:
                self._run("INSERT INTO snapshot VALUES (%s, %s, %s, %s)", entry)
            self._run("DELETE FROM snapshot_part WHERE seq <> ALL (%s::bigint[])", ([one.seq for one in entries],))

    def put_snapshot(self, entry: SnapshotEntry, folder: Path) -> None:
        """Keep the file of a snapshot, in rows of some megabytes."""
        self._end_upload()
        with self._transaction(), open(folder / entry.file, "rb") as file:
            self._run("DELETE FROM snapshot_part WHERE seq = %s", (entry.seq,))
            for number, data in parts_of(file):
                self._run("INSERT INTO snapshot_part VALUES (%s, %s, %s)", (entry.seq, number, data))

    def begin_upload(self, entry: SnapshotEntry, folder: Path) -> SnapshotUpload | None:
        """As :meth:`put_snapshot`, by another connection; what is listed already is put at once, all or none of it."""
        if any(one.seq == entry.seq for one in self.snapshots()):
            self.put_snapshot(entry, folder)
            return None
        self._end_upload()
        self._upload = SnapshotUpload(
            self._url, self._epoch, entry, folder, is_there=lambda sent: self._size_of(entry.seq) == sent
        )
        return self._upload

    def _size_of(self, seq: int) -> tuple[int, int]:
        """Of the file of a snapshot: rows, and the bytes in them."""
        sums = "SELECT count(*), coalesce(sum(octet_length(bytes)), 0)::bigint FROM snapshot_part WHERE seq = %s"
        parts, size = self._one(sums, (seq,))
        return parts, size

    def _end_upload(self, *, wait: bool = True) -> None:
        if self._upload is not None:
            self._upload.end(wait=wait)
            self._upload = None

    def rebase(self, seq: int) -> int:
        """Forget the events up to ``seq``, of which a snapshot was taken; how many there were."""
        base = self._new_base(seq)
        for entry in self.snapshots():  # the state will be there only
            if entry.seq == seq and self._sha256_of(seq) != entry.sha256:
                raise StoreDamaged(f"{self.path}: the snapshot after event {seq} is not as it was written")
        with self._transaction():
            count = self._run("DELETE FROM event WHERE seq <= %s", (seq,)).rowcount
            self._run("UPDATE meta SET value = %s WHERE key = 'base'", (base,))
        return count

    # Reading.

    def events(self, after: int, limit: int | None = None) -> Iterator[Event]:
        """Events in order, those after number ``after``; some at a time, so that no transaction stays open."""
        left = limit
        while left is None or left > 0:
            count = _PAGE if left is None else min(_PAGE, left)
            rows = self._all(f"SELECT {COLUMNS} FROM event WHERE seq > %s ORDER BY seq LIMIT %s", (after, count))
            yield from map(Event._make, rows)
            if len(rows) < count:
                return
            after = rows[-1][0]
            left = None if left is None else left - count

    def fetch_snapshot(self, entry: SnapshotEntry, folder: Path) -> None:
        """Have the file of a snapshot in the folder, unless it is there, or not kept; others that are no longer listed
        are removed from there."""
        if Path(entry.file).name != entry.file or is_whole(folder, entry):
            return
        folder.mkdir(mode=0o700, exist_ok=True)
        parts = self._parts(entry.seq)
        first = next(parts, None)
        if first is None:
            return
        with atomic_write(folder / entry.file, private=True) as file:
            file.write(first)
            for data in parts:
                file.write(data)
        prune(folder, self.snapshots())

    def _parts(self, seq: int) -> Iterator[bytes]:
        number = 0
        while found := self._one("SELECT bytes FROM snapshot_part WHERE seq = %s AND part = %s", (seq, number)):
            yield bytes(found[0])
            number += 1

    def _sha256_of(self, seq: int) -> str:
        found = sha256()
        for data in self._parts(seq):
            found.update(data)
        return found.hexdigest()

    # The rest.

    def tidy(self, *, idle: bool) -> None:
        """Notice within a second or so that another process has become the leader, or that the server is gone.

        Whoever writes notices it by that; one that is only asked, however often, is to notice it, too.
        """
        if self._readonly or time.monotonic() - self._led <= _LED_SECONDS:
            return
        if self._one("SELECT 1 FROM leader WHERE epoch = %s", (self._epoch,)) is None:
            raise self._fenced()
        self._led = time.monotonic()

    def settle(self) -> None:
        """Nothing: the server has recovered before it took connections."""

    def quick_check(self) -> None:
        """Nothing: pages are checked by the server while they are read, if it was made with data checksums."""

    def wal_bytes(self) -> int:
        """0: the write-ahead log is the server's."""
        return 0

    def close(self) -> None:
        """Nothing is used any more; another process may be the leader."""
        self._end_upload()
        with self._as_store_errors():
            self._connection.close()

    def leave(self) -> None:
        """After a failure: what is not committed is rolled back by the server."""
        self._end_upload(wait=False)
        with suppress(psycopg.Error):
            self._connection.close()
