"""When snapshots are taken, and by whom: written by the thread of the engine, or by a copy of the process; and sent to
where the log keeps them, if that is elsewhere, while steps go on."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from goalbound.errors import StorageFull
from goalbound.serve.store.background import BackgroundSnapshot
from goalbound.serve.store.compaction import list_snapshot, listed_snapshot, new_snapshot
from goalbound.serve.store.engine import Engine
from goalbound.serve.store.log import SnapshotEntry, Upload
from goalbound.serve.store.worker import Counts

_MANY_CASES = 100  # of so many open ones a copy of the process takes the snapshot
_SHARE = 20  # snapshots take a twentieth of the time at most


class SnapshotSchedule:
    """Snapshots of an engine, one after the other. The thread of the engine uses it.

    Args:
        engine: whose state is kept.
        counts: where snapshots are counted.
        events, seconds: one is taken after so many events, or after so long if there were any.
    """

    def __init__(self, engine: Engine, counts: Counts, *, events: int, seconds: float) -> None:
        self._engine = engine
        self._counts = counts
        self._events, self._seconds = events, seconds
        self._begun = 0.0
        self._copy: BackgroundSnapshot | None = None
        self._upload: Upload | None = None
        counts.last_snapshot = time.monotonic()

    def go_on(self) -> None:
        """Go on with the snapshot that is under way, or begin one if it is due. Everything is committed."""
        if self._copy is not None:
            self._look_at_copy(self._copy)
        elif self._upload is not None:
            self._look_at_upload(self._upload)
        elif self._is_due():
            self._begin()

    def take(self) -> None:
        """Take a snapshot now, and keep it; without space there is none."""
        self._begun = time.monotonic()
        try:
            with suppress(StorageFull):
                self._engine.snapshot()
        finally:
            self._count()

    def end(self) -> None:
        """No copy is under way any more; an upload ends with the use of the log."""
        if self._copy is not None:
            self._copy.end()
            self._copy = None

    def _is_due(self) -> bool:
        engine, counts = self._engine, self._counts
        new = engine.seq - engine.snapshot_seq
        passed = time.monotonic() - counts.last_snapshot
        if not new or passed < _SHARE * counts.snapshot_seconds:
            return False
        return new >= self._events or passed >= self._seconds

    def _begin(self) -> None:
        """Write a snapshot; if that takes long, a copy of the process does it."""
        engine = self._engine
        self._begun = time.monotonic()
        if len(engine.machine.cases) < _MANY_CASES or not hasattr(os, "fork"):
            self._write()
            return
        try:
            engine.snapshots.mkdir(mode=0o700, exist_ok=True)
            self._copy = BackgroundSnapshot(engine.snapshots, engine.machine, seq=engine.seq, chain=engine.chain)
        except OSError:  # no memory for a copy, or too many files are open: nothing that a store has to stop for
            self._write()

    def _write(self) -> None:
        entry = None
        with suppress(StorageFull):
            entry = None if listed_snapshot(self._engine) else new_snapshot(self._engine)
        self._keep(entry)

    def _look_at_copy(self, copy: BackgroundSnapshot) -> None:
        done, entry = copy.done()
        if done:
            self._copy = None
            self._keep(entry)

    def _keep(self, entry: SnapshotEntry | None) -> None:
        """The file of a snapshot was written, if there is one: it is sent to where the log keeps it."""
        if entry is not None and self._is_wanted(entry):
            with suppress(StorageFull):
                self._upload = self._engine.log.begin_upload(entry, self._engine.snapshots)
                if self._upload is not None:
                    return
                list_snapshot(self._engine, entry)
        self._count()

    def _look_at_upload(self, upload: Upload) -> None:
        done, entry = upload.done()
        if not done:
            return
        self._upload = None
        if entry is not None and self._is_wanted(entry):
            with suppress(StorageFull):
                list_snapshot(self._engine, entry)
        self._count()

    def _is_wanted(self, entry: SnapshotEntry) -> bool:
        """Whether its file is there, and no later snapshot was taken meanwhile."""
        return entry.seq > self._engine.snapshot_seq and (self._engine.snapshots / entry.file).is_file()

    def _count(self) -> None:
        now = time.monotonic()
        self._counts.last_snapshot = now
        self._counts.snapshot_seconds = now - self._begun
        self._counts.snapshots += 1
