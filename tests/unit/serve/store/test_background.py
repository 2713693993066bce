"""Snapshots by a copy of the process."""

import os
import time

import pytest

from goalbound.serve.store import background
from goalbound.serve.store.background import BackgroundSnapshot
from goalbound.serve.store.snapshots import digest_of, read_snapshot

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


@pytest.fixture
def engine(engine):
    engine.snapshots.mkdir()
    return engine


def waited(copy):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        done, entry = copy.done()
        if done:
            return entry
        time.sleep(0.01)
    raise AssertionError("it has not ended")


def test_it_is_of_the_state_as_it_was_when_it_was_begun(engine):
    digest = digest_of(engine.machine)
    copy = BackgroundSnapshot(engine.snapshots, engine.machine, seq=engine.seq, chain=engine.chain)
    engine.begin("incidents", [0.5, 0.5], "down", id="later")
    entry = waited(copy)
    assert digest_of(read_snapshot(engine.snapshots, entry)) == digest
    assert entry.seq == 6


def test_a_copy_that_fails_or_never_ends_leaves_nothing(engine, monkeypatch):
    def fail(*arguments, **more):
        raise OSError("no space")

    monkeypatch.setattr(background, "write_snapshot", fail)
    assert waited(BackgroundSnapshot(engine.snapshots, engine.machine, seq=1, chain=engine.chain)) is None
    monkeypatch.setattr(background, "write_snapshot", lambda *_, **__: time.sleep(100))
    monkeypatch.setattr(background, "LONGEST", 0.05)
    assert waited(BackgroundSnapshot(engine.snapshots, engine.machine, seq=1, chain=engine.chain)) is None
    BackgroundSnapshot(engine.snapshots, engine.machine, seq=1, chain=engine.chain).end()


def test_a_copy_that_somebody_else_has_waited_for_has_ended(engine):
    """As where SIGCHLD is ignored, or another thread waits for any child."""
    copy = BackgroundSnapshot(engine.snapshots, engine.machine, seq=engine.seq, chain=engine.chain)
    os.waitpid(copy._pid, 0)
    entry = waited(copy)
    assert digest_of(read_snapshot(engine.snapshots, entry)) == digest_of(engine.machine)


def test_a_number_that_may_be_of_another_process_by_now_is_not_ended(engine, monkeypatch):
    copy = BackgroundSnapshot(engine.snapshots, engine.machine, seq=engine.seq, chain=engine.chain)
    os.waitpid(copy._pid, 0)
    monkeypatch.setattr(os, "kill", None)
    copy.end()
