"""Snapshots of an engine: kept, listed, and taken as the beginning of a log."""

import pytest

from goalbound.errors import StoreDamaged
from goalbound.store import compaction
from goalbound.store.snapshots import KEPT
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
