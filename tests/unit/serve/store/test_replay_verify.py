"""Checking a store."""

import sqlite3

import pytest

from goalbound.errors import ArgumentError, ReplayDifference, StoreDamaged, StoreError
from goalbound.learners.learner import RidgeLearner
from goalbound.serve.store.files import DATABASE
from goalbound.serve.store.machine import Machine
from goalbound.serve.store.replay import check_upgrade, software, verify
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


def test_progress_that_cannot_be_called_is_an_error_that_says_so(folder):
    with pytest.raises(ArgumentError, match="progress is 'x'; it is a function of the events done"):
        verify(folder, progress="x")


def change(folder, statement):
    """Change the tables behind the store's back."""
    connection = sqlite3.connect(folder / DATABASE)
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_a_snapshot_that_is_lost_is_only_noted(folder):
    change(folder, "UPDATE snapshot_part SET bytes = x'00'")
    found = verify(folder)
    assert found.snapshots == 0
    assert len(found.notes) == 2


def test_a_snapshot_of_another_state_is_damage(folder, monkeypatch):
    monkeypatch.setattr("goalbound.serve.store.replay.machine_of", lambda files: Machine())
    with pytest.raises(StoreDamaged, match="holds another state than replaying"):
        verify(folder)


def test_before_an_upgrade_the_last_events_are_replayed_from_the_snapshot_before_them(folder, monkeypatch):
    assert check_upgrade(folder, events=10) == (10, software())
    assert check_upgrade(folder, events=11) == (31, software())
    assert check_upgrade(folder)[0] == 31
    choose = RidgeLearner._choose

    def other(learner, episode_state, state, allowed):  # as a version that differs in a last bit
        pair = choose(learner, episode_state, state, allowed)
        return pair ^ 1 if state == 0 else pair

    monkeypatch.setattr(RidgeLearner, "_choose", other)
    with pytest.raises(ReplayDifference, match="the log says that action"):
        check_upgrade(folder, events=10)


def test_a_folder_without_a_store_is_said_to_be(tmp_path):
    with pytest.raises(StoreError, match="there is no store"):
        verify(tmp_path)
