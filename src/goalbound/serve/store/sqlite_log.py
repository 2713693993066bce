"""Events in SQLite: write-ahead log, every commit synced, one connection that writes and checkpoints.

SQLite 3.7.0 to 3.51.2 may corrupt a database in WAL mode if two connections write or checkpoint at the same time
("WAL-reset bug"). A store is safe from it, since it is opened by one process only (:mod:`goalbound.serve.store.files`),
which writes and checkpoints by this connection alone; others only read.
"""

from __future__ import annotations

import itertools
import logging
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from goalbound.errors import StorageFailed, StorageFull, StoreDamaged, StoreError
from goalbound.models.files.io import sync_folder
from goalbound.serve.store.events import FIRST_CHAIN, Event
from goalbound.serve.store.log import SnapshotEntry
from goalbound.serve.store.sql_log import COLUMNS, SUMS, SqlLog, statements

log = logging.getLogger("goalbound.serve.store")

FORMAT = "1"
"""The version of the tables."""
# The unique index of events begins with the step: those of a commit are then near each other, where by cases each would
# be in a page of its own, and all of these pages are written. (In stores of 1.0.0 it begins with the case.)
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE learner (number INTEGER PRIMARY KEY, file BLOB NOT NULL);
CREATE TABLE "case" (number INTEGER PRIMARY KEY, learner INTEGER NOT NULL, id TEXT NOT NULL, UNIQUE (learner, id));
CREATE TABLE event (
  seq INTEGER PRIMARY KEY, kind INTEGER NOT NULL, learner INTEGER NOT NULL, "case" INTEGER, step INTEGER,
  taken INTEGER, loss REAL, next_state INTEGER, body BLOB, action INTEGER, propensity REAL, others BLOB,
  time INTEGER NOT NULL, chain BLOB NOT NULL, UNIQUE (step, "case")
);
CREATE TABLE snapshot (seq INTEGER PRIMARY KEY, chain BLOB NOT NULL, file TEXT NOT NULL, sha256 TEXT NOT NULL);
"""
# The last rows of a case, by that index. Its steps have no holes: from the last one down to the first that is there.
_ROWS_BY_STEP = f"""WITH RECURSIVE walk(step) AS (
    SELECT ?2 UNION ALL SELECT step - 1 FROM walk WHERE step > ?2 - ?4 + 1
      AND EXISTS (SELECT 1 FROM event WHERE event."case" = ?1 AND event.step = walk.step - 1))
  SELECT * FROM (
    SELECT {COLUMNS} FROM event WHERE "case" = ?1 AND step IS NULL AND seq <= ?3 ORDER BY seq DESC LIMIT ?4) AS asked
  UNION ALL SELECT {COLUMNS} FROM event WHERE "case" = ?1 AND step IN (SELECT step FROM walk)
  ORDER BY 1 DESC LIMIT ?4"""
# Of a case whose beginning was archived: steps are tried up to the last one of any case.
_FIRST_STEP = """WITH RECURSIVE walk(step) AS (
    SELECT 1 UNION ALL SELECT step + 1 FROM walk WHERE step < (SELECT max(step) FROM event)
      AND NOT EXISTS (SELECT 1 FROM event WHERE event."case" = ?1 AND event.step = walk.step))
  SELECT max(step) FROM walk"""
# From the last step of each case down to the first that is there.
_SUMS_BY_STEP = """WITH RECURSIVE walk("case", step) AS (
    VALUES {cases} UNION ALL SELECT "case", step - 1 FROM walk WHERE EXISTS (
      SELECT 1 FROM event WHERE event."case" = walk."case" AND event.step = walk.step - 1))
  {sums} FROM walk CROSS JOIN event AS now CROSS JOIN event AS before
  WHERE now."case" = walk."case" AND now.step = walk.step
    AND before."case" = walk."case" AND before.step = walk.step - 1"""
_MOST_CASES = 100  # of one statement: SQLite takes 500 terms
_MOST_ROWS = 64  # of one statement: SQLite takes 32,766 values
_ROW = f"({', '.join('?' * len(Event._fields))})"
_CHECKPOINT_PAGES = 1000  # of 4 KiB
_IDLE_CHECKPOINT_PAGES = 50
_PAGES_PER_COMMIT, _EVENTS_PER_PAGE = 4, 12  # about
_UNSAFE_BELOW = (3, 51, 3)
_SAFE = frozenset({(3, 44, 6), (3, 50, 7)})
_FAILED: list[sqlite3.Connection] = []  # never closed: closing would checkpoint what may not be on the disk


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


class SqliteLog(SqlLog):
    """An :class:`~goalbound.serve.store.log.EventLog` in a file.

    Args:
        path: the database; it is made where there is none, unless it is only read.
        readonly: only read, beside the process that writes.
        synchronous: FULL. Tests set others to show what they lose.
    """

    path: Path
    _mark, _errors = "?", sqlite3.Error

    def __init__(self, path: Path, *, readonly: bool = False, synchronous: str = "FULL") -> None:
        self.path = path
        self._wal = path.with_name(f"{path.name}-wal")
        self._readonly = readonly
        self._written_pages = 0  # since the last checkpoint
        if readonly and not path.is_file():
            raise StoreError(f"{path}: there is no such store")
        if not readonly:
            _make_private(path)
        mode = "ro" if readonly else "rwc"
        with self._as_store_errors():
            self._connection = sqlite3.connect(
                f"{path.resolve().as_uri()}?mode={mode}", uri=True, isolation_level=None, check_same_thread=False,
                cached_statements=256,
            )  # fmt: skip
            self._run("PRAGMA trusted_schema = OFF")
            self._run("PRAGMA mmap_size = 0")
            self._run("PRAGMA wal_autocheckpoint = 0")
            if readonly:
                self._run("PRAGMA query_only = ON")
            else:
                mode = self._run("PRAGMA journal_mode = WAL").fetchone()[0]
                if mode != "wal":
                    raise StoreError(f"{path}: SQLite has no write-ahead log here ({mode}); use a local disk")
                self._run(f"PRAGMA synchronous = {synchronous}")
            self._check_tables()
            index = self._run("SELECT name FROM pragma_index_info('sqlite_autoindex_event_1')").fetchone()
            self._by_step = index == ("step",)

    def _check_tables(self) -> None:
        found = self._run("SELECT count(*) FROM sqlite_schema WHERE name = 'meta'").fetchone()[0]
        if not found and self._readonly:
            raise StoreDamaged(f"{self.path}: it holds no store")
        if not found:
            with self._transaction():
                for statement in statements(_TABLES):
                    self._run(statement)
                self._put_meta("format", FORMAT)
                self._put_meta("base", f"0 {FIRST_CHAIN.hex()}")
            sync_folder(self.path.parent)
        self._check_format(FORMAT)

    def _store_error(self, error: sqlite3.Error) -> StoreError:
        code = getattr(error, "sqlite_errorcode", None) or 0
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        primary = code & 0xFF
        if primary == sqlite3.SQLITE_FULL:
            return StorageFull(f"{self.path}: no space is left ({error}); free some, and ask again")
        if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR) or code == 0:
            return StoreDamaged(f"{self.path}: the database is damaged ({name}: {error}); restore a back-up")
        if primary == sqlite3.SQLITE_CONSTRAINT:
            return StoreDamaged(f"{self.path}: {error}; the log holds what it should not")
        return StorageFailed(
            f"{self.path}: reading or writing failed ({name}: {error}); the store has stopped. Look at the disk, and "
            "open the store again: it replays what is there"
        )

    def _run(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        return self._connection.execute(statement, values)

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

    def append(self, events: Sequence[Event], *, cases: Sequence[tuple[int, int, str]] = ()) -> None:
        """Write events, and the cases that they begin; all or none, durably."""
        with self._as_store_errors():
            if cases or len(events) > _MOST_ROWS:
                with self._transaction():
                    for case in cases:
                        self._run('INSERT INTO "case" VALUES (?, ?, ?)', case)
                    for first in range(0, len(events), _MOST_ROWS):
                        self._insert(events[first : first + _MOST_ROWS])
            elif events:
                self._insert(events)  # a statement alone is a transaction
        self._written_pages += _PAGES_PER_COMMIT + (len(events) + len(cases)) // _EVENTS_PER_PAGE

    def _insert(self, events: Sequence[Event]) -> None:
        """One statement for all: sqlite3 hands the interpreter to other threads several times in each, and to get it
        back may take longer than to write."""
        rows = ", ".join([_ROW] * len(events))
        self._run(f"INSERT INTO event ({COLUMNS}) VALUES {rows}", list(itertools.chain.from_iterable(events)))

    def _last_step(self, case: int, until: int) -> int | None:
        if not self._by_step:
            return super()._last_step(case, until)

        def is_there(step: int) -> bool:
            found = self._one('SELECT seq FROM event WHERE "case" = ? AND step = ?', (case, step))
            return found is not None and found[0] <= until

        low = 0 if self.step_of(case, 0) is not None else self._one(_FIRST_STEP, (case,))[0]
        if not is_there(low):
            return None
        high = self._one("SELECT max(step) FROM event")[0] or 0
        while low < high:  # it is there, and high + 1 is not
            middle = (low + high + 1) // 2
            low, high = (middle, high) if is_there(middle) else (low, middle - 1)
        return low

    def _last_rows(self, case: int, step: int, until: int, limit: int) -> list[Any]:
        if not self._by_step:
            return super()._last_rows(case, step, until, limit)
        return self._all(_ROWS_BY_STEP, (case, step, until, limit))

    def _sums(self, cases: Sequence[tuple[int, int]]) -> tuple[float, int, int]:
        if not self._by_step:
            return super()._sums(cases)
        loss, steps, taken = 0.0, 0, 0
        for first in range(0, len(cases), _MOST_CASES):
            some = cases[first : first + _MOST_CASES]
            statement = _SUMS_BY_STEP.format(cases=", ".join(["(?, ?)"] * len(some)), sums=SUMS)
            found = self._one(statement, list(itertools.chain.from_iterable(some)))
            loss, steps, taken = loss + found[0], steps + found[1], taken + found[2]
        return loss, steps, taken

    def add_learner(self, number: int, file: bytes) -> None:
        """Keep the file of a learner, before the event that creates it is appended."""
        with self._as_store_errors(), self._transaction():
            self._run("INSERT OR REPLACE INTO learner VALUES (?, ?)", (number, file))

    def events(self, after: int, limit: int | None = None) -> Iterator[Event]:
        """Events in order, those after number ``after``."""
        with self._as_store_errors():
            rows = self._run(
                f"SELECT {COLUMNS} FROM event WHERE seq > ? ORDER BY seq LIMIT ?",
                (after, -1 if limit is None else limit),
            )
            yield from map(Event._make, rows)

    def set_snapshots(self, entries: Sequence[SnapshotEntry]) -> None:
        """Replace the list of snapshots, durably."""
        with self._as_store_errors(), self._transaction():
            self._run("DELETE FROM snapshot")
            for entry in entries:
                self._run("INSERT INTO snapshot VALUES (?, ?, ?, ?)", entry)

    def put_snapshot(self, entry: SnapshotEntry, folder: Path) -> None:
        """Nothing: the folder is beside the database."""

    def begin_upload(self, entry: SnapshotEntry, folder: Path) -> None:
        """Nothing: the folder is beside the database."""

    def fetch_snapshot(self, entry: SnapshotEntry, folder: Path) -> None:
        """Nothing: the folder is beside the database."""

    def rebase(self, seq: int) -> int:
        """Forget the events up to ``seq``, of which a snapshot was taken; how many there were.

        Then the file is made smaller, which needs as much space as it will have. Without it the events are gone all the
        same, and it is left for the next time.
        """
        base = self._new_base(seq)
        with self._as_store_errors(), self._transaction():
            count = self._run("DELETE FROM event WHERE seq <= ?", (seq,)).rowcount
            self._put_meta("base", base)
        try:
            with self._as_store_errors():
                self._run("PRAGMA wal_checkpoint(TRUNCATE)")
                self._run("VACUUM")
                self._run("PRAGMA wal_checkpoint(TRUNCATE)")
        except StorageFull as error:
            log.warning("%s. The events were removed, and their place is used again; once there is space, another "
                        "compact makes the file smaller", error)  # fmt: skip
        return count

    def set_meta(self, key: str, value: str) -> None:
        """Keep a text."""
        with self._as_store_errors(), self._transaction():
            self._put_meta(key, value)

    def _put_meta(self, key: str, value: str) -> None:
        self._run("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def wal_bytes(self) -> int:
        """The size of the write-ahead log."""
        try:
            return self._wal.stat().st_size
        except FileNotFoundError:
            return 0

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

    def quick_check(self) -> None:
        """An error if SQLite itself finds the database damaged."""
        with self._as_store_errors():
            found = [row[0] for row in self._run("PRAGMA integrity_check(3)")]
        if found != ["ok"]:
            raise StoreDamaged(f"{self.path}: SQLite finds it damaged ({'; '.join(found)[:300]}); restore a back-up")

    def back_up(self, target: Path) -> None:
        """Write a copy of the database as of the last commit, durably."""
        _make_private(target)
        with self._as_store_errors():
            self._run("PRAGMA query_only = OFF")  # SQLite takes it for writing; what is only read stays so by its mode
            self._run("VACUUM INTO ?", (str(target),))
            self._run(f"PRAGMA query_only = {'ON' if self._readonly else 'OFF'}")
        with open(target, "rb+") as file:  # SQLite does not sync it
            os.fsync(file.fileno())

    def close(self) -> None:
        """Nothing is used any more."""
        with self._as_store_errors():
            self._connection.close()

    def leave(self) -> None:
        """After a failure of the disk: the connection is neither used nor closed any more."""
        _FAILED.append(self._connection)
