"""Events in PostgreSQL: one leader writes, every commit synced; whoever lost its place writes nothing.

Who holds an advisory lock of the database is the leader. It takes the next number of the table ``leader``, its epoch,
and every transaction that writes holds the row with that number (``FOR SHARE``). Whoever becomes the leader changes the
row, and so waits for transactions that are under way; from then on no row has the old number, and all that the old
leader writes has zero rows. It needs no clock, and holds also where the lock was lost unnoticed.

The connection is made once. After any error of it nobody knows what was committed: the store stops, and whoever opens
it again reads what is there. No commit is sent twice.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

import psycopg
from psycopg import conninfo, errors, sql

from goalbound.errors import StorageFailed, StorageFull, StoreDamaged, StoreError, StoreLocked
from goalbound.models.files.io import atomic_write
from goalbound.store.database_url import database_of, scrubbed, shown_url
from goalbound.store.events import FIRST_CHAIN, Event
from goalbound.store.log import LogBase, LossCounts, SnapshotEntry, base_of
from goalbound.store.snapshots import is_whole

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
_COLUMNS = ", ".join(f'"{name}"' for name in Event._fields)
_ARRAYS = ", ".join(f"%s::{kind}[]" for kind in _TYPES)
_HELD = "held AS MATERIALIZED (SELECT 1 FROM leader WHERE epoch = %s FOR SHARE)"
_APPEND = f"""WITH {_HELD},
begun AS (INSERT INTO "case" SELECT one.* FROM held, unnest(%s::bigint[], %s::bigint[], %s::text[]) AS one)
INSERT INTO event ({_COLUMNS}) SELECT one.* FROM held, unnest({_ARRAYS}) AS one"""
_PUT_META = f"""WITH {_HELD}
INSERT INTO meta SELECT %s, %s FROM held ON CONFLICT (key) DO UPDATE SET value = excluded.value"""
_PUT_LEARNER = f"""WITH {_HELD}
INSERT INTO learner SELECT %s, %s FROM held ON CONFLICT (number) DO UPDATE SET file = excluded.file"""
_HIDDEN = "SELECT to_regnamespace(%s) IS NOT NULL AND NOT has_schema_privilege(to_regnamespace(%s), 'USAGE')"
_CONNECTION = {
    "connect_timeout": "10", "keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "3",
    "tcp_user_timeout": "20000", "client_encoding": "utf8",
}  # fmt: skip
"""Of connections, unless the URL says otherwise: a server that is gone is noticed within half a minute."""
_PAGE = 2000  # events of one query
_PART = 4 * 2**20  # bytes of a snapshot in one row
_LOOKED_AT = 5000
_LOCK_SECONDS = 0.8  # a server takes a moment to notice that a process was killed
_CONTACT_SECONDS = 1.0
_REOPEN = "the store has stopped. Open it again: it replays what is there"


class PostgresLog:
    """An :class:`~goalbound.store.log.EventLog` in a schema of a PostgreSQL database.

    Args:
        url: ``postgresql://user@host/database?schema=incidents``; the schema is ``goalbound`` if none is named.
        readonly: only read, beside the leader; nothing is locked.
        create: make the tables where there are none.
        synchronous: FULL. Tests set others.
    """

    def __init__(self, url: str, *, readonly: bool = False, create: bool = True, synchronous: str = "FULL") -> None:
        self.path = shown_url(url)
        self._url = url
        self._readonly = readonly
        self._epoch = -1
        self._warning: str | None = None
        self._contact = 0.0
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
        self._check_format()
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
            for statement in _TABLES.split(";\n"):
                if statement.strip():
                    self._run(statement)
            self._run("INSERT INTO meta VALUES ('format', %s), ('base', %s)", (FORMAT, f"0 {FIRST_CHAIN.hex()}"))

    def _check_format(self) -> None:
        version = self.get_meta("format")
        if version != FORMAT:
            raise StoreDamaged(f"{self.path}: its tables have version {version!r}; this goalbound knows {FORMAT}")

    def _on_notice(self, notice: psycopg.errors.Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING":
            self._warning = notice.message_primary

    @contextmanager
    def _as_store_errors(self) -> Iterator[None]:
        """Errors of PostgreSQL as those of stores."""
        try:
            yield
        except psycopg.Error as error:
            raise store_error(error, self._url) from error
        except (UnicodeDecodeError, OverflowError) as error:
            raise StoreDamaged(f"{self.path}: the database is damaged ({error}); restore a back-up") from error

    def _run(self, statement: str, values: Sequence[Any] = ()) -> psycopg.Cursor[Any]:
        found = self._connection.execute(statement.encode(), values or None, binary=True)
        self._contact = time.monotonic()
        return found

    def _one(self, statement: str, values: Sequence[Any] = ()) -> Any:
        with self._as_store_errors():
            return self._run(statement, values).fetchone()

    def _all(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._as_store_errors():
            return self._run(statement, values).fetchall()

    # Writing: whatever writes holds the row of the leader's epoch.

    def _fenced(self) -> StorageFailed:
        return StorageFailed(
            f"{self.path}: another process has become the leader of this store (it was epoch {self._epoch} here); "
            f"nothing was written, and {_REOPEN}"
        )

    def _write(self, statement: str, values: Sequence[Any], rows: int) -> None:
        """One statement that holds the epoch, and is a transaction: all of its rows are written, durably, or none."""
        self._warning = None
        with self._as_store_errors():
            found = self._run(statement, (self._epoch, *values)).rowcount
        if found != rows:
            raise self._fenced()
        if self._warning is not None:  # a wait for a standby was given up: it is committed here, and maybe not there
            raise StorageFailed(f"{self.path}: the server warned of the commit ({self._warning}); {_REOPEN}")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Several statements that hold the epoch."""
        self._warning = None
        with self._as_store_errors(), self._connection.transaction():
            if self._run("SELECT 1 FROM leader WHERE epoch = %s FOR SHARE", (self._epoch,)).fetchone() is None:
                raise self._fenced()
            yield
        if self._warning is not None:
            raise StorageFailed(f"{self.path}: the server warned of the commit ({self._warning}); {_REOPEN}")

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
        with self._transaction():
            self._run("DELETE FROM snapshot")
            for entry in entries:
                self._run("INSERT INTO snapshot VALUES (%s, %s, %s, %s)", entry)
            self._run("DELETE FROM snapshot_part WHERE seq <> ALL (%s::bigint[])", ([one.seq for one in entries],))

    def put_snapshot(self, entry: SnapshotEntry, folder: Path) -> None:
        """Keep the file of a snapshot, in rows of some megabytes."""
        with self._transaction(), open(folder / entry.file, "rb") as file:
            self._run("DELETE FROM snapshot_part WHERE seq = %s", (entry.seq,))
            number = 0
            while data := file.read(_PART):
                self._run("INSERT INTO snapshot_part VALUES (%s, %s, %s)", (entry.seq, number, data))
                number += 1

    def rebase(self, seq: int) -> int:
        """Forget the events up to ``seq``, of which a snapshot was taken; how many there were."""
        chain = self.chain_at(seq)
        if chain is None:
            raise StoreError(f"{self.path}: there is no event {seq}, so the log cannot begin there")
        for entry in self.snapshots():  # the state will be there only
            if entry.seq == seq and self._sha256_of(seq) != entry.sha256:
                raise StoreDamaged(f"{self.path}: the snapshot after event {seq} is not as it was written")
        with self._transaction():
            count = self._run("DELETE FROM event WHERE seq <= %s", (seq,)).rowcount
            self._run("UPDATE meta SET value = %s WHERE key = 'base'", (f"{seq} {chain.hex()}",))
        return count

    # Reading.

    def learner_file(self, number: int) -> bytes:
        """The file of a learner as it was created."""
        found = self._one("SELECT file FROM learner WHERE number = %s", (number,))
        if found is None:
            raise StoreDamaged(f"{self.path}: the file of learner {number} is missing")
        return bytes(found[0])

    def last(self) -> tuple[int, bytes]:
        """The number of the last event, and its chain."""
        found = self._one("SELECT seq, chain FROM event ORDER BY seq DESC LIMIT 1")
        return (found[0], bytes(found[1])) if found else self.base()

    def base(self) -> LogBase:
        """Where the log begins."""
        return base_of(self.get_meta("base"), self.path)

    def chain_at(self, seq: int) -> bytes | None:
        """The chain of an event; None: there is none."""
        base = self.base()
        if seq == base.seq:
            return base.chain
        found = self._one("SELECT chain FROM event WHERE seq = %s", (seq,))
        return None if found is None else bytes(found[0])

    def events(self, after: int, limit: int | None = None) -> Iterator[Event]:
        """Events in order, those after number ``after``; some at a time, so that no transaction stays open."""
        left = limit
        while left is None or left > 0:
            count = _PAGE if left is None else min(_PAGE, left)
            rows = self._all(f"SELECT {_COLUMNS} FROM event WHERE seq > %s ORDER BY seq LIMIT %s", (after, count))
            yield from map(Event._make, rows)
            if len(rows) < count:
                return
            after = rows[-1][0]
            left = None if left is None else left - count

    def events_of(self, case: int) -> list[Event]:
        """All events of a case, in order."""
        rows = self._all(f'SELECT {_COLUMNS} FROM event WHERE "case" = %s ORDER BY seq', (case,))
        return [Event._make(row) for row in rows]

    def step_of(self, case: int, step: int) -> Event | None:
        """The event that recorded a step of a case."""
        found = self._one(f'SELECT {_COLUMNS} FROM event WHERE "case" = %s AND step = %s', (case, step))
        return None if found is None else Event._make(found)

    def case_number(self, learner: int, id: str) -> int | None:
        """The number of the case with this id, whether it is open or not."""
        found = self._one('SELECT number FROM "case" WHERE learner = %s AND id = %s', (learner, id))
        return None if found is None else int(found[0])

    def case_id(self, case: int) -> str:
        """The id of a case."""
        found = self._one('SELECT id FROM "case" WHERE number = %s', (case,))
        if found is None:
            raise StoreDamaged(f"{self.path}: the id of case {case} is missing")
        return str(found[0])

    def last_case(self) -> int:
        """The largest number of a case; 0: there is none."""
        return int(self._one('SELECT coalesce(max(number), 0) FROM "case"')[0])

    def loss_counts(self, learner: int, count: int) -> LossCounts:
        """What the last and the first so many cases of a learner that reached the goal have lost.

        Only the last and the first few thousand events are looked at.
        """
        last, base = self.last()[0], self.base().seq
        latest, loss, steps, taken = self._losses(learner, count, max(base, last - _LOOKED_AT), last, "DESC")
        first, first_loss, _, _ = self._losses(learner, count, base, min(last, base + _LOOKED_AT), "ASC")
        other = bool(first) and not first & latest
        return LossCounts(
            len(latest), loss / len(latest) if latest else None, len(first) if other else 0,
            first_loss / len(first) if other else None, steps, taken,
        )  # fmt: skip

    def _losses(self, learner: int, count: int, low: int, high: int, order: str) -> tuple[set[int], float, int, int]:
        """Cases that ended between two events: which, their losses, their steps, and those played otherwise."""
        ended = f"""SELECT "case" FROM event WHERE seq > %s AND seq <= %s AND learner = %s AND kind IN (2, 3)
            AND action IS NULL ORDER BY seq {order} LIMIT %s"""
        cases = [row[0] for row in self._all(ended, (low, high, learner, count))]
        loss, steps, taken = self._one(
            """SELECT coalesce(sum(now.loss), 0.0::double precision), count(*),
              count(CASE WHEN now.taken <> before.action THEN 1 END)
            FROM event AS now JOIN event AS before ON before."case" = now."case" AND before.step = now.step - 1
            WHERE now."case" = ANY (%s::bigint[])""",
            (cases,),
        )
        return set(cases), loss, steps, taken

    def snapshots(self) -> list[SnapshotEntry]:
        """All snapshots, the newest first."""
        rows = self._all("SELECT seq, chain, file, sha256 FROM snapshot ORDER BY seq DESC")
        return [SnapshotEntry(seq, bytes(chain), file, digest) for seq, chain, file, digest in rows]

    def fetch_snapshot(self, entry: SnapshotEntry, folder: Path) -> None:
        """Have the file of a snapshot in the folder, unless it is there, or not kept."""
        if Path(entry.file).name != entry.file or is_whole(folder, entry):
            return
        folder.mkdir(exist_ok=True)
        parts = self._parts(entry.seq)
        first = next(parts, None)
        if first is None:
            return
        with atomic_write(folder / entry.file) as file:
            file.write(first)
            for data in parts:
                file.write(data)

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

    def get_meta(self, key: str) -> str | None:
        """A text that was kept under this key."""
        found = self._one("SELECT value FROM meta WHERE key = %s", (key,))
        return None if found is None else str(found[0])

    # The rest.

    def tidy(self, *, idle: bool) -> None:
        """Notice within a second or so that another process has become the leader, or that the server is gone."""
        due = idle and not self._readonly and time.monotonic() - self._contact > _CONTACT_SECONDS
        if due and self._one("SELECT 1 FROM leader WHERE epoch = %s", (self._epoch,)) is None:
            raise self._fenced()

    def settle(self) -> None:
        """Nothing: the server has recovered before it took connections."""

    def quick_check(self) -> None:
        """Nothing: pages are checked by the server while they are read, if it was made with data checksums."""

    def wal_bytes(self) -> int:
        """0: the write-ahead log is the server's."""
        return 0

    def close(self) -> None:
        """Nothing is used any more; another process may be the leader."""
        with self._as_store_errors():
            self._connection.close()

    def leave(self) -> None:
        """After a failure: what is not committed is rolled back by the server."""
        with suppress(psycopg.Error):
            self._connection.close()


class SharedText:
    """A text that several processes read and change, under a key of the table ``meta``: tokens.

    Its connection is its own, and is made again after an error.
    """

    def __init__(self, url: str, key: str) -> None:
        self._url, self._key = url, key
        self._connection: psycopg.Connection[Any] | None = None

    def read(self) -> bytes | None:
        """The text; None: there is none."""
        with self._session() as connection:
            found = connection.execute("SELECT value FROM meta WHERE key = %s", (self._key,)).fetchone()
        return None if found is None else str(found[0]).encode()

    def change(self, change: Callable[[bytes | None], bytes]) -> None:
        """Replace the text by what ``change`` makes of it; nobody else changes it meanwhile."""
        with self._session() as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key(self._key),))
            found = connection.execute("SELECT value FROM meta WHERE key = %s", (self._key,)).fetchone()
            new = change(None if found is None else str(found[0]).encode()).decode()
            put = "INSERT INTO meta VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
            connection.execute(put, (self._key, new))

    @contextmanager
    def _session(self) -> Iterator[psycopg.Connection[Any]]:
        try:
            if self._connection is None:
                connection = connected(self._url, writes=False)
                schema = sql.Identifier(database_of(self._url).schema)
                connection.execute(sql.SQL("SET search_path = {}").format(schema))
                if not (connection.execute("SELECT to_regclass('meta') IS NOT NULL").fetchone() or (False,))[0]:
                    connection.close()
                    raise StoreError(f"{shown_url(self._url)}: there is no store")
                self._connection = connection
            yield self._connection
        except psycopg.Error as error:
            self.close()
            raise store_error(error, self._url) from None

    def close(self) -> None:
        """Nothing is used any more."""
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
            self._connection = None


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
        raise StoreError(f"{shown_url(url)}: no connection ({_words(error, url)})") from None


def lock_key(name: str) -> int:
    """The advisory lock of a schema; locks are those of one database."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8, person=b"goalbound store").digest(), signed=True)


def store_error(error: psycopg.Error, url: str) -> StoreError:
    """An error of the server, or of the connection, as that of a store."""
    where, words = shown_url(url), _words(error, url)
    if isinstance(error, errors.DiskFull):
        return StorageFull(f"{where}: the server has no space left ({words}); free some, and ask again")
    if isinstance(error, errors.DataCorrupted | errors.IndexCorrupted | errors.UndefinedTable | errors.UndefinedColumn):
        return StoreDamaged(f"{where}: the database is damaged ({words}); restore a back-up")
    if isinstance(error, errors.IntegrityError):
        return StoreDamaged(f"{where}: {words}; the log holds what it should not")
    if isinstance(error, errors.InsufficientPrivilege):
        return StoreError(f"{where}: the role may not do this ({words}); see docs/how_to/operations.md")
    return StorageFailed(f"{where}: reading or writing failed ({type(error).__name__}: {words}); {_REOPEN}")


def _words(error: psycopg.Error, url: str) -> str:
    return scrubbed(" ".join(str(error).split())[:500], url)
