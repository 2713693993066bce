"""When snapshots are taken, and by whom."""

import os
import time

import pytest

from goalbound.store.writer import Writer
from tests.support.incidents_at_work import contexts
from tests.support.stores import drawing, new_engine

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


@pytest.fixture
def engine(tmp_path):
    engine = new_engine(tmp_path / "store", drawing())
    for number, context in enumerate(contexts(5, 0)):
        engine.begin("incidents", context, "down", id=str(number))
    engine.commit()
    yield engine
    engine.log.close()


@needs_fork
def test_with_many_cases_the_writer_goes_on_while_it_is_taken(engine, monkeypatch):
    monkeypatch.setattr("goalbound.store.snapshot_schedule._MANY_CASES", 3)
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

    monkeypatch.setattr("goalbound.store.snapshot_schedule._MANY_CASES", 1)
    monkeypatch.setattr(os, "fork", fail)
    files = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    writer = Writer(engine, most_waiting=9, has_space=lambda: True, snapshot_events=1, snapshot_seconds=1e9)
    writer.call(lambda one: one.begin("incidents", [0.5, 0.5], "down", id="later"))
    writer.close()
    assert writer.failure is None
    assert engine.snapshot_seq > 0
    assert not files or len(os.listdir("/proc/self/fd")) <= files
