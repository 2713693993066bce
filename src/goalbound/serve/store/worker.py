"""Threads that answer jobs: one for each store that is open, whether it writes or follows."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from goalbound.errors import StorageFailed, StoreClosed, StoreError, StoreOverloaded
from goalbound.serve.store.engine import Engine

Operation = Callable[[Engine], Any]
MOST_BATCH = 1024


class Job:
    """Operations whose results come together, each on the disk by then: a value, or the error of it.

    Attributes:
        operations: what is to be done.
        writes: whether they write.
        requests: how many requests they come from.
        results: one for each, once they are done.
        deliver: is called by the worker with all jobs of the same function that are done.
        seen: of a follower, the last event that it had seen then, and how many seconds it was behind.
    """

    __slots__ = ("deliver", "operations", "requests", "results", "seen", "tag", "writes")

    def __init__(
        self, operations: Sequence[Operation], deliver: Callable[[list[Job]], None], *, writes: bool = True,
        requests: int = 1, tag: Any = None,
    ) -> None:  # fmt: skip
        self.operations = operations
        self.writes = writes
        self.requests = requests
        self.results: list[Any] = []
        self.deliver = deliver
        self.tag = tag
        self.seen: tuple[int, float] | None = None


@dataclass
class Counts:
    """What a worker has done; that of a follower only refuses.

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


class Worker(ABC):
    """A thread that answers jobs in the order in which they come.

    What a kind of worker does is its method :meth:`_work`; an error that leaves it is the end of the worker. The
    constructor of a kind ends with :meth:`_start`.

    Args:
        what: it works for, in messages.
        most_waiting: a job with which more requests would wait is refused.

    Attributes:
        counts: what it has done.
        failure: why it has stopped; None: it has not, or it was closed.
        on_failure: is called after everyone who waits was told of a failure.
    """

    def __init__(self, what: str, *, most_waiting: int) -> None:
        self._what = what
        self._most_waiting = most_waiting
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._submitting = threading.Lock()
        self._submitted = 0  # requests
        self._taken = 0  # of them, by the thread
        self._closing = False
        self.counts = Counts()
        self.failure: BaseException | None = None
        self.on_failure: Callable[[BaseException], None] | None = None
        self._thread = threading.Thread(target=self._run, name=f"goalbound {what}", daemon=True)

    def _start(self) -> None:
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return self._submitted - self._taken

    @property
    def room(self) -> int:
        """How many requests may come now."""
        return max(self._most_waiting - self.waiting, 0)

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
                raise self._closed()
            if job.requests > self.room:
                self.counts.refused += job.requests
                raise StoreOverloaded(f"{self.waiting} requests wait already; ask again later")
            self._submitted += job.requests
            self._queue.put(job)

    def call(self, operation: Operation, *, writes: bool = True) -> Any:
        """Do one thing, and wait for it."""
        done = threading.Event()
        job = Job([operation], lambda jobs: done.set(), writes=writes)
        self.submit(job)
        while not done.wait(1.0):
            if not self.alive and not done.is_set():
                raise self.failure or self._closed()
        result = job.results[0]
        if isinstance(result, BaseException):
            raise result
        return result

    def _closed(self) -> StoreClosed:
        return StoreClosed(f"the {self._what} is closed; open it again")

    def close(self) -> None:
        """Do what waits, and end."""
        with self._submitting:
            if not self._closing:
                self._closing = True
                self._queue.put(None)
        if self._thread is not threading.current_thread():
            self._thread.join()

    # In the thread.

    @abstractmethod
    def _work(self) -> None:
        """Answer jobs until None comes."""

    def _next(self, seconds: float | None = None) -> Job | None:
        """The next job, which is waited for so long, by default until it comes; None: there will be no more. An error,
        :class:`queue.Empty`, if none has come."""
        job = self._queue.get_nowait() if seconds == 0.0 else self._queue.get(timeout=seconds)
        if job is not None:
            self._taken += job.requests
        return job

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        """Nobody works any more: everyone who waits is told."""
        with self._submitting:
            self.failure = as_failure(error)
        with suppress(Empty):
            while True:
                job = self._next(0.0)
                if job is not None:
                    job.results = [self.failure] * len(job.operations)
                    deliver([job])
        if self.on_failure is not None:
            self.on_failure(self.failure)


def deliver(batch: Sequence[Job]) -> None:
    """Whoever waits for these jobs is told that they are done, once for all that have the same function for it."""
    ports: dict[Any, list[Job]] = {}
    for job in batch:
        ports.setdefault(job.deliver, []).append(job)
    for told, jobs in ports.items():
        with suppress(Exception):  # whoever asked is gone; what was done is done
            told(jobs)


def as_failure(error: BaseException) -> BaseException:
    """Why a store has stopped: an error of stores, or any other as such."""
    if isinstance(error, StoreError):
        return error
    failure: StoreError = StorageFailed(f"the store has stopped ({type(error).__name__}); open it again")
    failure.__cause__ = error
    return failure
