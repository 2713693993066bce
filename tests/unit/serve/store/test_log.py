"""What a log of events does, in SQLite and in PostgreSQL."""

import pytest

from goalbound.errors import StoreDamaged, StoreError, StoreLocked
from goalbound.serve.store.database_url import place_of
from goalbound.serve.store.events import Event, Kind
from goalbound.serve.store.log import open_log
from tests.support.stores import some_events


def test_what_was_appended_is_read_back_to_the_bit_in_order(log, place):
    events = some_events(150)
    events[-1] = events[-1]._replace(loss=5e-324, propensity=1 / 3, body='{"a":"\\u0000"}', others="{}")
    log.append(events, cases=[(1, 1, "one"), (2, 1, "two")])
    assert list(log.events(0)) == events
    assert [tuple(map(type, event)) for event in log.events(0)] == [
        (int, int, *map(type, event[2:])) for event in events
    ]
    assert list(log.events(10, 3)) == events[10:13]
    assert list(log.events(10, 0)) == []
    assert log.last() == (150, events[-1].chain)
    assert (log.chain_at(7), log.chain_at(151)) == (events[6].chain, None)
    assert (log.step_of(3, 1), log.step_of(3, 2)) == (events[2], None)
    assert log.events_of(3) == [events[2]]
    assert (log.case_number(1, "two"), log.case_number(2, "two"), log.last_case()) == (2, None, 2)
    reader = open_log(place_of(place), readonly=True)  # beside the one that writes
    assert list(reader.events(0)) == events
    with pytest.raises(StoreError):
        reader.append(some_events(1, after=150))
    reader.close()
    assert log.last()[0] == 150


def test_all_of_a_batch_is_written_or_nothing(log):
    log.append(some_events(2))
    bad = [*some_events(2, after=2), some_events(1)[0]._replace(seq=9)]  # case 1, step 1 is there already
    with pytest.raises(StoreDamaged, match=r"(?i)unique"):
        log.append(bad, cases=[(1, 1, "one")])
    assert (log.last()[0], log.case_number(1, "one")) == (2, None)
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


def test_snapshots_are_kept_in_parts_the_newest_ones_and_the_base(log, monkeypatch):
    monkeypatch.setattr("goalbound.serve.store.log._PART", 7)
    events = some_events(9)
    log.append(events)
    files = {"state": b"four" * 10, "learner 1": b"", "learner 2": b"1234567"}
    for seq in (2, 4, 6):
        log.put_snapshot(seq, events[seq - 1].chain, files, keep=2)
    assert log.snapshots() == [6, 4]
    assert log.snapshot(4) == files
    log.rebase(4)
    for seq in (7, 8, 9):
        log.put_snapshot(seq, events[seq - 1].chain, files, keep=2)
    assert log.snapshots() == [9, 8, 4]
    log.put_snapshot(9, events[8].chain, {"state": b"again"}, keep=2)
    assert log.snapshot(9) == {"state": b"again"}
    log._run("UPDATE snapshot_part SET bytes = chain FROM snapshot WHERE snapshot_part.seq = 8")
    with pytest.raises(StoreDamaged, match="after event 8 is not as it was written"):
        log.snapshot(8)
    log._run("UPDATE snapshot SET seq = 5 WHERE seq = 9")
    for seq in (5, 1):
        with pytest.raises(StoreDamaged, match="is of another log, or missing"):
            log.snapshot(seq)


def a_walk(case, seq, steps):
    """A case that begins, gets another proposal, and then takes so many steps of loss 0.1; every third by action 0."""
    yield Event(seq, Kind.BEGIN, 1, case, 0, None, None, 0, "{}", 1, 1.0, None, 5, b"0")
    yield Event(seq + 1, Kind.ACT, 1, case, None, None, None, None, "{}", 1, 1.0, None, 5, b"0")
    for step in range(1, steps + 1):
        taken, action = (0 if step % 3 == 0 else None), (None if step == steps else 1)
        kind = Kind.OBSERVE if taken is None else Kind.OVERRIDE
        yield Event(seq + 1 + step, kind, 1, case, step, taken, 0.1, 0, None, action, None, None, seq + 1 + step, b"0")


@pytest.mark.parametrize("steps", [1, 2, 64, 200])
def test_the_events_of_a_case_are_all_of_its_steps_and_of_its_other_proposals(log, steps):
    events = list(a_walk(1, 1, steps))
    others = list(a_walk(2, len(events) + 1, 3))
    log.append(events + others)
    assert (log.events_of(1), log.events_of(2), log.events_of(3)) == (events, others, [])
    for until, limit in [(0, 9), (1, 9), (2, 9), (steps + 1, 3), (steps + 2, 1), (steps, 60), (9**9, steps)]:
        assert log.events_of(1, until=until, limit=limit) == events[:until][-limit:]


def test_outcomes_are_the_last_or_the_first_cases_that_reached_the_goal(log):
    seq = 1
    for case, steps in ((1, 4), (2, 1), (3, 3)):
        log.append(list(a_walk(case, seq, steps)))
        seq += steps + 2
    log.append(list(a_walk(4, seq, 5))[:-1])  # it is open
    ended = [(1, 6, pytest.approx(0.4), 4, 1), (2, 9, pytest.approx(0.1), 1, 0), (3, 14, pytest.approx(0.3), 3, 1)]
    assert log.outcomes(1, 9) == ended
    assert log.outcomes(1, 2) == ended[1:]
    assert log.outcomes(1, 2, first=True) == ended[:2]
    assert log.outcomes(2, 9) == []
    log.rebase(4)  # step 3 of the first case follows nothing any more
    assert log.outcomes(1, 9)[0] == (1, 6, pytest.approx(0.1), 1, 0)


def test_a_log_is_open_to_write_once_and_to_read_as_often_as_wanted(place):
    where = place_of(place)
    for options in ({"readonly": True}, {"create": False}):
        with pytest.raises(StoreError, match="there is no store"):
            open_log(where, **options)
    log = open_log(where, create=True)
    readers = [open_log(where, readonly=True) for _ in range(2)]
    with pytest.raises(StoreLocked, match="has this store open"):
        open_log(where)
    for opened in (log, *readers):
        opened.close()
    open_log(where).close()


@pytest.mark.parametrize(
    ("version", "error", "text"),
    [
        ("1", StoreError, "a store of goalbound 1.0.0, .*export its log with goalbound 1.0.0, .*goalbound fit"),
        ("9", StoreDamaged, "version '9'; this goalbound knows 2"),
    ],
)
def test_tables_of_another_version_are_refused_in_one_line(log, place, version, error, text):
    log.set_meta("format", version)
    with pytest.raises(error, match=text) as caught:
        open_log(place_of(place), readonly=True)
    assert "\n" not in str(caught.value)
