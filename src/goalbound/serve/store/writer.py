"""The one thread that applies requests and writes: what has gathered while the disk was busy is one transaction."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from goalbound.errors import InputError, StorageFailed, StorageFull, StoreClosed, StoreError, StoreOverloaded
from goalbound.serve.store.engine import Engine
from goalbound.serve.store.machine import Poisoned

Operation = Callable[[Engine], Any]
MOST_BATCH = 1024
_IDLE_SECONDS = 0.5
_SHARE = 20  # snapshots take a twentieth of the time at most


class Job:
    """Operations whose results come together, each on the disk by then: a value, or the error of it.

    Args:
        operations: what is to be done.
        deliver: is called by the writer with all jobs of the same function that are done.
        writes: whether they write.
        tag: of whoever asks.
    """

    __slots__ = ("deliver", "operations", "results", "tag", "writes")

    def __init__(
        self,
        operations: Sequence[Operation],
        deliver: Callable[[list[Job]], None],
        *,
        writes: bool = True,
        tag: Any = None,
    ) -> None:
        self.operations = operations
        self.writes = writes
        self.results: list[Any] = []
        self.deliver = deliver
        self.tag = tag


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
    """A thread that applies jobs to an engine in the order in which they come, and writes what comes of them.

    Args:
        engine: what it applies them to; nobody else uses it.
        most_waiting: a job with which more would wait is refused.
        has_space: whether the disk has space; without it nothing is written.
        snapshot_events, snapshot_seconds: a snapshot is taken after so many events, or after so long if there were any.

    Attributes:
        counts: what it has done.
        failure: why it has stopped; None: it has not, or it was closed.
        on_failure: is called after everyone who waits was told of a failure.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        most_waiting: int,
        has_space: Callable[[], bool],
        snapshot_events: int,
        snapshot_seconds: float,
    ) -> None:
        self._engine = engine
        self._most_waiting = most_waiting
        self._has_space = has_space
        self._snapshot_events, self._snapshot_seconds = snapshot_events, snapshot_seconds
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._submitting = threading.Lock()
        self._closing = False
        self._uncommitted: list[tuple[Job, int]] = []  # results that are said only if the next commit succeeds
        engine.on_committed = self._uncommitted.clear
        self.counts = Counts(last_snapshot=time.monotonic())
        self.failure: BaseException | None = None
        self.on_failure: Callable[[BaseException], None] | None = None
        self._thread = threading.Thread(target=self._run, name="goalbound store", daemon=True)
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
        with self._submitting:  # so that no job comes after the last
            if self.failure is not None:
                raise self.failure
            if self._closing:
                raise _closed()
            if self.waiting >= self._most_waiting:
                self.counts.refused += 1
                raise StoreOverloaded(f"{self.waiting} requests wait already; ask again later")
            self._queue.put(job)

    def call(self, operation: Operation, *, writes: bool = True) -> Any:
        """Do one thing, and wait for it."""
        done = threading.Event()
        job = Job([operation], lambda _: done.set(), writes=writes)
        self.submit(job)
        while not done.wait(1.0):
            if not self.alive and not done.is_set():
                raise self.failure or _closed()
        result = job.results[0]
        if isinstance(result, BaseException):
            raise result
        return result

    def close(self) -> None:
        """Do what waits, take a snapshot, and end."""
        with self._submitting:
            if not self._closing:
                self._closing = True
                self._queue.put(None)
        if self._thread is not threading.current_thread():
            self._thread.join()

    # In the thread.

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            failure = self._stop(error)
            while not self._queue.empty():
                job = self._queue.get()
                if job is not None:
                    job.results = [failure] * len(job.operations)
                    _deliver([job])
            if self.on_failure is not None:
                self.on_failure(failure)

    def _stop(self, error: BaseException) -> BaseException:
        """Take no more jobs, and leave the log, before anyone is told: whoever is may open the store again at once."""
        if self.failure is None:
            self._engine.log.leave()
            with self._submitting:
                self.failure = _as_failure(error)
        return self.failure

    def _work(self) -> None:
        engine = self._engine
        while True:
            batch, ended = self._gather()
            if batch:
                self._do(batch)
            if ended or self._is_due():
                self._take_snapshot()
            if engine.head is not None:
                engine.head.note(engine.seq, engine.chain, now=ended)
            if ended:
                engine.log.close()
                return
            engine.log.tidy(idle=not batch)

    def _gather(self) -> tuple[list[Job], bool]:
        """The jobs that wait, the first of which is waited for; and whether there will be no more."""
        batch: list[Job] = []
        count, wait = 0, _IDLE_SECONDS
        with suppress(Empty):
            while count < MOST_BATCH:
                job = self._queue.get(timeout=wait) if wait else self._queue.get_nowait()
                if job is None:
                    return batch, True
                batch.append(job)
                count, wait = count + len(job.operations), 0.0
        return batch, False

    def _do(self, batch: list[Job]) -> None:
        """Apply a batch, commit it, and only then say what came of it."""
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
            failure = self._stop(error)
            self._withdraw(failure)
            for job in batch:
                job.results += [failure] * (len(job.operations) - len(job.results))
            raise
        finally:
            _deliver(batch)

    def _withdraw(self, error: BaseException) -> None:
        """What was not committed has not happened: whoever was told of it, or refused because of it, is told so.

        Those who only read may have seen it, too. They read again, unless the store cannot go on.
        """
        undone = self._uncommitted.copy()
        self._uncommitted.clear()
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
        engine = self._engine
        rebuilt, seq = engine.rebuilt, engine.seq
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
            if not job.writes and engine.seq == seq and not isinstance(error, Poisoned):
                return error  # whoever only reads changes nothing
            # Something may have changed that is not in the log: what came before is written, and the rest forgotten.
            try:
                self._commit()
            except StorageFull as full:
                self._withdraw(full)
                return full
            engine.rebuild()
            return error.__cause__ if isinstance(error, Poisoned) and error.__cause__ is not None else error

    def _commit(self) -> None:
        count, counts = self._engine.uncommitted, self.counts
        begin = time.perf_counter()
        self._engine.commit()
        if count:
            took = time.perf_counter() - begin
            counts.commits += 1
            counts.committed += count
            counts.commit_seconds += took
            counts.slowest_commit = max(counts.slowest_commit, took)

    def _is_due(self) -> bool:
        new = self._engine.seq - self._engine.snapshot_seq
        passed = time.monotonic() - self.counts.last_snapshot
        if not new or passed < _SHARE * self.counts.snapshot_seconds:
            return False
        return new >= self._snapshot_events or passed >= self._snapshot_seconds

    def _take_snapshot(self) -> None:
        """Take a snapshot of what is committed; without space there is none."""
        begun, counts = time.monotonic(), self.counts
        if self._engine.seq > self._engine.snapshot_seq:
            with suppress(StorageFull):
                self._engine.snapshot()
                counts.snapshots += 1
        counts.last_snapshot = time.monotonic()
        counts.snapshot_seconds = counts.last_snapshot - begun


def _deliver(batch: list[Job]) -> None:
    """Whoever waits for these jobs is told, once for all that have the same function for it."""
    told: dict[Any, list[Job]] = {}
    for job in batch:
        told.setdefault(job.deliver, []).append(job)
    for deliver, jobs in told.items():
        with suppress(Exception):  # whoever asked is gone; what was done is done
            deliver(jobs)


def _closed() -> StoreClosed:
    return StoreClosed("the store is closed; open it again")


def _as_failure(error: BaseException) -> BaseException:
    """Why a store has stopped: an error of stores, or any other as such."""
    if isinstance(error, StoreError):
        return error
    failure: StoreError = StorageFailed(f"the store has stopped ({type(error).__name__}); open it again")
    failure.__cause__ = error
    return failure
