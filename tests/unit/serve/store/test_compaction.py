"""Snapshots of an engine: kept, listed, and taken as the beginning of a log."""

import sqlite3

import pytest

from goalbound.errors import StoreDamaged
from goalbound.serve.store import compaction
from goalbound.serve.store.snapshots import KEPT
from tests.support.stores import new_engine


@pytest.fixture
def engine(tmp_path):
    engine = new_engine(tmp_path / "store")
    yield engine
    engine.log.close()


def test_the_newest_snapshots_are_kept_and_one_that_is_there_is_not_taken_again(engine):
    for number in range(KEPT + 2):
        engine.begin("incidents", [1.0, 0.0], "down", id=f"c{number}")
        entry = engine.snapshot()
        assert engine.snapshot() == entry
    listed = engine.log.snapshots()
    assert [one.seq for one in listed] == list(range(engine.seq, engine.seq - KEPT, -1))
    assert {path.name for path in engine.snapshots.iterdir()} == {one.file for one in listed}


def test_nothing_is_removed_where_the_snapshot_holds_another_state(engine, monkeypatch):
    engine.begin("incidents", [1.0, 0.0], "down", id="a")
    engine.commit()
    entry, digests = engine.snapshot(), iter(["one", "other"])
    monkeypatch.setattr(compaction, "digest_of", lambda machine: next(digests))
    with pytest.raises(StoreDamaged, match="nothing was removed"):
        engine.compact()
    assert engine.log.base().seq == 0
    assert engine.log.chain_at(entry.seq) == entry.chain


@pytest.mark.parametrize("fails", ["VACUUM", "DELETE FROM snapshot"])
def test_without_space_after_the_events_were_removed_it_is_done_and_the_next_time_completes_it(
    engine, monkeypatch, caplog, fails
):
    engine.begin("incidents", [1.0, 0.0], "down", id="a")
    engine.snapshot()
    for step in range(1, 300):
        engine.observe("incidents", "a", 0.1, "down", taken="restart", step=step)
    engine.snapshot()
    digest, run = engine.digest(), engine.log._run
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL

    def without_space(statement, values=()):
        if statement == fails:
            raise full
        return run(statement, values)

    monkeypatch.setattr(engine.log, "_run", without_space)
    assert engine.compact() == digest["seq"]
    assert ("another compact makes the file smaller" in caplog.text) == (fails == "VACUUM")
    assert (engine.log.base().seq, list(engine.log.events(0))) == (digest["seq"], [])
    monkeypatch.undo()
    size = engine.log.path.stat().st_size
    engine.rebuild()
    assert engine.digest() == digest
    assert engine.compact() == 0
    assert engine.log.path.stat().st_size < size or fails != "VACUUM"
    assert [one.seq for one in engine.log.snapshots()] == [digest["seq"]]
    assert len(list(engine.snapshots.iterdir())) == 1
