"""The one thread that applies requests and writes: what has gathered while the disk was busy is one transaction."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from goalbound.errors import (
    GoalboundError,
    InputError,
    StorageFull,
    StoreClosed,
    StoreError,
    StoreOverloaded,
)
from goalbound.store.background import BackgroundSnapshot
from goalbound.store.engine import Engine
from goalbound.store.machine import Poisoned

Operation = Callable[[Engine], Any]
MOST_BATCH = 1024
_IDLE_SECONDS = 0.5
_WAIT_SHARE, _LONGEST_WAIT = 0.25, 0.002  # of what a commit takes, and in seconds: how long others are waited for
_MANY_CASES = 100  # of so many open ones a copy of the process takes the snapshot
_SNAPSHOT_SHARE = 20  # snapshots take a twentieth of the time at most


class Job:
    """Operations whose results come together, each on the disk by then: a value, or the error of it.

    Attributes:
        operations: what is to be done.
        writes: whether they write.
        results: one for each, once they are done.
        deliver: is called by the writer with all jobs of the same function that are done.
        seen: of a follower, the last event that it had seen then, and how many seconds it was behind.
    """

    __slots__ = ("deliver", "operations", "results", "seen", "tag", "writes")

    def __init__(
        self, operations: Sequence[Operation], deliver: Callable[[list[Job]], None], *, writes: bool = True,
        tag: Any = None,
    ) -> None:  # fmt: skip
        self.operations = operations
        self.writes = writes
        self.results: list[Any] = []
        self.deliver = deliver
        self.tag = tag
        self.seen: tuple[int, float] | None = None


@dataclass
class Counts:
    """What a writer has done.

    Attributes:
        commits: how many; committed: events in them.
        commit_seconds: spent in them, all together.
        slowest_commit: in seconds, since it was asked last.
        refused: how many requests came when too many waited.
        snapshots, snapshot_seconds: how many, and what the last one took.
        last_snapshot: when it was taken, by the monotonic clock.
    """

    commits: int = 0
    committed: int = 0
    commit_seconds: float = 0.0
    slowest_commit: float = 0.0
    refused: int = 0
    snapshots: int = 0
    snapshot_seconds: float = 0.0
    last_snapshot: float = 0.0


class Writer:
    """Applies jobs in the order in which they come.

    Args:
        engine: what it applies them to; nobody else uses it.
        most_waiting: a job that comes when so many wait is refused.
        has_space: whether the disk has space; without it nothing is written.
        snapshot_events, snapshot_seconds: a snapshot is taken after so many events, or after so long if there were any.
    """

    def __init__(
        self, engine: Engine, *, most_waiting: int, has_space: Callable[[], bool], snapshot_events: int,
        snapshot_seconds: float,
    ) -> None:  # fmt: skip
        self._engine = engine
        self._most_waiting = most_waiting
        self._has_space = has_space
        self._snapshot_events, self._snapshot_seconds = snapshot_events, snapshot_seconds
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._closing = False
        self._copy: BackgroundSnapshot | None = None
        self._answered = 0  # jobs of the last batch
        self._commit_takes = 0.0  # about so many seconds
        self.counts = Counts(last_snapshot=time.monotonic())
        self.failure: BaseException | None = None
        self.on_failure: Callable[[BaseException], None] | None = None
        self._thread = threading.Thread(target=self._work, name="goalbound store", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        return self._queue.qsize()

    @property
    def alive(self) -> bool:
        """Whether it works."""
        return self.failure is None and self._thread.is_alive()

    def submit(self, job: Job) -> None:
        """Put a job into the queue; an error if that is full, or nobody works on it."""
        if self.failure is not None:
            raise self.failure
        if self._closing:
            raise StoreClosed("the store is closed; open it again")
        if self._queue.qsize() >= self._most_waiting:
            self.counts.refused += 1
            raise StoreOverloaded(f"{self._most_waiting} requests wait already; ask again later")
        self._queue.put(job)

    def call(self, operation: Operation, *, writes: bool = True) -> Any:
        """Do one thing, and wait for it."""
        return wait_for(self, operation, writes=writes)

    def close(self) -> None:
        """Do what waits, and end."""
        if not self._closing:
            self._closing = True
            self._queue.put(None)
        if self._thread is not threading.current_thread():
            self._thread.join()

    # In the thread.

    def _work(self) -> None:
        try:
            while True:
                batch, ended = self._gather()
                if batch:
                    self._do(batch)
                if ended:
                    return
                self._look_at_copy()
                if self._snapshot_is_due():
                    self._begin_snapshot()
                idle = not batch
                self._engine.log.tidy(idle=idle)
                self._engine.head.note(self._engine.seq, self._engine.chain)
        except BaseException as error:
            self._fail(error)
        finally:
            if self._copy is not None:
                self._copy.end()

    def _gather(self) -> tuple[list[Job], bool]:
        """The jobs that wait, the first of which is waited for; and whether there will be no more.

        Whoever was answered last will soon ask again. If fewer have by now, the rest is waited for, for a fraction of
        what a commit takes: else half of them would be committed alone, and the others had to wait for it.
        """
        batch: list[Job] = []
        count, expected, until = 0, self._answered, 0.0
        try:
            job = self._queue.get(timeout=_IDLE_SECONDS)
            while job is not None:
                batch.append(job)
                count += len(job.operations)
                if count >= MOST_BATCH:
                    return batch, False
                if self._queue.empty() and len(batch) < expected:
                    now = time.perf_counter()
                    until = until or now + min(_WAIT_SHARE * self._commit_takes, _LONGEST_WAIT)
                    job = self._queue.get(timeout=max(until - now, 0.0))
                else:
                    job = self._queue.get_nowait()
        except Empty:
            return batch, False
        return batch, True

    def _do(self, batch: list[Job]) -> None:
        """Apply a batch, commit it, and only then say what came of it."""
        self._uncommitted: list[tuple[Job, int]] = []  # results that are said only if the next commit succeeds
        try:
            has_space = self._has_space() or not any(job.writes for job in batch)
            for job in batch:
                for operation in job.operations:
                    result = self._apply(operation, job, has_space=has_space)
                    self._uncommitted.append((job, len(job.results)))
                    job.results.append(result)
            try:
                self._commit()
            except StorageFull as error:
                self._withdraw(error)
        except BaseException as error:
            told = error if isinstance(error, GoalboundError) else as_failure(error)
            self._withdraw(told)
            for job in batch:
                job.results += [told] * (len(job.operations) - len(job.results))
            raise
        finally:
            self._answered = len(batch)
            deliver(batch)

    def _withdraw(self, error: BaseException) -> None:
        """What was not committed has not happened: whoever was told of it, or refused because of it, is told so.

        Those who only read may have seen it, too. They read again, unless the store cannot go on.
        """
        undone, self._uncommitted = self._uncommitted, []
        for job, place in undone:
            job.results[place] = error
        if isinstance(error, StorageFull):
            for job, place in undone:
                if not job.writes:
                    job.results[place] = self._apply(job.operations[place], job, has_space=False)

    def _apply(self, operation: Operation, job: Job, *, has_space: bool) -> Any:
        """The result of an operation, or its error; a store that cannot go on is raised."""
        if job.writes and not has_space:
            return StorageFull("the disk has no space left but the reserve; free some, and ask again")
        engine, rebuilt = self._engine, self._engine.rebuilt
        try:
            return operation(engine)
        except InputError as error:
            return error
        except StorageFull as error:
            if engine.rebuilt != rebuilt:
                self._withdraw(error)
            return error
        except StoreError:
            raise
        except Exception as error:
            # Something may have changed that is not in the log: what came before is written, and the rest forgotten.
            try:
                self._commit()
            except StorageFull as full:
                self._withdraw(full)
                return full
            engine.rebuild()
            return error.__cause__ if isinstance(error, Poisoned) and error.__cause__ is not None else error

    def _commit(self) -> None:
        count = self._engine.uncommitted
        begin = time.perf_counter()
        self._engine.commit()
        self._uncommitted.clear()
        if count:
            took = time.perf_counter() - begin
            counts = self.counts
            counts.commits += 1
            counts.committed += count
            counts.commit_seconds += took
            counts.slowest_commit = max(counts.slowest_commit, took)
            self._commit_takes += 0.1 * (took - self._commit_takes)

    def _snapshot_is_due(self) -> bool:
        engine, counts = self._engine, self.counts
        new = engine.seq - engine.snapshot_seq
        passed = time.monotonic() - counts.last_snapshot
        if self._copy is not None or not new or passed < _SNAPSHOT_SHARE * counts.snapshot_seconds:
            return False
        return new >= self._snapshot_events or passed >= self._snapshot_seconds

    def _begin_snapshot(self) -> None:
        """Take a snapshot; if that takes long, a copy of the process does it."""
        engine = self._engine
        if len(engine.machine.cases) < _MANY_CASES or not hasattr(os, "fork"):
            self.take_snapshot(engine)
            return
        try:
            engine.snapshots.mkdir(exist_ok=True)
            self._copy = BackgroundSnapshot(engine.snapshots, engine.machine, seq=engine.seq, chain=engine.chain)
        except OSError:  # no memory for a copy, or too many files are open: nothing that a store has to stop for
            self.take_snapshot(engine)

    def _look_at_copy(self) -> None:
        """What a copy has written is listed."""
        if self._copy is None:
            return
        done, entry = self._copy.done()
        if not done:
            return
        self._count_snapshot(self._copy.seconds)
        self._copy = None
        if entry is not None and (self._engine.snapshots / entry.file).is_file():
            with suppress(StorageFull):
                self._engine.keep_snapshot(entry)

    def take_snapshot(self, engine: Engine) -> Any:
        """Take a snapshot; without space there is none."""
        begin = time.monotonic()
        try:
            return engine.snapshot()
        except StorageFull:
            return None
        finally:
            self._count_snapshot(time.monotonic() - begin)

    def _count_snapshot(self, seconds: float) -> None:
        self.counts.last_snapshot = time.monotonic()
        self.counts.snapshot_seconds = seconds
        self.counts.snapshots += 1

    def _fail(self, error: BaseException) -> None:
        """Nobody works any more: everyone who waits is told."""
        self.failure = error if isinstance(error, GoalboundError) else as_failure(error)
        leave = getattr(self._engine.log, "leave", None)
        if leave is not None:
            leave()
        with suppress(Empty):
            while True:
                job = self._queue.get_nowait()
                if job is not None:
                    job.results = [self.failure] * len(job.operations)
                    deliver([job])
        if self.on_failure is not None:
            self.on_failure(self.failure)


class Worker(Protocol):
    """A thread that does jobs."""

    failure: BaseException | None

    @property
    def alive(self) -> bool:
        """Whether it works."""
        ...

    def submit(self, job: Job) -> None:
        """Put a job into its queue."""
        ...


def wait_for(worker: Worker, operation: Operation, *, writes: bool) -> Any:
    """Let a worker do one thing, and wait for it."""
    done = threading.Event()
    job = Job([operation], lambda jobs: done.set(), writes=writes)
    worker.submit(job)
    while not done.wait(1.0):
        if not worker.alive and not done.is_set():
            raise worker.failure or StoreClosed("the store is closed; open it again")
    result = job.results[0]
    if isinstance(result, BaseException):
        raise result
    return result


def deliver(batch: Sequence[Job]) -> None:
    """Whoever waits for these jobs is told that they are done, once for all that have the same function for it."""
    ports: dict[Any, list[Job]] = {}
    for job in batch:
        ports.setdefault(job.deliver, []).append(job)
    for told, jobs in ports.items():
        with suppress(Exception):  # whoever asked is gone; what was done is done
            told(jobs)


def as_failure(error: BaseException) -> StoreError:
    """An error of ours, as that of a store that has stopped."""
    from goalbound.errors import StorageFailed

    failure = StorageFailed(f"the store has stopped ({type(error).__name__}: {error}); open it again")
    failure.__cause__ = error
    return failure
