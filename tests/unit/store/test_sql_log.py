"""Reading a log in SQLite and in PostgreSQL; more of it is in test_log.py."""

import pytest

from goalbound.errors import StoreDamaged
from goalbound.store.events import Event, Kind
from goalbound.store.locations import location_of
from goalbound.store.sql_log import statements
from goalbound.store.sqlite_log import SqliteLog


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
