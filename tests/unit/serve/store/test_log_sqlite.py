"""Events in SQLite; what every log does is tested in test_log.py."""

import sqlite3

import pytest

from goalbound.errors import StorageFailed, StorageFull, StoreDamaged, StoreError
from goalbound.serve.store import log as log_module
from goalbound.serve.store.files import DATABASE
from goalbound.serve.store.log import SqliteLog, sqlite_note
from tests.support.stores import some_events


@pytest.fixture
def log(tmp_path):
    log = SqliteLog(tmp_path / "store", create=True)
    yield log
    log.close()


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
    with pytest.raises(StoreError, match="there is no store"):
        SqliteLog(tmp_path / "none", readonly=True)
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / DATABASE).write_text("no database, but long enough to be looked at" * 50)
    with pytest.raises(StoreDamaged, match="NOTADB"):
        SqliteLog(tmp_path / "text")
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "letter.txt").write_text("mine")
    with pytest.raises(StoreError, match="not empty and holds no store"):
        SqliteLog(tmp_path / "letters", create=True)


def test_after_a_failure_the_connection_is_not_closed_and_the_folder_is_free(tmp_path):
    log = SqliteLog(tmp_path / "store", create=True)
    log.append(some_events(1))
    log.leave()
    assert log_module._FAILED[-1].execute("SELECT 1").fetchone() == (1,)
    again = SqliteLog(tmp_path / "store")
    assert again.last()[0] == 1
    again.close()


def test_after_an_error_of_the_disk_closing_closes_nothing(tmp_path, monkeypatch):
    """It would checkpoint what may not be on the disk."""
    log = SqliteLog(tmp_path / "store", create=True)
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR

    def fails(statement, rows):
        raise error

    monkeypatch.setattr(log, "_run_many", fails)
    with pytest.raises(StorageFailed):
        log.append(some_events(1))
    connection = log._connection
    log.close()
    assert connection.execute("SELECT 1").fetchone() == (1,)
    SqliteLog(tmp_path / "store").close()


@pytest.mark.parametrize(
    ("version", "safe"), [((3, 40, 1), False), ((3, 50, 7), True), ((3, 51, 2), False), ((3, 52, 0), True)]
)
def test_versions_with_the_wal_reset_bug_are_known(monkeypatch, version, safe):
    monkeypatch.setattr(log_module.sqlite3, "sqlite_version_info", version)
    assert (sqlite_note() is None) == safe


def test_bytes_of_another_type_and_texts_that_are_none_are_damage(log):
    log.append(some_events(2))
    log._run("UPDATE event SET chain = 12345678901 WHERE seq = 2")
    with pytest.raises(StoreDamaged, match="a int where bytes were written"):
        log.last()
    log._run("UPDATE meta SET value = CAST(x'ff' AS TEXT) WHERE key = 'base'")
    with pytest.raises(StoreDamaged):
        log.base()
