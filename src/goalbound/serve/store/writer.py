"""The one thread that applies requests and writes: what has gathered while the disk was busy is one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable
from queue import Empty
from typing import Any

from goalbound.errors import InputError, StorageFull, StoreError
from goalbound.serve.store.engine import Engine
from goalbound.serve.store.machine import Poisoned
from goalbound.serve.store.snapshot_schedule import SnapshotSchedule
from goalbound.serve.store.worker import MOST_BATCH, Job, Operation, Worker, as_failure, deliver

_IDLE_SECONDS = 0.5
_WAIT_SHARE, _LONGEST_WAIT = 2.0, 0.002  # of what a commit takes, and in seconds: how long others are waited for


class Writer(Worker):
    """Applies jobs to an engine, and writes what comes of them.

    Args:
        engine: what it applies them to; nobody else uses it.
        most_waiting: a job with which more requests would wait is refused.
        has_space: whether the disk has space; without it nothing is written.
        snapshot_events, snapshot_seconds: a snapshot is taken after so many events, or after so long if there were any.
    """

    def __init__(
        self, engine: Engine, *, most_waiting: int, has_space: Callable[[], bool], snapshot_events: int,
        snapshot_seconds: float,
    ) -> None:  # fmt: skip
        super().__init__("store", most_waiting=most_waiting)
        self._engine = engine
        self._has_space = has_space
        self._uncommitted: list[tuple[Job, int]] = []  # results that are said only if the next commit succeeds
        engine.on_committed = self._uncommitted.clear
        self._answered = 0  # requests of the last batch
        self._commit_takes = 0.0  # about so many seconds
        self.snapshots = SnapshotSchedule(engine, self.counts, events=snapshot_events, seconds=snapshot_seconds)
        self._start()

    # In the thread.

    def _run(self) -> None:
        try:
            super()._run()
        finally:
            self.snapshots.end()

    def _work(self) -> None:
        while True:
            batch, ended = self._gather()
            if batch:
                self._do(batch)
            if ended:
                return
            self.snapshots.go_on()
            self._engine.log.tidy(idle=not batch)
            self._engine.head.note(self._engine.seq, self._engine.chain)

    def _gather(self) -> tuple[list[Job], bool]:
        """The jobs that wait, the first of which is waited for; and whether there will be no more.

        Whoever was answered last will soon ask again. If fewer have by now, the rest is waited for, as long as two
        commits take: else half of them would be committed alone, the others had to wait for it, and both threads would
        wait for each other twice as often.
        """
        batch: list[Job] = []
        count, asked, until = 0, 0, 0.0
        try:
            job = self._next(_IDLE_SECONDS)
            while job is not None:
                batch.append(job)
                count += len(job.operations)
                asked += job.requests
                if count >= MOST_BATCH:
                    return batch, False
                wait = 0.0
                if asked < self._answered and self._queue.empty():
                    now = time.perf_counter()
                    until = until or now + min(_WAIT_SHARE * self._commit_takes, _LONGEST_WAIT)
                    wait = max(until - now, 0.0)
                job = self._next(wait)
        except Empty:
            return batch, False
        return batch, True

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
            told = as_failure(error)
            self._withdraw(told)
            for job in batch:
                job.results += [told] * (len(job.operations) - len(job.results))
            raise
        finally:
            self._answered = sum(job.requests for job in batch)
            deliver(batch)

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
        count = self._engine.uncommitted
        begin = time.perf_counter()
        self._engine.commit()
        if count:
            took = time.perf_counter() - begin
            counts = self.counts
            counts.commits += 1
            counts.committed += count
            counts.commit_seconds += took
            counts.slowest_commit = max(counts.slowest_commit, took)
            self._commit_takes += 0.1 * (took - self._commit_takes)

    def _fail(self, error: BaseException) -> None:
        self._engine.log.leave()  # before anyone is told
        super()._fail(error)
