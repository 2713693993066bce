"""A store of learners: every step is on the disk before it is acknowledged, and every decision can be replayed."""

from __future__ import annotations

import shutil
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, Self

from goalbound.errors import StorageFull, StoreClosed, StoreError
from goalbound.models.files.io import file_name, sync_folder
from goalbound.serve.store.files import DATABASE, SNAPSHOTS, free_bytes
from goalbound.serve.store.locations import Location, location_of
from goalbound.serve.store.log import EventLog
from goalbound.serve.store.open_store import OpenStore, StoreOptions
from goalbound.serve.store.relearning import relearn, relearned_name
from goalbound.serve.store.replay import software
from goalbound.serve.store.snapshots import copy_snapshots, is_whole
from goalbound.serve.store.sqlite_log import SqliteLog
from goalbound.serve.store.stored_learner import StoredLearner
from goalbound.serve.store.writer import Writer

_TRIES = 5  # of a back-up beside somebody who compacts


class Store(OpenStore):
    """Learners and their cases, in a folder or a database that one process has open.

    A step is acknowledged (a method returns) when it is on the disk. After a crash at any moment the store opens with
    every acknowledged step, and goes on to the bit. Methods may be called by several threads; what they ask at the same
    time is written together.

    >>> import tempfile
    >>> from goalbound import GreedyRidge, Support
    >>> support = Support.from_names({"down": {"restart": ["down", "goal"]}})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Store.open(folder) as store:
    ...         learner = store.create("incidents", GreedyRidge(support, 1, loss_floor=0.1))
    ...         proposed = learner.begin([1.0], "down", id="case-17")
    ...         observed = learner.observe("case-17", 0.25, "down", step=1)
    ...     with Store.open(folder) as store:
    ...         again = store.learner("incidents").observe("case-17", 0.25, "down", step=1)
    >>> proposed.name, observed.step, again.repeated, again[:6] == observed[:6]
    ('restart', 1, True, True)
    """

    follows = False

    def __init__(self, location: Location, options: StoreOptions, *, create: bool = False) -> None:
        opened = location.open_to_write(create=create, synchronous=options.synchronous)
        super().__init__(location, options, opened)
        self._log = opened.log
        try:
            self._log.settle()  # now that all of it was read, and replayed
            if self._log.get_meta("software") != software():
                with suppress(StorageFull):  # reading goes on
                    self._log.set_meta("software", software())
        except BaseException:
            opened.close()
            raise
        self.writer: Writer = Writer(
            self._engine, most_waiting=options.most_waiting, has_space=self.has_space,
            snapshot_events=options.snapshot_events, snapshot_seconds=options.snapshot_seconds,
        )  # fmt: skip

    @classmethod
    def open(cls, path: str | PathLike[str], *, create: bool = True, options: StoreOptions | None = None) -> Self:
        """Open the store in a folder or a database (``postgresql://user@host/database``), or make one there.

        The newest whole snapshot is read and what came after it is replayed, which must give the actions in the log.

        Raises:
            StoreLocked: another process, or another object of this one, has it open.
            StoreDamaged: its bytes are not those that were written.
            ReplayDifference: an action is not the one in the log.
        """
        options = options or StoreOptions()
        return cls(location_of(path, cache=options.cache), options, create=create)

    def close(self) -> None:
        """Do what waits, take a snapshot, and release the folder. After a failure of the disk nothing is written."""
        super().close()

    def _release(self) -> None:
        try:
            if self.writer.failure is None:
                self.writer.snapshots.take()
                self._engine.head.note(self._engine.seq, self._engine.chain, now=True)
                self._log.close()
        finally:
            self._opened.release()

    def has_space(self) -> bool:
        """Whether the disk has more space left than the reserve; that of a database says so itself."""
        return not self._opened.on_disk or free_bytes(self.folder) >= self.options.reserve_bytes

    def create(self, name: str, learner: Any, *, follows: str | None = None) -> StoredLearner:
        """Put a learner into the store, as it is now; the object itself is not used any more.

        Args:
            name: 1 to 64 letters, digits, and ``. _ ~ -``.
            learner: one that :func:`goalbound.load_learner` can read back, without open episodes.
            follows: the name of a learner whose cases it follows as a challenger: it learns from every step, and what
                it would have proposed is in the log. :meth:`promote` lets it take that one's place.
        """
        self.writer.call(lambda engine: engine.create(name, learner, follows=follows))
        return StoredLearner(self, name)

    def promote(self, name: str) -> None:
        """A challenger takes the place of the learner that it follows, under that one's name, and the other way round.

        Cases stay where they are; the next proposal of each is that of the challenger, if it has followed the case.
        """
        self.writer.call(lambda engine: engine.promote(name))

    def relearn(self, name: str, new_name: str | None = None) -> StoredLearner:
        """Put in a learner that has forgotten what a monitored one has noticed to have changed, as its challenger.

        It is ``relearned()`` of that one, under ``new_name`` (left out: the name with ``-relearned``). :meth:`promote`
        lets it take its place.
        """
        made = relearned_name(name) if new_name is None else new_name
        self.writer.call(lambda engine: relearn(engine, name, made))
        return StoredLearner(self, made)

    def snapshot(self) -> int:
        """Take a snapshot; the number of the event after which it was taken."""
        seq: int = self.writer.call(lambda engine: engine.snapshot().seq)
        return seq

    def compact(self) -> int:
        """Let the log begin here; the events before are removed. How many there were. Export the log first."""
        count: int = self.writer.call(lambda engine: engine.compact())
        return count

    def back_up(self, target: str | PathLike[str]) -> None:
        """Write a copy of the store, as of now, to a new folder, durably; without one that can be opened there is none.

        It is read beside the writer, which goes on meanwhile, also if the disk of the copy fails.
        """
        if self._closed:
            raise StoreClosed("the store is closed; open it again, or copy its folder")
        if not self._opened.on_disk:
            raise StoreError(f"{self.location.name}: a database is backed up by its own tools, such as pg_dump")
        folder = Path(file_name(target))
        if folder.exists():
            raise StoreError(f"{folder} exists; give the name of a new folder")
        for _ in range(_TRIES):
            folder.mkdir(mode=0o700, parents=True)
            try:
                if self._copied_to(folder):
                    return
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            shutil.rmtree(folder)
        raise StoreError(
            f"{self.location.name}: the snapshot that its log begins with could not be copied as it was written, and "
            f"there is no copy; if nobody compacts the store meanwhile, goalbound store verify says what is wrong"
        )

    def _copied_to(self, folder: Path) -> bool:
        """Copy the store to a folder; False: it was compacted meanwhile, so that the copy begins with nothing."""
        log = SqliteLog(self.folder / DATABASE, readonly=True)
        try:
            log.back_up(folder / DATABASE)
        finally:
            log.close()
        copy = read_only_log(folder)
        try:
            entries, base = copy.snapshots(), copy.base().seq
        finally:
            copy.close()
        copy_snapshots(self.folder / SNAPSHOTS, folder / SNAPSHOTS, entries)
        for written in (folder, folder.parent):
            sync_folder(written)
        return base == 0 or any(one.seq == base and is_whole(folder / SNAPSHOTS, one) for one in entries)

    def status(self) -> dict[str, Any]:
        """Numbers for people and monitors; no ids and no contexts."""
        return {
            **super().status(),
            "wal_bytes": self._log.wal_bytes(),
            "snapshot_event": self._engine.snapshot_seq,
            **vars(self.writer.counts),
        }


def read_only_log(path: str | PathLike[str]) -> EventLog:
    """The log of a store, to be read only, beside the process that may write to it."""
    return location_of(path).read_only_log()
