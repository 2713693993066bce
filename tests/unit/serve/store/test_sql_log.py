"""Reading a log in SQLite and in PostgreSQL; more of it is in test_log.py."""

import itertools

import pytest

from goalbound.errors import StoreDamaged
from goalbound.serve.store import sqlite_log
from goalbound.serve.store.events import Event, Kind
from goalbound.serve.store.locations import location_of
from goalbound.serve.store.sql_log import statements
from goalbound.serve.store.sqlite_log import SqliteLog


def test_what_cases_have_lost_is_summed_of_the_last_and_the_first(log):
    """Case n begins, 1 is proposed, and it loses 0.1 n on its way to the goal, by this or by another action."""
    events = []
    for case in range(1, 8):
        begun = Event(2 * case - 1, Kind.BEGIN, 1, case, 0, None, None, 0, b"{}", 1, 1.0, None, 5, b"0")
        taken = {3: 1, 7: 0}.get(case)
        kind = Kind.OBSERVE if taken is None else Kind.OVERRIDE
        events += [begun, Event(2 * case, kind, 1, case, 1, taken, 0.1 * case, 2, None, None, None, None, 5, b"0")]
    log.append(events[:6])
    assert log.loss_counts(1, 5) == (3, pytest.approx(0.2), 0, None, 3, 0)  # the first are among the last
    log.append(events[6:])
    assert log.loss_counts(1, 2) == (2, pytest.approx(0.65), 2, pytest.approx(0.15), 2, 1)
    assert log.loss_counts(2, 2) == (0, None, 0, None, 0, 0)


def a_walk(case, seq, steps):
    """A case that begins, gets another proposal, and then takes so many steps of loss 0.1; every third by action 0."""
    yield Event(seq, Kind.BEGIN, 1, case, 0, None, None, 0, b"{}", 1, 1.0, None, 5, b"0")
    yield Event(seq + 1, Kind.ACT, 1, case, None, None, None, None, b"{}", 1, 1.0, None, 5, b"0")
    for step in range(1, steps + 1):
        taken, action = (0 if step % 3 == 0 else None), (None if step == steps else 1)
        kind = Kind.OBSERVE if taken is None else Kind.OVERRIDE
        yield Event(seq + 1 + step, kind, 1, case, step, taken, 0.1, 0, None, action, None, None, 5, b"0")


@pytest.fixture(params=["new", "old"])
def by_step(request, monkeypatch):
    """Whether the events in SQLite are indexed by step and case, or by case and step as in stores of 1.0.0."""
    if request.param == "old":
        tables = sqlite_log._TABLES.replace('UNIQUE (step, "case")', 'UNIQUE ("case", step)')
        assert tables != sqlite_log._TABLES
        monkeypatch.setattr(sqlite_log, "_TABLES", tables)
    return request.param == "new"


@pytest.mark.parametrize("steps", [1, 2, 63, 64, 65, 200])
def test_the_events_of_a_case_are_all_of_its_steps_and_of_its_other_proposals(by_step, log, steps):
    events = list(a_walk(1, 1, steps))
    others = list(a_walk(2, len(events) + 1, 3))
    log.append(events + others)
    assert log.events_of(1) == events
    assert log.events_of(2) == others
    assert log.events_of(3) == []
    for until, limit in [(0, 9), (1, 9), (2, 9), (steps + 1, 3), (steps + 2, 1), (steps, 60), (9**9, steps)]:
        assert log.events_of(1, until=until, limit=limit) == events[:until][-limit:]
    assert log.loss_counts(1, 1)[:2] == (1, pytest.approx(0.3))
    lost = 0.05 * (steps + 3)
    assert log.loss_counts(1, 5) == (2, pytest.approx(lost), 0, None, steps + 3, steps // 3 + 1)


def test_of_a_case_whose_beginning_was_archived_what_is_left_is_read(by_step, log):
    events = list(a_walk(1, 1, 9))
    log.append(events + list(a_walk(2, len(events) + 1, 2)) + list(a_walk(3, len(events) + 5, 1))[:2])
    log.rebase(5)  # its beginning, the other proposal, and steps 1 to 3
    assert log.events_of(1) == events[5:]
    assert log.events_of(1, until=9, limit=3) == events[6:9]
    assert log.events_of(1, until=5) == []
    assert [event.step for event in log.events_of(2)] == [0, None, 1, 2]
    assert [event.kind for event in log.events_of(3)] == [Kind.BEGIN, Kind.ACT]
    lost = (pytest.approx((5 + 2) * 0.1 / 2), 0, None, 5 + 2, 2)  # step 4 follows nothing
    assert log.loss_counts(1, 5)[1:] == lost


def test_another_proposal_of_a_case_whose_steps_were_all_archived_is_read(by_step, log):
    events = list(a_walk(1, 1, 2))
    log.append([*events[:1], *a_walk(2, 2, 1), events[1]._replace(seq=5)])
    log.rebase(4)
    assert log.events_of(1) == [events[1]._replace(seq=5)]
    assert log.events_of(2) == []


def test_what_came_later_counts_for_no_losses(log):
    """Each of the cases has two steps of loss 0.1; the second one ends with event 8."""
    log.append([*a_walk(1, 1, 2), *a_walk(2, 5, 2)])
    assert log.loss_counts(1, 5, until=7) == (1, pytest.approx(0.2), 0, None, 2, 0)
    assert log.loss_counts(1, 5, until=8)[0] == 2


def test_more_cases_are_summed_than_one_statement_takes(by_step, log):
    seq = 1
    for case in range(1, 252):
        events = list(a_walk(case, seq, 2))
        log.append(events)
        seq += len(events)
    assert log.loss_counts(1, 1000) == (251, pytest.approx(0.2), 0, None, 502, 0)


def test_nothing_of_a_case_is_looked_for_in_all_events(by_step, tmp_path):
    """Whether its beginning is there, or was archived, or the case was never written."""
    log = SqliteLog(tmp_path / "log.sqlite")
    assert log._by_step == by_step
    log.append([*a_walk(1, 1, 70), *a_walk(2, 73, 3), *a_walk(3, 78, 9)])
    log.rebase(20)
    asked = []
    log._connection.set_trace_callback(asked.append)
    log.events_of(1), log.events_of(2), log.events_of(9), log.step_of(1, 3)
    log.loss_counts(1, 2)
    log._connection.set_trace_callback(None)
    of_cases = [one for one in asked if '"case" =' in one]
    assert len(of_cases) >= 6
    for one in of_cases:
        plans = [row[3] for row in log._run(f"EXPLAIN QUERY PLAN {one}")]
        few = ("walk", "asked", "CONSTANT")
        scans = [plan for plan in plans if plan.startswith("SCAN") and not any(word in plan for word in few)]
        assert not scans, one
    log.close()


def test_what_a_commit_writes_does_not_grow_with_the_number_of_open_cases(tmp_path):
    """Each of 256 cases takes its steps in turn: a commit of 64 steps writes a few pages, and not one for each case."""
    log = SqliteLog(tmp_path / "log.sqlite")
    log.append([Event(n, Kind.BEGIN, 1, n, 0, None, None, 0, b"{}", 1, 1.0, None, 5, b"0" * 16) for n in range(1, 257)])
    sizes = [log.wal_bytes()]
    for first in range(256, 256 * 80, 64):
        places = [(n, n % 256 + 1, n // 256) for n in range(first, first + 64)]
        log.append([
            Event(n + 1, Kind.OBSERVE, 1, case, step, None, 0.1, 0, None, 1, 1.0, None, 5, b"0" * 16)
            for n, case, step in places
        ])  # fmt: skip
        sizes.append(log.wal_bytes())
    log.close()
    pages = [(after - before) / 4096 for before, after in itertools.pairwise(sizes)]
    assert max(pages[-100:]) < 12


def test_events_are_appended_all_or_none(log):
    """One statement is a transaction of its own, several are one together."""
    events = list(a_walk(1, 1, 200))
    for part in (events[:40], events):
        with pytest.raises(StoreDamaged):
            log.append([*part, part[-1]])
        assert list(log.events(0)) == []
    log.append(events[:40])
    log.append(events[40:])
    assert list(log.events(0)) == events


def test_another_version_of_the_tables_and_a_base_that_is_none_are_said(opened, place):
    opened.log.set_meta("base", "nowhere")
    with pytest.raises(StoreDamaged, match="does not say where its log begins"):
        opened.log.base()
    opened.log.set_meta("format", "2")
    with pytest.raises(StoreDamaged, match="version '2'; this goalbound knows 1"):
        location_of(place).read_only_log()


def test_where_bytes_were_written_nothing_else_is_taken_for_them(tmp_path):
    log = SqliteLog(tmp_path / "log.sqlite")  # a column of SQLite may hold anything
    log.add_learner(1, b"file")
    log._run("UPDATE learner SET file = 'text'")
    with pytest.raises(StoreDamaged, match="there is a str where bytes were written"):
        log.learner_file(1)
    log.close()


def test_statements_are_those_that_end_a_line():
    assert statements("a;\nb (';', 1);\n\n") == ["a", "b (';', 1)"]
