"""What every log of events does, in SQLite and in PostgreSQL."""

import pytest

from goalbound.errors import StoreDamaged, StoreError
from goalbound.serve.store.locations import location_of
from goalbound.serve.store.log import SnapshotEntry
from goalbound.serve.store.snapshots import sha256_of
from tests.support.stores import some_events


def test_what_was_appended_is_read_back_to_the_bit_in_order(log, place):
    events = some_events(150)  # more than one statement of SQLite takes
    events[-1] = events[-1]._replace(loss=5e-324, propensity=1 / 3, body=b'{"a":"\xc3\xa9\\u0000"}', others=b"{}")
    log.append(events, cases=[(1, 1, "one"), (2, 1, "two")])
    assert list(log.events(0)) == events
    assert [tuple(map(type, event)) for event in log.events(0)] == [
        (*(int,), int, *map(type, event[2:])) for event in events
    ]
    assert list(log.events(10, 3)) == events[10:13]
    assert list(log.events(10, 0)) == []
    assert log.last() == (150, events[-1].chain)
    assert log.chain_at(7) == events[6].chain
    assert log.chain_at(151) is None
    assert log.step_of(3, 1) == events[2]
    assert log.step_of(3, 2) is None
    assert log.events_of(3) == [events[2]]
    assert (log.case_number(1, "two"), log.case_number(2, "two"), log.case_id(1), log.last_case()) == (
        2,
        None,
        "one",
        2,
    )
    reader = location_of(place).read_only_log()  # beside the one that writes
    assert list(reader.events(0)) == events
    with pytest.raises(StoreError):
        reader.append(some_events(1, after=150))
    reader.close()
    assert log.last()[0] == 150


def test_an_empty_log_has_no_events_and_no_cases(log):
    assert log.last() == log.base() == (0, bytes(16))
    assert list(log.events(0)) == []
    assert (log.last_case(), log.snapshots()) == (0, [])
    with pytest.raises(StoreDamaged, match="id of case 7 is missing"):
        log.case_id(7)


def test_all_of_a_batch_is_written_or_nothing(log):
    log.append(some_events(2))
    bad = [*some_events(2, after=2), some_events(1)[0]._replace(seq=9)]  # case 1, step 1 is there already
    with pytest.raises(StoreDamaged, match=r"(?i)unique"):
        log.append(bad, cases=[(1, 1, "one")])
    assert log.last()[0] == 2
    assert log.case_number(1, "one") is None
    log.append(some_events(2, after=2), cases=[(1, 1, "one")])  # and it goes on
    with pytest.raises(StoreDamaged, match=r"(?i)unique"):
        log.append(some_events(1, after=4), cases=[(2, 1, "one")])  # the id is taken
    assert log.last()[0] == 4


def test_events_before_a_place_can_be_removed_and_the_rest_stays(log):
    events = some_events(20)
    log.append(events)
    assert log.rebase(15) == 15
    assert list(log.events(0)) == events[15:]
    assert log.base() == (15, events[14].chain)
    assert log.chain_at(15) == events[14].chain
    assert log.rebase(20) == 5
    assert log.last() == (20, events[19].chain)
    with pytest.raises(StoreError, match="there is no event 99"):
        log.rebase(99)


def test_learners_snapshots_and_notes_are_kept(log):
    log.add_learner(1, b"file")
    log.add_learner(1, b"another\x00")  # a crash came before its event
    assert log.learner_file(1) == b"another\x00"
    with pytest.raises(StoreDamaged, match="learner 2 is missing"):
        log.learner_file(2)
    entries = [SnapshotEntry(9, b"c" * 16, "9.npz", "abc"), SnapshotEntry(4, b"b" * 16, "4.npz", "def")]
    log.set_snapshots(entries)
    assert log.snapshots() == entries
    log.set_snapshots(entries[:1])
    assert log.snapshots() == entries[:1]
    log.set_meta("software", "x")
    log.set_meta("software", "y")
    assert (log.get_meta("software"), log.get_meta("none")) == ("y", None)


def test_the_file_of_a_snapshot_that_is_listed_can_be_had(log, opened):
    opened.snapshots.mkdir()
    path = opened.snapshots / "9.npz"
    path.write_bytes(b"state" * 10)
    entry = SnapshotEntry(9, b"c" * 16, path.name, sha256_of(path))
    log.put_snapshot(entry, opened.snapshots)
    log.set_snapshots([entry])
    log.fetch_snapshot(entry, opened.snapshots)
    assert path.read_bytes() == b"state" * 10


def test_between_batches_nothing_is_lost(log):
    log.append(some_events(3))
    for idle in (True, False):
        log.tidy(idle=idle)
    log.settle()
    log.quick_check()
    assert log.wal_bytes() >= 0
    assert log.last()[0] == 3
