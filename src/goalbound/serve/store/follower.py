"""A follower: it replays the log of a leader, and answers what only reads, as of a moment ago."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from os import PathLike
from pathlib import Path
from queue import Empty
from typing import Any, Self

from goalbound.errors import (
    NotLeader,
    ReplayDifference,
    StorageFailed,
    StoreDamaged,
    StoreError,
)
from goalbound.serve.store.files import check_local
from goalbound.serve.store.locations import Location, location_of
from goalbound.serve.store.open_store import OpenStore, StoreOptions
from goalbound.serve.store.replay import Restored, replay
from goalbound.serve.store.worker import MOST_BATCH, Job, Operation, Worker, deliver

log = logging.getLogger("goalbound.serve.store")

LOOK_SECONDS = 0.1
"""A follower looks for new events so often."""
_MOST_EVENTS = 500  # are replayed before requests that wait are answered
_REOPEN_SECONDS = 1.0
_STALE_COPY = (
    "the log has another end than the one that was followed: it was restored or failed over with a loss. Start the "
    "follower again: it reads what is there"
)


class Follower(OpenStore):
    """The learners and cases of a store that another process writes to, as of a moment ago.

    It proposes what the leader would have proposed at the event that it has seen last, to the bit, and records nothing.
    While the database cannot be reached it goes on answering what needs no more than it has in memory, and
    :attr:`behind` says how old that is.

    >>> import tempfile
    >>> from goalbound import GreedyRidge, Support
    >>> from goalbound.serve.store import Store
    >>> support = Support.from_names({"down": {"restart": ["down", "goal"]}})
    >>> with tempfile.TemporaryDirectory() as folder, Store.open(folder) as store:
    ...     proposed = store.create("incidents", GreedyRidge(support, 1, loss_floor=0.1)).begin([1.0], "down", id="a")
    ...     with Follower.open(folder) as follower:
    ...         follower.learner("incidents").act("a").action == proposed.action, follower.seen()[0]
    (True, 2)
    """

    follows = True

    def __init__(self, location: Location, options: StoreOptions, *, leader: str | None = None) -> None:
        self.leader = leader
        if isinstance(location.place, Path):
            check_local(location.place)  # SQLite's readers share memory with its writer
        self._complete = time.monotonic()  # what was committed before is in the state
        super().__init__(location, options, location.open_to_read())
        self._connected, self._tried = True, 0.0
        self.writer: Reader = Reader(self, most_waiting=options.most_waiting)

    @classmethod
    def open(cls, path: str | PathLike[str], *, options: StoreOptions | None = None, leader: str | None = None) -> Self:
        """Follow the store in a folder or a database, which exists.

        Args:
            path: the folder, or the URL.
            options: those about cases and requests that wait are used, and the folder for copies of snapshots.
            leader: where the leader answers, for those who come here to write.
        """
        options = options or StoreOptions()
        return cls(location_of(path, cache=options.cache), options, leader=leader)

    def _release(self) -> None:
        with suppress(StoreError):  # a connection that is gone already
            self._opened.close()

    def seen(self) -> tuple[int, float]:
        """The number of the last event that it has seen, and how many seconds ago it surely had all of them."""
        return self._engine.seq, self.behind

    @property
    def behind(self) -> float:
        """Everything that was acknowledged so many seconds ago, or before, is in its state."""
        return time.monotonic() - self._complete

    def has_space(self) -> bool:
        """It needs none."""
        return True

    @property
    def restored(self) -> Restored:
        """What it began with, and what it has replayed since."""
        return self._engine.restored

    def status(self) -> dict[str, Any]:
        """Numbers for people and monitors; no ids and no contexts."""
        return {
            **super().status(),
            "behind_seconds": self.behind,
            "connected": int(self._connected),
            "refused": self.writer.counts.refused,
        }

    # In the thread of the reader.

    def advance(self) -> bool:
        """Replay some of what is new; whether there may be more.

        Raises:
            StoreDamaged: the log has another history than the one that was followed.
            ReplayDifference: an action is not the one in the log.
        """
        if not self._connected and not self._reopened():
            return False
        begun = time.monotonic()
        try:
            more = self._replay_some()
        except StorageFailed as error:
            self.lost(error)
            return False
        if not more:
            self._complete = begun
        return more

    def _replay_some(self) -> bool:
        engine, events = self._engine, self._engine.log
        last, chain = events.last()
        if last < engine.seq or (last == engine.seq and chain != engine.chain):
            raise StoreDamaged(f"{self.location.name}: event {engine.seq} was seen, event {last} is the last one; "
                               f"{_STALE_COPY}")  # fmt: skip
        if last == engine.seq:
            return False
        try:
            replay(events, engine.restored, until=min(last, engine.seq + _MOST_EVENTS))
        except StoreDamaged as error:
            if events.base().seq <= engine.seq:
                raise StoreDamaged(f"{error}; {_STALE_COPY}") from error
            engine.rebuild()  # what was to come next has been archived
        finally:  # what was replayed before an error is part of the state
            engine.seq, engine.chain = engine.restored.seq, engine.restored.chain
        return engine.seq < last

    def lost(self, error: StoreError) -> None:
        """The database cannot be read: what is in memory is answered until it can."""
        if self._connected:
            log.warning("%s; until it can be read again, answers grow older", error)
            self._connected = False
            self._opened.log.leave()
            self._opened.release()

    def _reopened(self) -> bool:
        if time.monotonic() - self._tried < _REOPEN_SECONDS:
            return False
        self._tried = time.monotonic()
        try:
            self._opened = self.location.open_to_read()
        except (StoreDamaged, ReplayDifference):
            raise
        except StoreError:
            return False
        self._engine.log, self._engine.snapshots = self._opened.log, self._opened.snapshots
        self._connected = True
        log.warning("%s: it can be read again", self.location.name)
        return True


class Reader(Worker):
    """The one thread of a follower: answers what waits, and replays what is new, in turn."""

    def __init__(self, follower: Follower, *, most_waiting: int) -> None:
        super().__init__("follower", most_waiting=most_waiting)
        self._follower = follower
        self._start()

    def submit(self, job: Job) -> None:
        """Put a job into the queue; an error if it writes, or if the queue is full, or nobody works on it."""
        if job.writes:
            leader = self._follower.leader
            where = "" if leader is None else f"; the leader is at {leader}"
            raise NotLeader(f"this is a follower, which only reads: nothing was recorded{where}", leader)
        super().submit(job)

    # In the thread.

    def _work(self) -> None:
        looked, more, ended = time.monotonic(), False, False
        while not ended:
            jobs, ended = self._gather(0.0 if more else max(0.0, looked + LOOK_SECONDS - time.monotonic()))
            for job in jobs:
                job.results = [self._apply(operation) for operation in job.operations]
                job.seen = self._follower.seen()
            deliver(jobs)
            if more or time.monotonic() >= looked + LOOK_SECONDS:
                looked = time.monotonic()
                more = self._follower.advance()

    def _gather(self, seconds: float) -> tuple[list[Job], bool]:
        """The jobs that wait, the first of which is waited for so long; and whether there will be no more."""
        jobs: list[Job] = []
        with suppress(Empty):
            job = self._next(seconds)
            while job is not None:
                jobs.append(job)
                if len(jobs) >= MOST_BATCH:
                    return jobs, False
                job = self._next(0.0)
            return jobs, True
        return jobs, False

    def _apply(self, operation: Operation) -> Any:
        """The result, or the error; what is read changes nothing."""
        try:
            return operation(self._follower._engine)
        except StorageFailed as error:
            self._follower.lost(error)
            return StorageFailed("the log cannot be read at the moment, and this needs it; ask again later")
        except Exception as error:
            return error
