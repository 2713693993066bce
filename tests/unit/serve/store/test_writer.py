"""The thread that applies and writes."""

import contextlib
import threading

import pytest

from goalbound.errors import CaseNotFound, StorageFailed, StorageFull, StoreLocked, StoreOverloaded
from goalbound.learners.learner import RidgeLearner
from goalbound.serve.store.log import SqliteLog
from goalbound.serve.store.writer import Job, Writer
from tests.support.stores import drawing, new_engine

CALM = [1.0, 0.0]


class Space:
    left = True

    def __call__(self) -> bool:
        return self.left


@pytest.fixture
def engine(tmp_path):
    return new_engine(tmp_path / "store")


@pytest.fixture
def writer(engine):
    writer = Writer(engine, most_waiting=64, has_space=Space(), snapshot_events=10**9, snapshot_seconds=1e9)
    yield writer
    writer.close()


def held(writer):
    """The thread waits until the event is set, so that what is submitted meanwhile becomes one batch."""
    go = threading.Event()
    writer.submit(Job([lambda engine: go.wait(20)], lambda jobs: None, writes=False))
    while writer.waiting:
        pass
    return go


def submit(writer, *operations, writes=True):
    done = threading.Event()
    job = Job(operations, lambda jobs: done.set(), writes=writes)
    writer.submit(job)
    return job, done


def test_what_gathers_is_committed_together_before_anyone_is_answered(writer, engine):
    go = held(writer)
    begun = [
        submit(writer, lambda one, id=str(number): one.begin("incidents", CALM, "down", id=id)) for number in range(20)
    ]
    commits = writer.counts.commits
    go.set()
    for job, done in begun:
        assert done.wait(10)
        assert job.results[0].case
    assert writer.counts.commits == commits + 1
    assert writer.counts.committed == 20
    assert engine.uncommitted == 0


def test_an_error_of_one_request_is_its_own(writer):
    go = held(writer)
    job, done = submit(
        writer,
        lambda one: one.begin("incidents", CALM, "down", id="a"),
        lambda one: one.act("incidents", "nobody"),
        lambda one: one.observe("incidents", "a", 0.1, "down", step=1),
    )
    go.set()
    assert done.wait(10)
    assert [type(one).__name__ for one in job.results] == ["Answer", "CaseNotFound", "Answer"]
    with pytest.raises(CaseNotFound):
        writer.call(lambda one: one.act("incidents", "nobody"))


def test_after_an_error_that_has_changed_something_the_others_are_kept_and_the_rest_is_rebuilt(
    writer, engine, monkeypatch
):
    choose = RidgeLearner._choose

    def fail_in_degraded(learner, episode_state, state, allowed):
        if state == 1:
            raise ZeroDivisionError("no plan")
        return choose(learner, episode_state, state, allowed)

    monkeypatch.setattr(RidgeLearner, "_choose", fail_in_degraded)
    go = held(writer)
    job, done = submit(
        writer,
        lambda one: one.begin("incidents", CALM, "down", id="a"),
        lambda one: one.begin("incidents", CALM, "down", id="b"),
        lambda one: one.observe("incidents", "a", 0.4, "degraded", taken="page", step=1),
        lambda one: one.observe("incidents", "b", 0.1, "down", step=1),
    )
    go.set()
    assert done.wait(10)
    assert [type(one).__name__ for one in job.results] == ["Answer", "Answer", "ZeroDivisionError", "Answer"]
    assert engine.rebuilt == 1
    assert [event.case for event in engine.log.events(1)] == [1, 2, 2]  # the failed one is not there
    digest = writer.call(lambda one: one.digest(), writes=False)
    writer.call(lambda one: one.rebuild())
    assert writer.call(lambda one: one.digest(), writes=False) == digest


def test_without_space_nothing_is_written_and_reading_goes_on(writer):
    writer.call(lambda one: one.begin("incidents", CALM, "down", id="a"))
    writer._has_space.left = False
    with pytest.raises(StorageFull, match="no space left"):
        writer.call(lambda one: one.observe("incidents", "a", 0.1, "down", step=1))
    assert writer.call(lambda one: one.act("incidents", "a"), writes=False).step == 0
    writer._has_space.left = True
    assert writer.call(lambda one: one.observe("incidents", "a", 0.1, "down", step=1)).step == 1


def test_a_commit_without_space_has_not_happened(writer, engine, monkeypatch):
    append = engine.log.append

    def full(*arguments, **more):
        raise StorageFull("full")

    writer.call(lambda one: one.begin("incidents", CALM, "down", id="a"))
    digest = writer.call(lambda one: one.digest(), writes=False)
    monkeypatch.setattr(engine.log, "append", full)
    go = held(writer)
    write, written = submit(writer, lambda one: one.observe("incidents", "a", 0.1, "down", step=1))
    read, seen = submit(writer, lambda one: one.act("incidents", "a"), writes=False)
    other, refused = submit(writer, lambda one: one.observe("incidents", "a", 0.2, "down", step=1))
    go.set()
    assert written.wait(10)
    assert seen.wait(10)
    assert refused.wait(10)
    assert isinstance(write.results[0], StorageFull)
    assert read.results[0].step == 0  # nobody sees a step that did not happen
    assert isinstance(other.results[0], StorageFull)  # nor is in conflict with it
    monkeypatch.setattr(engine.log, "append", append)
    assert writer.call(lambda one: one.digest(), writes=False) == digest
    assert writer.call(lambda one: one.observe("incidents", "a", 0.1, "down", step=1)).repeated is False


def test_after_a_failure_of_the_disk_nobody_is_answered_any_more(writer, engine, monkeypatch):
    failures = []
    writer.on_failure = failures.append

    def broken(*arguments, **more):
        raise StorageFailed("the disk is gone")

    monkeypatch.setattr(engine.log, "append", broken)
    go = held(writer)
    first, done = submit(writer, lambda one: one.begin("incidents", CALM, "down", id="a"))
    go.set()
    assert done.wait(10)
    assert isinstance(first.results[0], StorageFailed)
    writer._thread.join(10)
    assert not writer.alive
    assert failures == [writer.failure]
    with pytest.raises(StorageFailed, match="the disk is gone"):
        writer.call(lambda one: one.begin("incidents", CALM, "down", id="b"))


def test_whoever_is_told_of_a_failure_may_open_the_store_again(writer, engine, tmp_path):
    opened, done = [], threading.Event()

    def open_again(jobs):
        with contextlib.suppress(StoreLocked):
            opened.append(SqliteLog(tmp_path / "store"))
        done.set()

    def broken(engine):
        raise StorageFailed("the disk is gone")

    writer.submit(Job([broken], open_again))
    assert done.wait(10)
    assert [log.last()[0] for log in opened] == [1]
    opened[0].close()


def test_no_more_requests_wait_than_may(writer):
    go = held(writer)
    for _ in range(64):
        submit(writer, lambda one: None)
    with pytest.raises(StoreOverloaded, match="64 requests wait already"):
        submit(writer, lambda one: None)
    assert writer.counts.refused == 1
    go.set()


def test_snapshots_are_taken_after_so_many_events(engine):
    writer = Writer(engine, most_waiting=64, has_space=Space(), snapshot_events=5, snapshot_seconds=1e9)
    for number in range(12):
        writer.call(lambda one, id=str(number): one.begin("incidents", CALM, "down", id=id))
    taken = writer.call(lambda one: one.log.snapshots(), writes=False)
    writer.close()
    assert writer.counts.snapshots >= len(taken) >= 1
    assert taken[0] >= 5


def test_an_error_of_one_who_only_reads_is_the_answer_and_nothing_is_rebuilt(writer, engine):
    writer.call(lambda one: one.begin("incidents", CALM, "down", id="a"))
    with pytest.raises(AttributeError, match="no_such"):
        writer.call(lambda one: one.machine.named("incidents").learner.no_such, writes=False)
    assert engine.rebuilt == 0

    def both(one):
        one.observe("incidents", "a", 0.1, "down", step=1)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):  # whoever said that they only read has written
        writer.call(both, writes=False)
    assert engine.rebuilt == 1


@pytest.mark.parametrize(
    "inside", [lambda one: one.snapshot().seq, lambda one: one.create("other", drawing())], ids=["snapshot", "create"]
)
def test_what_was_committed_within_a_batch_stays_when_its_rest_has_no_space(writer, engine, monkeypatch, inside):
    append, times = engine.log.append, []

    def full(*arguments, **more):
        times.append(1)
        if len(times) == 2:
            raise StorageFull("full")
        append(*arguments, **more)

    for id in "ab":
        writer.call(lambda one, id=id: one.begin("incidents", CALM, "down", id=id))
    monkeypatch.setattr(engine.log, "append", full)
    go = held(writer)
    asked = [
        submit(writer, lambda one: one.observe("incidents", "a", 0.1, "down", step=1)),
        submit(writer, inside),
        submit(writer, lambda one: one.observe("incidents", "b", 0.1, "down", step=1)),
    ]
    go.set()
    assert all(done.wait(10) for _, done in asked)
    first, _, last = (job.results[0] for job, _ in asked)
    assert first.step == 1
    assert isinstance(last, StorageFull)
    assert [writer.call(lambda one, id=id: one.act("incidents", id), writes=False).step for id in "ab"] == [1, 0]
