"""Threads that answer jobs; what writers and followers do with them is tested in their own files."""

import threading

import pytest

from goalbound.errors import ArgumentError, StorageFailed, StoreClosed, StoreDamaged, StoreOverloaded
from goalbound.serve.store.worker import Job, Worker, as_failure, deliver


class Calculator(Worker):
    """Applies operations to a number."""

    def __init__(self, most_waiting=2):
        super().__init__("calculator", most_waiting=most_waiting)
        self.go_on = threading.Event()
        self._start()

    def _work(self):
        self.go_on.wait(60)
        while (job := self._next()) is not None:
            job.results = [operation(7) for operation in job.operations]
            deliver([job])


def test_a_job_is_answered_and_what_waits_is_answered_before_the_end():
    worker, told = Calculator(), []
    jobs = [Job([lambda n: n + 1, lambda n: n + 2], told.extend) for _ in range(2)]
    for job in jobs:
        worker.submit(job)
    assert worker.waiting == 2
    with pytest.raises(StoreOverloaded, match="2 requests wait already"):
        worker.submit(Job([lambda n: n], told.extend))
    assert worker.counts.refused == 1
    worker.go_on.set()
    worker.close()
    assert told == jobs
    assert [job.results for job in jobs] == [[8, 9], [8, 9]]
    assert (worker.alive, worker.failure) == (False, None)
    with pytest.raises(StoreClosed, match="the calculator is closed"):
        worker.call(lambda n: n)
    worker.close()  # once more changes nothing


def test_requests_of_one_job_count_each():
    worker, told = Calculator(most_waiting=4), []
    worker.submit(Job([lambda n: n] * 5, told.extend, requests=3))
    assert (worker.waiting, worker.room) == (3, 1)
    with pytest.raises(StoreOverloaded, match="3 requests wait already"):
        worker.submit(Job([lambda n: n] * 2, told.extend, requests=2))
    assert (worker.waiting, worker.counts.refused) == (3, 2)
    worker.submit(Job([], told.extend))
    assert worker.room == 0
    worker.go_on.set()
    worker.close()
    assert (worker.waiting, worker.room, told[0].results) == (0, 4, [7] * 5)


def test_a_call_returns_the_result_or_raises_it():
    worker = Calculator()
    worker.go_on.set()
    assert worker.call(lambda n: 2 * n) == 14
    with pytest.raises(KeyError, match="seven"):
        worker.call(lambda n: KeyError("seven"))
    worker.close()


def test_after_a_failure_everyone_who_waits_is_told_and_then_the_owner():
    worker, told, failures = Calculator(), [], []
    worker.on_failure = lambda failure: failures.append((failure, len(told)))
    jobs = [Job([lambda n: n / 0], told.extend), Job([lambda n: n, lambda n: n], told.extend)]
    for job in jobs:
        worker.submit(job)
    worker.go_on.set()
    worker._thread.join()
    assert failures == [(worker.failure, 1)]
    assert isinstance(worker.failure, StorageFailed)
    assert "ZeroDivisionError" in str(worker.failure)
    assert told == jobs[1:]  # of the one in which it failed the worker says itself what became of it
    assert jobs[1].results == [worker.failure] * 2
    assert worker.waiting == 0
    with pytest.raises(StorageFailed, match="the store has stopped"):
        worker.submit(jobs[0])


def test_whoever_is_gone_keeps_nobody_else_from_being_told():
    told = []

    def gone(jobs):
        raise RuntimeError("the loop is closed")

    jobs = [Job([], gone), Job([], told.append), Job([], told.append)]
    deliver(jobs)
    assert told == [jobs[1:]]  # once for both


def test_an_error_of_a_store_is_a_failure_as_it_is():
    damaged = StoreDamaged("a page")
    assert as_failure(damaged) is damaged
    for error in (MemoryError(), ArgumentError("nobody gave this one")):
        other = as_failure(error)
        assert isinstance(other, StorageFailed)
        assert other.__cause__ is error
