"""Checking a store."""

import sqlite3

import pytest

from goalbound.errors import ArgumentError, StoreDamaged, StoreError
from goalbound.serve.store.audit import verify
from goalbound.serve.store.files import DATABASE, SNAPSHOTS
from tests.support.incidents_at_work import greedy
from tests.support.stores import Handled, open_store


@pytest.fixture
def folder(tmp_path):
    with open_store(tmp_path / "store") as store:
        handled = Handled()
        handled.go_on(store.create("incidents", greedy()), 20)
        store.snapshot()
        handled.go_on(store.learner("incidents"), 10)
    return tmp_path / "store"


def test_a_store_is_checked_beside_its_writer(folder):
    with open_store(folder) as store:
        found = verify(folder)
        assert (found.events, found.replayed, found.snapshots, found.notes) == (31, 31, 2, ())
        assert {"seq": found.seq, "chain": found.chain, "state": found.state} == store.digest()


def test_progress_is_said(folder, monkeypatch):
    seen = []
    with open_store(folder) as store:
        Handled(seed=9).go_on(store.create("other", greedy()), 2)
    verify(folder, progress=lambda done, of: seen.append((done, of)))
    assert seen == []  # every thousand events


def test_progress_that_cannot_be_called_is_an_error_that_says_so(folder):
    with pytest.raises(ArgumentError, match="progress is 'x'; it is a function of the events done"):
        verify(folder, progress="x")


def test_a_snapshot_that_is_lost_is_only_noted(folder):
    for path in (folder / SNAPSHOTS).iterdir():
        path.write_bytes(b"damaged")
    found = verify(folder)
    assert found.snapshots == 0
    assert len(found.notes) == 2


def test_a_snapshot_with_more_reasons_than_are_counted_now_is_the_state_of_its_log(tmp_path, monkeypatch):
    """Versions up to 1.0.0 counted every reason by name."""
    monkeypatch.setattr("goalbound.learners.episode.MOST_REASONS", 10**9)
    with open_store(tmp_path / "store") as store:
        learner = store.create("incidents", greedy())
        for number in range(120):
            learner.begin([1.0, 0.0], "down", id=f"c{number}")
            learner.abandon(f"c{number}", f"reason {number}")
        assert len(learner.status()["abandoned"]) == 120
    monkeypatch.undo()
    assert verify(tmp_path / "store").snapshots == 1
    with open_store(tmp_path / "store") as store:
        assert len(store.learner("incidents").status()["abandoned"]) == 101


def test_a_changed_event_is_found(folder):
    connection = sqlite3.connect(folder / DATABASE)
    connection.execute("UPDATE event SET time = time + 1 WHERE seq = 17")
    connection.commit()
    connection.close()
    with pytest.raises(StoreDamaged, match="event 17 is not as it was written"):
        verify(folder)


def test_a_folder_without_a_store_is_said_to_be(tmp_path):
    with pytest.raises(StoreError, match="there is no store"):
        verify(tmp_path)
