"""Snapshots of a store."""

import json

import numpy as np
import pytest

from goalbound import ContextBlind, LossScale, Support
from goalbound.baselines import uc_ssp
from goalbound.errors import InputError, StoreDamaged, StoreError
from goalbound.models.files.array_file import read_array_file, write_array_file
from goalbound.serve.store.log import SnapshotEntry
from goalbound.serve.store.snapshots import (
    KEPT,
    KIND,
    VERSION,
    digest_of,
    loadable,
    prune,
    read_snapshot,
    sha256_of,
    write_snapshot,
)
from tests.support.incidents_at_work import contexts
from tests.support.stores import drawing, learners, new_engine
from tests.support.units import in_units


@pytest.mark.parametrize("kind", ["greedy", "drawing", "optimistic"])
def test_what_was_read_from_a_snapshot_goes_on_to_the_bit(tmp_path, kind):
    engine = new_engine(tmp_path / "store", learners()[kind])
    engine.create("rival", drawing(), follows="incidents")
    for number, context in enumerate(contexts(6, 2)):
        engine.begin("incidents", context, "down", id=str(number))
    engine.observe("incidents", "1", 0.1, "down", step=1)
    engine.commit()
    entry = write_snapshot(engine.snapshots, engine.machine, seq=engine.seq, chain=engine.chain)
    machine = read_snapshot(engine.snapshots, entry)
    assert digest_of(machine) == digest_of(engine.machine)
    for one in (engine.machine, machine):
        case = one.find(1, "2")
        one.observe(case, 0.1, "goal" if case.action else "down")
        one.begin(1, "another", [0.5, 0.5], "down")
    assert digest_of(machine) == digest_of(engine.machine)
    engine.log.close()


def test_a_snapshot_that_is_not_as_it_was_written_is_refused(tmp_path):
    engine = new_engine(tmp_path / "store")
    entry = engine.snapshot()
    path = engine.snapshots / entry.file
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(StoreDamaged, match="not as it was written"):
        read_snapshot(engine.snapshots, entry)
    path.unlink()
    with pytest.raises(StoreDamaged, match="is missing"):
        read_snapshot(engine.snapshots, entry)
    with pytest.raises(StoreDamaged, match="is missing"):
        read_snapshot(engine.snapshots, entry._replace(file="../log.sqlite"))
    engine.log.close()


def test_a_file_that_is_listed_under_another_event_is_refused(tmp_path):
    engine = new_engine(tmp_path / "store")
    entry = engine.snapshot()
    with pytest.raises(StoreDamaged, match="taken after event 1, not 2"):
        read_snapshot(engine.snapshots, entry._replace(seq=2))
    engine.log.close()


def test_a_snapshot_of_version_1_is_read_unless_it_has_a_shadow_case(tmp_path):
    engine = new_engine(tmp_path / "store")
    engine.begin("incidents", [1.0, 0.0], "down", id="a")
    engine.commit()
    path = engine.snapshots / engine.snapshot().file
    header, arrays = read_array_file(path, kind=KIND, versions=[VERSION], arrays={"cases": "|u1", "learner_1": "|u1"})
    header["version"] = 1
    header["learners"]["1"] |= {"mixing": 0.0, "seed": 0, "learns_from_shadow": True}
    [[*values, episodes]] = json.loads(arrays["cases"].tobytes())["cases"]

    def written(shadow):
        cases = json.dumps({"cases": [[*values, shadow, episodes]]}).encode()
        write_array_file(path, header, arrays | {"cases": np.frombuffer(cases, np.uint8)}, any_size=True)
        return SnapshotEntry(engine.seq, engine.chain, path.name, sha256_of(path))

    assert digest_of(read_snapshot(engine.snapshots, written(shadow=False))) == digest_of(engine.machine)
    with pytest.raises(StoreError, match="this snapshot is of a shadow case, which this version cannot replay: export"):
        read_snapshot(engine.snapshots, written(shadow=True))
    engine.log.close()


def test_only_the_newest_snapshots_are_kept_and_drafts_are_removed(tmp_path):
    engine = new_engine(tmp_path / "store")
    for number in range(6):
        engine.begin("incidents", [1.0, 0.0], "down", id=str(number))
        engine.snapshot()
        engine.snapshot()  # nothing is new: the same one
    entries = engine.log.snapshots()
    assert [entry.seq for entry in entries] == [7, 6, 5]
    assert len(entries) == KEPT
    (engine.snapshots / ".draft").write_bytes(b"left by a crash")
    prune(engine.snapshots, entries)
    assert sorted(path.name for path in engine.snapshots.iterdir()) == sorted(entry.file for entry in entries)
    engine.log.close()


def test_a_learner_whose_file_has_not_all_of_it_is_refused():
    inside = uc_ssp(Support.full(2, 2), loss_floor=0.1)
    loadable(inside)
    for learner in (ContextBlind(inside), in_units(ContextBlind(inside), LossScale("min", 10.0))):
        with pytest.raises(InputError, match="a ContextBlind is not in the file of a learner"):
            loadable(learner)
