"""When snapshots are taken, and by whom."""

import os
import time

import pytest

from goalbound.errors import StorageFull
from goalbound.serve.store.snapshot_schedule import SnapshotSchedule
from goalbound.serve.store.worker import Counts
from goalbound.serve.store.writer import Writer

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


@needs_fork
def test_with_many_cases_the_writer_goes_on_while_it_is_taken(engine, monkeypatch):
    monkeypatch.setattr("goalbound.serve.store.snapshot_schedule._MANY_CASES", 3)
    writer = Writer(engine, most_waiting=9, has_space=lambda: True, snapshot_events=3, snapshot_seconds=1e9)
    end = time.monotonic() + 60
    while not writer.counts.snapshots and time.monotonic() < end:
        writer.call(lambda one: one.act("incidents", "1"), writes=False)
        time.sleep(0.01)
    writer.close()
    assert engine.log.snapshots()[0].seq == 6
    engine.rebuild()
    assert engine.restored.snapshot == 6


@needs_fork
def test_without_memory_for_a_copy_the_writer_takes_the_snapshot_itself(engine, monkeypatch):
    def fail():
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr("goalbound.serve.store.snapshot_schedule._MANY_CASES", 1)
    monkeypatch.setattr(os, "fork", fail)
    files = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    writer = Writer(engine, most_waiting=9, has_space=lambda: True, snapshot_events=1, snapshot_seconds=1e9)
    writer.call(lambda one: one.begin("incidents", [0.5, 0.5], "down", id="later"))
    writer.close()
    assert writer.failure is None
    assert engine.snapshot_seq > 0
    assert not files or len(os.listdir("/proc/self/fd")) <= files


class Sending:
    """An upload that ends when it is told to."""

    def __init__(self, entry):
        self.entry, self.found = entry, (False, None)

    def done(self):
        return self.found


@pytest.fixture
def sent(engine, monkeypatch):
    """The uploads that were begun."""
    found = []

    def begin(entry, folder):
        found.append(Sending(entry))
        return found[-1]

    monkeypatch.setattr(engine.log, "begin_upload", begin)
    return found


def test_a_snapshot_is_listed_once_it_was_sent_and_one_is_sent_at_a_time(engine, sent):
    counts = Counts()
    schedule = SnapshotSchedule(engine, counts, events=1, seconds=1e9)
    schedule.go_on()
    engine.begin("incidents", [0.5, 0.5], "down", id="later")
    engine.commit()
    schedule.go_on()
    assert (len(sent), counts.snapshots, engine.log.snapshots()) == (1, 0, [])
    sent[0].found = True, sent[0].entry
    schedule.go_on()
    assert (counts.snapshots, [one.seq for one in engine.log.snapshots()]) == (1, [6])
    assert engine.snapshot_seq == 6
    counts.snapshot_seconds = 0.0  # it is not too soon for the next one
    schedule.go_on()
    assert [one.entry.seq for one in sent] == [6, 7]


def test_one_that_was_not_sent_is_not_listed(engine, sent):
    counts = Counts()
    schedule = SnapshotSchedule(engine, counts, events=1, seconds=1e9)
    schedule.go_on()
    sent[0].found = True, None
    schedule.go_on()
    assert (counts.snapshots, engine.log.snapshots(), engine.snapshot_seq) == (1, [], 0)


def test_one_that_is_older_than_what_was_taken_meanwhile_is_not_listed(engine, sent):
    schedule = SnapshotSchedule(engine, Counts(), events=1, seconds=1e9)
    schedule.go_on()
    engine.begin("incidents", [0.5, 0.5], "down", id="later")
    engine.snapshot()
    (engine.snapshots / sent[0].entry.file).write_bytes(b"as if it had not been removed")
    sent[0].found = True, sent[0].entry
    schedule.go_on()
    assert [one.seq for one in engine.log.snapshots()] == [7]
    assert engine.snapshot_seq == 7


def test_without_space_there_is_no_snapshot_and_no_error(engine, sent, monkeypatch):
    def full(*arguments):
        raise StorageFull("no space")

    counts = Counts()
    schedule = SnapshotSchedule(engine, counts, events=1, seconds=1e9)
    schedule.go_on()
    sent[0].found = True, sent[0].entry
    with monkeypatch.context() as patched:
        patched.setattr(engine.log, "set_snapshots", full)
        schedule.go_on()
    monkeypatch.setattr("goalbound.serve.store.compaction.write_snapshot", lambda *_, **__: full())
    schedule.take()
    assert (counts.snapshots, engine.log.snapshots(), engine.snapshot_seq) == (2, [], 0)
