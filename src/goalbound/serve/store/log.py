"""Where events are kept: one log, in SQLite or in PostgreSQL, with the same tables and statements.

SQLite: write-ahead log, every commit synced, and exactly one connection that writes and checkpoints. (SQLite 3.7.0 to
3.51.2 may corrupt a database in WAL mode if two connections do.)

PostgreSQL: whoever holds an advisory lock is the leader. It takes the next epoch from the table ``leader``, and every
transaction that writes begins with ``SELECT ... FOR SHARE`` of that row. A new leader changes the row, and so waits for
transactions under way; from then on the old leader finds no row of its epoch and writes nothing. It needs no clock, and
holds also where the lock was lost unnoticed.

Both: the connection is made once. After an error nobody knows what was committed: the store stops, and whoever opens it
again reads what is there.
"""

from __future__ import annotations

import logging
import os
import platform
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from goalbound.errors import InputError, StorageFailed, StorageFull, StoreDamaged, StoreError, StoreLocked
from goalbound.extras import install_command
from goalbound.models.files.io import sync_folder
from goalbound.serve.store.database_url import database_of, scrubbed, shown_url
from goalbound.serve.store.events import FIRST_CHAIN, Event
from goalbound.serve.store.files import DATABASE, FolderLock, check_local

if TYPE_CHECKING:
    import psycopg

log = logging.getLogger("goalbound.serve.store")

FORMAT = "2"
"""The version of the tables."""
MANY = 2**62
"""More than there are of events."""
OLDEST_SERVER = 12
REOPEN = "the store has stopped. Open it again: it replays what is there"
_TABLES = """
CREATE TABLE meta (key text PRIMARY KEY, value text NOT NULL);
CREATE TABLE learner (number bigint PRIMARY KEY, file bytea NOT NULL);
CREATE TABLE "case" (number bigint PRIMARY KEY, learner bigint NOT NULL, id text NOT NULL, UNIQUE (learner, id));
CREATE TABLE event (
  seq bigint PRIMARY KEY, kind smallint NOT NULL, learner bigint NOT NULL, "case" bigint, step bigint,
  taken bigint, loss double precision, next_state bigint, body text, action bigint, propensity double precision,
  others text, "time" bigint NOT NULL, chain bytea NOT NULL, UNIQUE ("case", step)
);
CREATE TABLE snapshot (seq bigint PRIMARY KEY, chain bytea NOT NULL, sha256 text NOT NULL);
CREATE TABLE snapshot_part (
  seq bigint, name text, part bigint, bytes bytea NOT NULL, PRIMARY KEY (seq, name, part)
);
"""
_LEADER = """
CREATE TABLE leader (single boolean PRIMARY KEY DEFAULT true CHECK (single), epoch bigint NOT NULL);
INSERT INTO leader (epoch) VALUES (0);
"""
_COLUMNS = ", ".join(f'"{name}"' for name in Event._fields)
_APPEND = f"INSERT INTO event ({_COLUMNS}) VALUES ({', '.join('?' * len(Event._fields))})"
_PUT_META = "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
_PUT_LEARNER = "INSERT INTO learner VALUES (?, ?) ON CONFLICT (number) DO UPDATE SET file = excluded.file"
# Cases that reached the goal, each step joined to the one before it, which says what had been proposed.
_OUTCOMES = """
WITH ended AS (
  SELECT "case", seq, "time" FROM event WHERE learner = ? AND kind IN (2, 3) AND action IS NULL AND seq > ? AND seq <= ?
  ORDER BY seq {order} LIMIT ?)
SELECT ended."case", ended."time", coalesce(sum(now.loss), 0.0), count(*),
  count(CASE WHEN now.taken <> before.action THEN 1 END)
FROM ended JOIN event AS now ON now."case" = ended."case"
  JOIN event AS before ON before."case" = now."case" AND before.step = now.step - 1
GROUP BY ended."case", ended."time", ended.seq ORDER BY ended.seq"""
_LOOKED_AT = 5000
_PAGE = 2000  # events of one query
_PART = 2**22  # bytes of a snapshot in one row
_PAGE_BYTES = 4096
_CHECKPOINT_PAGES, _IDLE_CHECKPOINT_PAGES = 1000, 50
_PAGES_PER_COMMIT, _EVENTS_PER_PAGE = 4, 12  # about
_MOST_WAL_BYTES = 2**26
_UNSAFE_BELOW = (3, 51, 3)
_SAFE = frozenset({(3, 44, 6), (3, 50, 7)})
_LOCK_SECONDS = 0.8  # a server takes a moment to notice that a process was killed
_LED_SECONDS = 1.0
_FAILED: list[Any] = []  # connections that are never closed: closing would checkpoint what may not be on the disk


class LogBase(NamedTuple):
    """What a log begins with: everything up to event ``seq`` was archived, and is in the snapshot of this place."""

    seq: int
    chain: bytes


class Outcome(NamedTuple):
    """A case that reached the goal.

    Attributes:
        case: its number.
        time: when it ended, in milliseconds since 1970.
        loss: of all of it.
        steps: how many; ``overridden``: those in which somebody did something else than was proposed.
    """

    case: int
    time: int
    loss: float
    steps: int
    overridden: int


class Log(ABC):
    """An append-only log of events, with the learners as they were created, and snapshots.

    One thread uses it. What a method that writes returned from is durable. Errors are
    :class:`~goalbound.errors.StorageFull` (nothing was written, writing may be tried again),
    :class:`~goalbound.errors.StorageFailed` (nobody knows what was written: stop) and
    :class:`~goalbound.errors.StoreDamaged`.

    Attributes:
        name: the database, as people may see it.
    """

    name: str
    _errors: type[Exception]
    _connection: Any = None
    _failed = False  # nobody knows any more what was written

    @abstractmethod
    def _store_error(self, error: Any) -> StoreError | InputError:
        """An error of the database as that of a store, or of what was given."""

    @abstractmethod
    def _transaction(self) -> Any:
        """What is written inside is written as a whole, durably, or not at all."""

    @abstractmethod
    def tidy(self, *, idle: bool) -> None:
        """What the database wants done between commits."""

    def _run(self, statement: str, values: Sequence[Any] = ()) -> Any:
        return self._connection.execute(statement, values)

    def _run_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        self._connection.executemany(statement, rows)

    @contextmanager
    def _as_store_errors(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            known = self._store_error(error)
            self._failed |= isinstance(known, StorageFailed)
            raise known from error
        except (UnicodeDecodeError, OverflowError) as error:  # of what a damaged page says
            raise StoreDamaged(f"{self.name}: the database is damaged ({error}); restore a back-up") from error

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction around several calls that write."""
        with self._as_store_errors(), self._transaction():
            yield

    def _row(self, statement: str, values: Sequence[Any] = ()) -> Any:
        with self._as_store_errors():
            return self._run(statement, values).fetchone()

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._as_store_errors():
            rows: list[Any] = self._run(statement, values).fetchall()
            return rows

    def _bytes(self, value: Any) -> bytes:
        if not isinstance(value, bytes | memoryview):
            raise StoreDamaged(f"{self.name}: there is a {type(value).__name__} where bytes were written")
        return bytes(value)

    def _make_tables(self, tables: str) -> None:
        for statement in tables.split(";\n"):
            if statement.strip():
                self._run(statement)
        self._run_many(_PUT_META, [("format", FORMAT), ("base", f"0 {FIRST_CHAIN.hex()}")])

    def _check_format(self) -> None:
        version = self.get_meta("format")
        if version == "1":
            raise StoreError(
                f"{self.name}: a store of goalbound 1.0.0, which this version does not read: end its open cases, "
                "export its log with goalbound 1.0.0, and learn the finished cases as a log (goalbound fit)"
            )
        if version != FORMAT:
            raise StoreDamaged(f"{self.name}: its tables have version {version!r}; this goalbound knows {FORMAT}")

    # Writing.

    def append(self, events: Sequence[Event], *, cases: Sequence[tuple[int, int, str]] = ()) -> None:
        """Write events, and ``(number, learner, id)`` of the cases that they begin; all or none, durably."""
        with self.writing():
            self.add(events, cases=cases)

    def add(self, events: Sequence[Event], *, cases: Sequence[tuple[int, int, str]] = ()) -> None:
        """:meth:`append` inside :meth:`writing`."""
        if cases:
            self._run_many('INSERT INTO "case" VALUES (?, ?, ?)', cases)
        self._run_many(_APPEND, events)

    def add_learner(self, number: int, file: bytes) -> None:
        """Keep the file of a learner, before the event that creates it is appended."""
        with self.writing():
            self.put_learner(number, file)

    def put_learner(self, number: int, file: bytes) -> None:
        """:meth:`add_learner` inside :meth:`writing`."""
        self._run(_PUT_LEARNER, (number, file))

    def set_meta(self, key: str, value: str) -> None:
        """Keep a text."""
        with self.writing():
            self._run(_PUT_META, (key, value))

    def put_snapshot(self, seq: int, chain: bytes, files: Mapping[str, bytes], *, keep: int) -> None:
        """Keep a snapshot, and of the others the newest ones, ``keep`` together with this, and the one that the log
        begins with."""
        others = [other for other in self.snapshots() if other != seq]
        kept = {*others[: keep - 1], self.base().seq}
        with self.writing():
            for old in {seq, *others} - (kept - {seq}):
                self._run("DELETE FROM snapshot WHERE seq = ?", (old,))
                self._run("DELETE FROM snapshot_part WHERE seq = ?", (old,))
            for name, data in files.items():
                for part, first in enumerate(range(0, max(len(data), 1), _PART)):
                    row = (seq, name, part, data[first : first + _PART])
                    self._run("INSERT INTO snapshot_part VALUES (?, ?, ?, ?)", row)
            self._run("INSERT INTO snapshot VALUES (?, ?, ?)", (seq, chain, _sha256_of(files)))

    def rebase(self, seq: int) -> int:
        """Forget the events up to ``seq``, of which there is a snapshot; how many there were."""
        chain = self.chain_at(seq)
        if chain is None:
            raise StoreError(f"{self.name}: there is no event {seq}, so the log cannot begin there")
        with self.writing():
            count: int = self._run("DELETE FROM event WHERE seq <= ?", (seq,)).rowcount
            self._run(_PUT_META, ("base", f"{seq} {chain.hex()}"))
        return count

    # Reading.

    def get_meta(self, key: str) -> str | None:
        """A text that was kept under this key."""
        row = self._row("SELECT value FROM meta WHERE key = ?", (key,))
        return None if row is None else row[0]

    def learner_file(self, number: int) -> bytes:
        """The file of a learner as it was created."""
        row = self._row("SELECT file FROM learner WHERE number = ?", (number,))
        if row is None:
            raise StoreDamaged(f"{self.name}: the file of learner {number} is missing")
        return self._bytes(row[0])

    def learner_files(self) -> list[bytes]:
        """The files of all learners as they were created."""
        return [self._bytes(row[0]) for row in self._rows("SELECT file FROM learner ORDER BY number")]

    def base(self) -> LogBase:
        """Where the log begins."""
        seq, _, chain = (self.get_meta("base") or "").partition(" ")
        try:
            return LogBase(int(seq), bytes.fromhex(chain))
        except ValueError:
            raise StoreDamaged(f"{self.name}: it does not say where its log begins") from None

    def last(self) -> tuple[int, bytes]:
        """The number of the last event, and its chain."""
        row = self._row("SELECT seq, chain FROM event ORDER BY seq DESC LIMIT 1")
        return (row[0], self._bytes(row[1])) if row else self.base()

    def chain_at(self, seq: int) -> bytes | None:
        """The chain of an event; None: there is none."""
        base = self.base()
        if seq == base.seq:
            return base.chain
        row = self._row("SELECT chain FROM event WHERE seq = ?", (seq,))
        return None if row is None else self._bytes(row[0])

    def events(self, after: int, limit: int = MANY) -> Iterator[Event]:
        """Events in order, those after number ``after``; some at a time, so that no transaction stays open."""
        while limit > 0:
            count = min(_PAGE, limit)
            rows = self._rows(f"SELECT {_COLUMNS} FROM event WHERE seq > ? ORDER BY seq LIMIT ?", (after, count))
            yield from map(Event._make, rows)
            if len(rows) < count:
                return
            after, limit = rows[-1][0], limit - count

    def events_of(self, case: int, *, until: int = MANY, limit: int = MANY) -> list[Event]:
        """The last so many events of a case up to number ``until``, in order."""
        # Without "+ 0" a database may look for the few events of a case among all of them.
        rows = self._rows(
            f'SELECT {_COLUMNS} FROM event WHERE "case" = ? AND seq <= ? ORDER BY seq + 0 DESC LIMIT ?',
            (case, until, limit),
        )
        return [Event._make(row) for row in reversed(rows)]

    def step_of(self, case: int, step: int) -> Event | None:
        """The event that recorded a step of a case."""
        row = self._row(f'SELECT {_COLUMNS} FROM event WHERE "case" = ? AND step = ?', (case, step))
        return None if row is None else Event._make(row)

    def begun(self, cases: Sequence[int]) -> dict[int, Event]:
        """The events that began these cases, by the numbers of the cases."""
        marks = ", ".join("?" * len(cases))
        rows = (
            self._rows(f'SELECT {_COLUMNS} FROM event WHERE step = 0 AND "case" IN ({marks})', cases) if cases else []
        )
        return {event.case: event for event in map(Event._make, rows) if event.case is not None}

    def case_number(self, learner: int, id: str) -> int | None:
        """The number of the case with this id, whether it is open or not."""
        row = self._row('SELECT number FROM "case" WHERE learner = ? AND id = ?', (learner, id))
        return None if row is None else row[0]

    def last_case(self) -> int:
        """The largest number of a case; 0: there is none."""
        return self._row('SELECT max(number) FROM "case"')[0] or 0

    def outcomes(self, learner: int, count: int, *, first: bool = False) -> list[Outcome]:
        """The last, or the first, so many cases of a learner that reached the goal, in order.

        Only the last and the first few thousand events are looked at.
        """
        base, last = self.base().seq, self.last()[0]
        low, high = (base, min(last, base + _LOOKED_AT)) if first else (max(base, last - _LOOKED_AT), last)
        statement = _OUTCOMES.format(order="ASC" if first else "DESC")
        return [Outcome._make(row) for row in self._rows(statement, (learner, low, high, count))]

    def snapshots(self) -> list[int]:
        """The events after which snapshots were taken, the newest first."""
        return [row[0] for row in self._rows("SELECT seq FROM snapshot ORDER BY seq DESC")]

    def snapshot(self, seq: int) -> dict[str, bytes]:
        """The files of a snapshot; :class:`StoreDamaged` unless they are as they were written, and of this log."""
        about = self._row("SELECT chain, sha256 FROM snapshot WHERE seq = ?", (seq,))
        if about is None or self.chain_at(seq) != self._bytes(about[0]):
            raise StoreDamaged(f"{self.name}: the snapshot after event {seq} is of another log, or missing")
        files: dict[str, bytes] = {}
        for name, part in self._rows("SELECT name, part FROM snapshot_part WHERE seq = ? ORDER BY name, part", (seq,)):
            row = self._row(
                "SELECT bytes FROM snapshot_part WHERE seq = ? AND name = ? AND part = ?", (seq, name, part)
            )
            files[name] = files.get(name, b"") + self._bytes(row[0])
        if _sha256_of(files) != about[1]:
            raise StoreDamaged(f"{self.name}: the snapshot after event {seq} is not as it was written")
        return files

    # What differs.

    def settle(self) -> None:  # noqa: B027 - a server has recovered before it takes connections
        """What is to be done once after the log was read and replayed, before anything is written."""

    def check(self) -> None:  # noqa: B027 - a server checks pages while they are read, if it has data checksums
        """An error if the database itself finds that it is damaged."""

    def back_up(self, target: Path) -> None:
        """Write a copy of the database as of the last commit, durably."""
        raise StoreError(f"{self.name}: a database is backed up by its own tools, such as pg_dump")

    def wal_bytes(self) -> int:
        """The size of a write-ahead log that the log itself has to keep small."""
        return 0

    def close(self) -> None:
        """Nothing is used any more; after a failure as :meth:`leave`."""
        if self._failed:
            self.leave()
            return
        with self._as_store_errors():
            self._connection.close()

    @abstractmethod
    def leave(self) -> None:
        """After a failure: nothing is used any more, and nothing more may be written by ending its use."""


class SqliteLog(Log):
    """A log in the folder of a store.

    Args:
        folder: of the store.
        create: make the folder and the tables where there are none.
        readonly: only read, beside the process that writes.
        synchronous: FULL. Tests set others to show what they lose.
    """

    _errors = sqlite3.Error

    def __init__(
        self, folder: Path, *, create: bool = False, readonly: bool = False, synchronous: str = "FULL"
    ) -> None:
        self.name, self._readonly = str(folder), readonly
        self._path = folder / DATABASE
        self._wal = folder / f"{DATABASE}-wal"
        self._written_pages = 0  # since the last checkpoint
        self._lock: FolderLock | None = None
        if not self._path.is_file() and (readonly or not create):
            raise StoreError(f"{folder}: there is no store")
        if not readonly:
            self._prepare(folder)
        try:
            with self._as_store_errors():
                self._connect(synchronous)
        except BaseException:
            self.leave() if self._failed else self._release()
            raise

    def _prepare(self, folder: Path) -> None:
        if not self._path.is_file() and folder.is_dir() and any(entry.name != "lock" for entry in folder.iterdir()):
            raise StoreError(f"{folder} is not empty and holds no store; give a folder of its own")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_local(folder)
        self._lock = FolderLock(folder)
        _make_private(self._path)

    def _connect(self, synchronous: str) -> None:
        mode = "ro" if self._readonly else "rwc"
        self._connection = sqlite3.connect(
            f"{self._path.resolve().as_uri()}?mode={mode}", uri=True, isolation_level=None, check_same_thread=False
        )
        for pragma in ("trusted_schema = OFF", "mmap_size = 0", "wal_autocheckpoint = 0"):
            self._run(f"PRAGMA {pragma}")
        if self._readonly:
            self._run("PRAGMA query_only = ON")
        else:
            mode = self._run("PRAGMA journal_mode = WAL").fetchone()[0]
            if mode != "wal":
                raise StoreError(f"{self.name}: SQLite has no write-ahead log here ({mode}); use a local disk")
            self._run(f"PRAGMA synchronous = {synchronous}")
            self._run(f"PRAGMA journal_size_limit = {_MOST_WAL_BYTES}")
        if not self._run("SELECT count(*) FROM sqlite_schema WHERE name = 'meta'").fetchone()[0]:
            if self._readonly:
                raise StoreDamaged(f"{self.name}: it holds no store")
            with self._transaction():
                self._make_tables(_TABLES.replace("bigint PRIMARY KEY", "INTEGER PRIMARY KEY"))
            sync_folder(self._path.parent)
        self._check_format()

    def _store_error(self, error: sqlite3.Error) -> StoreError:
        code = getattr(error, "sqlite_errorcode", None) or 0
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        primary = code & 0xFF
        if primary == sqlite3.SQLITE_FULL:
            return StorageFull(f"{self.name}: no space is left ({error}); free some, and ask again")
        if primary == sqlite3.SQLITE_CONSTRAINT:
            return StoreDamaged(f"{self.name}: {error}; the log holds what it should not")
        if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR) or code == 0:
            return StoreDamaged(f"{self.name}: the database is damaged ({name}: {error}); restore a back-up")
        return StorageFailed(
            f"{self.name}: reading or writing failed ({name}: {error}); the store has stopped. Look at the disk, and "
            "open the store again: it replays what is there"
        )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._run("BEGIN IMMEDIATE")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                if self._connection.in_transaction:
                    self._run("ROLLBACK")
            raise

    def add(self, events: Sequence[Event], *, cases: Sequence[tuple[int, int, str]] = ()) -> None:
        """:meth:`append` inside :meth:`writing`."""
        super().add(events, cases=cases)
        self._written_pages += _PAGES_PER_COMMIT + (len(events) + len(cases)) // _EVENTS_PER_PAGE

    def put_snapshot(self, seq: int, chain: bytes, files: Mapping[str, bytes], *, keep: int) -> None:
        """Keep a snapshot, which goes through the write-ahead log, too."""
        super().put_snapshot(seq, chain, files, keep=keep)
        self._written_pages += sum(map(len, files.values())) // _PAGE_BYTES

    def rebase(self, seq: int) -> int:
        """Forget the events up to ``seq``, and make the file smaller, which needs as much space as it will have.

        Without that space the events are gone all the same, and their place is used again.
        """
        count = super().rebase(seq)
        try:
            with self._as_store_errors():
                for statement in ("PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
                    self._run(statement).fetchall()
        except StorageFull as error:
            log.warning(
                "%s. The events were removed; another compact makes the file smaller, once there is space", error
            )
        return count

    def tidy(self, *, idle: bool) -> None:
        """Copy the write-ahead log into the database when it has grown; a disk without space is left for later.

        Nobody is waited for: what a reader still needs is copied the next time.
        """
        if self._written_pages > (_IDLE_CHECKPOINT_PAGES if idle else _CHECKPOINT_PAGES):
            self._written_pages = 0
            with suppress(StorageFull), self._as_store_errors():
                self._run("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def settle(self) -> None:
        """Copy all of the write-ahead log that an earlier process left into the database, and begin a new one.

        If a sync had failed there, the system may take its pages for written, and commits that follow them would be
        lost with them. What is copied is written and synced anew. Without space, or beside a reader, it is left.
        """
        with suppress(StorageFull), self._as_store_errors():
            self._run("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def check(self) -> None:
        """An error if SQLite itself finds the database damaged."""
        problems = [row[0] for row in self._rows("PRAGMA integrity_check(3)")]
        if problems != ["ok"]:
            raise StoreDamaged(f"{self.name}: SQLite finds it damaged ({'; '.join(problems)[:300]}); restore a back-up")

    def back_up(self, target: Path) -> None:
        """Write a copy of the database as of the last commit, durably."""
        _make_private(target)
        with self._as_store_errors():
            self._run("PRAGMA query_only = OFF")  # SQLite takes it for writing; its mode keeps this one from it
            self._run("VACUUM INTO ?", (str(target),))
        with open(target, "rb+") as file:  # SQLite does not sync it
            os.fsync(file.fileno())

    def wal_bytes(self) -> int:
        """The size of the write-ahead log."""
        return self._wal.stat().st_size if self._wal.is_file() else 0

    def close(self) -> None:
        """Nothing is used any more; another process may have the folder."""
        try:
            super().close()
        finally:
            self._release()

    def leave(self) -> None:
        """After a failure: the connection is neither used nor closed any more, and another process may try."""
        _FAILED.append(self._connection)
        self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()


class PostgresLog(Log):
    """A log in a schema of a PostgreSQL database.

    Args:
        url: ``postgresql://user@host/database?schema=incidents``; the schema is ``goalbound`` if none is named.
        create: make the tables where there are none.
        readonly: only read, beside the leader; nothing is locked.
        synchronous: FULL. Tests set others.
    """

    def __init__(self, url: str, *, create: bool = False, readonly: bool = False, synchronous: str = "FULL") -> None:
        self.name, self._url, self._readonly = shown_url(url), url, readonly
        self._epoch = -1
        self._warning: str | None = None
        self._led = 0.0  # by the monotonic clock: it was the leader then
        self._errors = driver().Error
        self._connection = connected(url, writes=not readonly)
        try:
            with self._as_store_errors():
                self._set_up(database_of(url).schema, synchronous, create=create)
        except BaseException:
            with suppress(self._errors):
                self._connection.close()
            raise

    def _set_up(self, schema: str, synchronous: str, *, create: bool) -> None:
        self._connection.add_notice_handler(self._on_notice)
        version = self._connection.info.server_version // 10_000
        if version < OLDEST_SERVER:
            raise StoreError(f"{self.name}: the server is PostgreSQL {version}; use {OLDEST_SERVER} or newer")
        self._run("SET default_transaction_isolation = 'read committed'")
        has_tables = "SELECT to_regclass('meta') IS NOT NULL"
        if not self._row(has_tables)[0]:
            hidden = "SELECT to_regnamespace(?) IS NOT NULL AND NOT has_schema_privilege(to_regnamespace(?), 'USAGE')"
            if self._row(hidden, (schema, schema))[0]:
                raise StoreError(f"{self.name}: the role may not use this schema: see docs/how_to/operations.md")
            if self._readonly or not create:
                raise StoreError(f"{self.name}: there is no store")
        if self._readonly:
            self._run("SET default_transaction_read_only = on")
        else:
            self._check_durable(synchronous)
            self._lead(schema)
            if not self._row(has_tables)[0]:
                with self._connection.transaction():
                    if not self._row("SELECT to_regnamespace(?) IS NOT NULL", (schema,))[0]:
                        self._run(f'CREATE SCHEMA "{schema}"')  # only then it must be allowed
                    self._make_tables(_TABLES + _LEADER)
        self._check_format()
        if not self._readonly:
            # From here on an earlier leader finds no row of its epoch; what it had under way is waited for.
            self._epoch = self._row("UPDATE leader SET epoch = epoch + 1 RETURNING epoch")[0]

    def _check_durable(self, synchronous: str) -> None:
        """What is committed is on the disk of the server, and on that of its synchronous standbys if there are any."""
        if synchronous != "FULL":
            self._run("SET synchronous_commit = off")
            return
        if self._row("SHOW fsync")[0] != "on":
            raise StoreError(
                f"{self.name}: the server has fsync = off, so that a committed step may be lost; switch it on"
            )
        if self._row("SHOW synchronous_commit")[0] not in ("on", "remote_apply"):
            self._run("SET synchronous_commit = on")

    def _lead(self, schema: str) -> None:
        """Become the one that writes; :class:`StoreLocked` if somebody is."""
        key = lock_key(schema)
        until = time.monotonic() + _LOCK_SECONDS
        while not self._row("SELECT pg_try_advisory_lock(?)", (key,))[0]:
            if time.monotonic() >= until:
                raise StoreLocked(
                    f"{self.name}: another process has this store open; a store has one writer. Stop that one first, "
                    "or wait for its place (goalbound serve --standby)"
                )
            time.sleep(0.02)

    def _on_notice(self, notice: psycopg.errors.Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING":
            self._warning = notice.message_primary

    def _store_error(self, error: Any) -> StoreError | InputError:
        return store_error(error, self._url)

    def _run(self, statement: str, values: Sequence[Any] = ()) -> Any:
        return self._connection.execute(statement.replace("?", "%s").encode(), values or None, binary=True)

    def _run_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        with self._connection.cursor(binary=True) as cursor:
            cursor.executemany(statement.replace("?", "%s").encode(), rows)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._warning = None
        with self._connection.transaction():
            if self._run("SELECT 1 FROM leader WHERE epoch = ? FOR SHARE", (self._epoch,)).fetchone() is None:
                raise self._fenced()
            yield
        self._led = time.monotonic()
        if self._warning is not None:  # a wait for a standby was given up: it is committed here, and maybe not there
            raise StorageFailed(f"{self.name}: the server warned of the commit ({self._warning}); {REOPEN}")

    def leave(self) -> None:
        """After a failure: what is not committed is rolled back by the server, and another process may lead."""
        with suppress(self._errors):
            self._connection.close()

    def _fenced(self) -> StorageFailed:
        return StorageFailed(
            f"{self.name}: another process has become the leader of this store (it was epoch {self._epoch} here); "
            f"nothing was written, and {REOPEN}"
        )

    def tidy(self, *, idle: bool) -> None:
        """Notice within a second or so that another process has become the leader, or that the server is gone."""
        if time.monotonic() - self._led > _LED_SECONDS:
            if self._row("SELECT 1 FROM leader WHERE epoch = ?", (self._epoch,)) is None:
                raise self._fenced()
            self._led = time.monotonic()


def open_log(place: Path | str, *, create: bool = False, readonly: bool = False, synchronous: str = "FULL") -> Log:
    """The log in a folder, or in the database of a URL; read only, or by the one process that writes.

    Raises:
        StoreLocked: another process writes.
        StoreError: there is no store, and none is to be made.
    """
    kind: Any = PostgresLog if isinstance(place, str) else SqliteLog
    opened: Log = kind(place, create=create, readonly=readonly, synchronous=synchronous)
    return opened


def sqlite_note() -> str | None:
    """What to know about the SQLite in use; None: nothing."""
    version = sqlite3.sqlite_version_info
    if version >= _UNSAFE_BELOW or version in _SAFE:
        return None
    return (
        f"SQLite {sqlite3.sqlite_version} has the WAL-reset bug; goalbound writes by one connection only and is not "
        "affected, but let no other program write to or checkpoint the database"
    )


def _make_private(path: Path) -> None:
    """Make an empty file that only its owner may read; SQLite gives what it puts beside it the same rights."""
    with suppress(OSError):  # SQLite itself says what is wrong
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))


def _sha256_of(files: Mapping[str, bytes]) -> str:
    digest = sha256()
    for name in sorted(files):
        digest.update(f"{name} {len(files[name])}\n".encode())
        digest.update(files[name])
    return digest.hexdigest()


# PostgreSQL: its driver, connections and errors.

_CONNECTION = {
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
    "client_encoding": "utf8",
}
"""Of connections, unless the URL says otherwise: a server that is gone is noticed within half a minute."""


def driver() -> Any:
    """psycopg; an error that says how to install it."""
    try:
        import psycopg
    except ModuleNotFoundError:
        raise InputError(f"PostgreSQL needs psycopg: {install_command('postgres')}") from None
    return psycopg


def connected(url: str, *, writes: bool) -> psycopg.Connection[Any]:
    """A connection whose tables are those of the URL's schema; of several hosts, to write, the one that writes."""
    pg, database = driver(), database_of(url)
    try:
        given = pg.conninfo.conninfo_to_dict(database.address)
    except pg.Error:  # its message may quote any part of the URL
        raise StoreError(
            f"{shown_url(url)}: this is no address of a database; write postgresql://user@host/database, with %40 and "
            "the like for special characters"
        ) from None
    own = {"fallback_application_name": f"goalbound on {platform.node()[:30]}, process {os.getpid()}"}
    if writes:
        own["target_session_attrs"] = "read-write"
    try:
        connection: psycopg.Connection[Any] = pg.connect(
            pg.conninfo.make_conninfo("", **{**_CONNECTION, **own, **given}), autocommit=True
        )
        connection.execute(f'SET search_path = "{database.schema}"'.encode())
    except pg.Error as error:
        raise StoreError(f"{shown_url(url)}: no connection ({_words_of(error, url)})") from None
    return connection


def lock_key(schema: str, purpose: str = "") -> int:
    """The advisory lock of a schema, or of something in it; locks are those of one database."""
    name = f"{schema}\0{purpose}" if purpose else schema  # no name of a schema has a NUL
    return int.from_bytes(blake2b(name.encode(), digest_size=8, person=b"goalbound store").digest(), signed=True)


def store_error(error: Any, url: str) -> StoreError | InputError:
    """An error of the server, or of the connection, as that of a store; values that cannot be sent are wrong input."""
    psycopg, where, words = driver(), shown_url(url), _words_of(error, url)
    errors = psycopg.errors
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


def _words_of(error: Any, url: str) -> str:
    """What an error says, on one line, without the password of the URL, and without the values in its details."""
    return scrubbed(" ".join((error.diag.message_primary or str(error)).split()), url)[:500]
