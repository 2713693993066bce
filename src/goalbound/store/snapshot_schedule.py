"""When snapshots are taken, and by whom: by the thread that writes, or by a copy of the process."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from goalbound.errors import StorageFull
from goalbound.store.background import BackgroundSnapshot
from goalbound.store.engine import Engine
from goalbound.store.worker import Counts

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
        self._copy: BackgroundSnapshot | None = None
        counts.last_snapshot = time.monotonic()

    def go_on(self) -> None:
        """Go on with the snapshot that is under way, or begin one if it is due. Everything is committed."""
        self._look_at_copy()
        if self._is_due():
            self._begin()

    def take(self) -> None:
        """Take a snapshot now; without space there is none."""
        begin = time.monotonic()
        try:
            self._engine.snapshot()
        except StorageFull:
            pass
        finally:
            self._count(time.monotonic() - begin)

    def end(self) -> None:
        """Nothing is under way any more."""
        if self._copy is not None:
            self._copy.end()
            self._copy = None

    def _is_due(self) -> bool:
        engine, counts = self._engine, self._counts
        new = engine.seq - engine.snapshot_seq
        passed = time.monotonic() - counts.last_snapshot
        if self._copy is not None or not new or passed < _SHARE * counts.snapshot_seconds:
            return False
        return new >= self._events or passed >= self._seconds

    def _begin(self) -> None:
        """Take a snapshot; if that takes long, a copy of the process does it."""
        engine = self._engine
        if len(engine.machine.cases) < _MANY_CASES or not hasattr(os, "fork"):
            self.take()
            return
        try:
            engine.snapshots.mkdir(exist_ok=True)
            self._copy = BackgroundSnapshot(engine.snapshots, engine.machine, seq=engine.seq, chain=engine.chain)
        except OSError:  # no memory for a copy, or too many files are open: nothing that a store has to stop for
            self.take()

    def _look_at_copy(self) -> None:
        """What a copy has written is listed."""
        if self._copy is None:
            return
        done, entry = self._copy.done()
        if not done:
            return
        self._count(self._copy.seconds)
        self._copy = None
        if entry is not None and (self._engine.snapshots / entry.file).is_file():
            with suppress(StorageFull):
                self._engine.keep_snapshot(entry)

    def _count(self, seconds: float) -> None:
        self._counts.last_snapshot = time.monotonic()
        self._counts.snapshot_seconds = seconds
        self._counts.snapshots += 1
