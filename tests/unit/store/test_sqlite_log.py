"""Events in SQLite."""

import sqlite3

import pytest

from goalbound.errors import StorageFailed, StorageFull, StoreDamaged, StoreError
from goalbound.store import sqlite_log
from goalbound.store.events import FIRST_CHAIN, Event, Kind, chained
from goalbound.store.log import SnapshotEntry
from goalbound.store.sqlite_log import SqliteLog, sqlite_note


def some_events(count, *, after=0, chain=FIRST_CHAIN):
    found = []
    for seq in range(after + 1, after + count + 1):
        event = Event(seq, Kind.OBSERVE, 1, seq, 1, None, 0.1 * seq, 2, None, 1, 1.0, None, 5, b"")
        chain = chained(chain, event)
        found.append(event._replace(chain=chain))
    return found


@pytest.fixture
def log(tmp_path):
    log = SqliteLog(tmp_path / "log.sqlite")
    yield log
    log.close()


def test_what_was_appended_is_read_back_to_the_bit_in_order(log, tmp_path):
    events = some_events(150)  # more than one statement takes
    log.append(events, cases=[(1, 1, "one"), (2, 1, "two")])
    assert list(log.events(0)) == events
    assert list(log.events(10, 3)) == events[10:13]
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
    reader = SqliteLog(tmp_path / "log.sqlite", readonly=True)  # beside the one that writes
    assert list(reader.events(0)) == events
    with pytest.raises(StoreError):
        reader.append(some_events(1, after=150))
    reader.close()


def test_all_of_a_batch_is_written_or_nothing(log):
    log.append(some_events(2))
    bad = [*some_events(2, after=2), some_events(1)[0]._replace(seq=9)]  # case 1, step 1 is there already
    with pytest.raises(StoreDamaged, match="UNIQUE"):
        log.append(bad, cases=[(1, 1, "one")])
    assert log.last()[0] == 2
    assert log.case_number(1, "one") is None


def test_every_commit_is_synced_and_only_this_connection_checkpoints(log):
    values = {name: log._run(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "wal_autocheckpoint")}
    assert values == {"synchronous": 2, "wal_autocheckpoint": 0}  # FULL; never by itself
    assert log._run("PRAGMA journal_mode").fetchone()[0] == "wal"


def test_the_write_ahead_log_is_copied_once_it_has_grown(log):
    log.append(some_events(1))
    log.tidy(idle=False)
    assert log._written_pages > 0  # not yet
    log._written_pages = 2000
    log.tidy(idle=False)
    assert log._written_pages == 0
    assert log._run("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[2] == log._run("PRAGMA wal_checkpoint").fetchone()[1]


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
    assert log.learner_file(1) == b"file"
    with pytest.raises(StoreDamaged, match="learner 2 is missing"):
        log.learner_file(2)
    entries = [SnapshotEntry(9, b"c" * 16, "9.npz", "abc"), SnapshotEntry(4, b"b" * 16, "4.npz", "def")]
    log.set_snapshots(entries)
    assert log.snapshots() == entries
    log.set_meta("software", "x")
    assert (log.get_meta("software"), log.get_meta("none")) == ("x", None)


@pytest.mark.parametrize(
    ("code", "name", "kind"),
    [
        (sqlite3.SQLITE_FULL, "SQLITE_FULL", StorageFull),
        (sqlite3.SQLITE_IOERR, "SQLITE_IOERR", StorageFailed),
        (1034, "SQLITE_IOERR_FSYNC", StorageFailed),
        (sqlite3.SQLITE_CORRUPT, "SQLITE_CORRUPT", StoreDamaged),
        (sqlite3.SQLITE_NOTADB, "SQLITE_NOTADB", StoreDamaged),
        (sqlite3.SQLITE_BUSY, "SQLITE_BUSY", StorageFailed),
    ],
)
def test_errors_of_sqlite_are_told_apart(log, code, name, kind):
    error = sqlite3.OperationalError("it failed")
    error.sqlite_errorcode, error.sqlite_errorname = code, name
    assert type(log._store_error(error)) is kind


def test_what_is_no_store_is_refused(tmp_path):
    with pytest.raises(StoreError, match="there is no such store"):
        SqliteLog(tmp_path / "none", readonly=True)
    (tmp_path / "text").write_text("no database, but long enough to be looked at" * 50)
    with pytest.raises(StoreDamaged, match="NOTADB"):
        SqliteLog(tmp_path / "text")
    log = SqliteLog(tmp_path / "later")
    log.set_meta("format", "2")
    log.close()
    with pytest.raises(StoreDamaged, match="version '2'; this goalbound knows 1"):
        SqliteLog(tmp_path / "later")


def test_a_back_up_is_a_copy(log, tmp_path):
    log.append(some_events(5))
    log.back_up(tmp_path / "copy.sqlite")
    copy = SqliteLog(tmp_path / "copy.sqlite", readonly=True)
    assert list(copy.events(0)) == list(log.events(0))
    copy.close()


@pytest.mark.parametrize(
    ("version", "safe"), [((3, 40, 1), False), ((3, 50, 7), True), ((3, 51, 2), False), ((3, 52, 0), True)]
)
def test_versions_with_the_wal_reset_bug_are_known(monkeypatch, version, safe):
    monkeypatch.setattr(sqlite_log.sqlite3, "sqlite_version_info", version)
    assert (sqlite_note() is None) == safe


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


def test_bytes_of_another_type_and_texts_that_are_none_are_damage(log):
    log.append(some_events(2))
    log._run("UPDATE event SET chain = 12345678901 WHERE seq = 2")
    with pytest.raises(StoreDamaged, match="a int where bytes were written"):
        log.last()
    log._run("UPDATE meta SET value = CAST(x'ff' AS TEXT) WHERE key = 'base'")
    with pytest.raises(StoreDamaged):
        log.base()
