"""Snapshots sent to PostgreSQL beside the log; that steps go on meanwhile is tested in test_store_postgres.py."""

import logging
import threading

import pytest

from goalbound.errors import StorageFailed
from goalbound.serve.store import postgres_upload
from goalbound.serve.store.database_url import database_of
from goalbound.serve.store.log import SnapshotEntry
from goalbound.serve.store.postgres_connection import connected
from goalbound.serve.store.postgres_log import PostgresLog
from goalbound.serve.store.postgres_upload import SnapshotUpload, parts_of
from goalbound.serve.store.snapshots import sha256_of
from tests.support.stores import until

DATA = b"the state after event nine"  # four rows of seven bytes


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(postgres_upload, "PART", 7)


@pytest.fixture
def log(database):
    log = PostgresLog(database)
    yield log
    log.leave()


@pytest.fixture
def entry(tmp_path):
    return written(tmp_path, DATA)


def written(folder, data):
    (folder / "9.npz").write_bytes(data)
    return SnapshotEntry(9, b"c" * 16, "9.npz", sha256_of(folder / "9.npz"))


def result(upload):
    """Once it has ended, what may be listed."""
    until(lambda: not upload._thread.is_alive())
    done, entry = upload.done()
    assert done
    return entry


def kept(log, seq=9):
    return b"".join(log._parts(seq))


def taken_over(log, database):
    """Another leader, where the lock of this one was lost without its noticing."""
    log._connection.execute("SELECT pg_advisory_unlock_all()")
    return PostgresLog(database)


@pytest.fixture
def midway(monkeypatch):
    """Uploads stop after two rows until ``go_on`` is set; ``reached`` says that one has."""

    class Midway:
        reached, go_on = threading.Event(), threading.Event()

    def parts(file):
        for number, data in parts_of(file):
            if number == 2:
                Midway.reached.set()
                assert Midway.go_on.wait(60)
            yield number, data

    with monkeypatch.context() as patched:
        patched.setattr(postgres_upload, "parts_of", parts)
        yield Midway
        Midway.go_on.set()


def test_what_was_sent_is_listed_by_the_leader_and_can_be_fetched(log, database, entry, tmp_path):
    log._run("INSERT INTO snapshot_part VALUES (9, 0, 'left'), (9, 7, 'by an earlier one')")
    assert result(log.begin_upload(entry, tmp_path)) == entry
    assert log.snapshots() == []  # not by the upload
    log.set_snapshots([entry])
    assert log._size_of(9) == (4, len(DATA))
    reader = PostgresLog(database, readonly=True)
    reader.fetch_snapshot(entry, tmp_path / "there")
    assert (tmp_path / "there" / "9.npz").read_bytes() == DATA
    reader.close()


def test_the_log_is_used_while_a_snapshot_is_sent(log, entry, tmp_path, midway):
    upload = log.begin_upload(entry, tmp_path)
    assert midway.reached.wait(60)
    log.set_meta("software", "new")
    assert upload.done() == (False, None)
    midway.go_on.set()
    assert result(upload) == entry


def test_a_leader_that_was_replaced_meanwhile_sends_no_more_and_lists_nothing(log, database, entry, tmp_path, midway):
    upload = log.begin_upload(entry, tmp_path)
    assert midway.reached.wait(60)
    after = taken_over(log, database)  # nothing keeps the next one waiting
    midway.go_on.set()
    assert result(upload) is None
    assert kept(after) == DATA[:14]
    with pytest.raises(StorageFailed, match="another process has become the leader"):
        log.set_snapshots([entry])
    assert after.snapshots() == []
    assert result(after.begin_upload(entry, tmp_path)) == entry  # what was left is no obstacle
    after.set_snapshots([entry])
    assert kept(after) == DATA
    after.close()


def test_a_leader_that_was_replaced_after_it_has_sent_all_lists_nothing(log, database, entry, tmp_path):
    upload = log.begin_upload(entry, tmp_path)
    assert result(upload) == entry
    after = taken_over(log, database)
    with pytest.raises(StorageFailed, match="another process has become the leader"):
        log.set_snapshots([entry])
    assert after.snapshots() == []
    after.set_snapshots([])
    assert kept(after) == b""
    assert result(log.begin_upload(entry, tmp_path)) is None
    assert kept(after) == b""  # no others have come
    after.close()


def test_what_is_listed_is_never_changed_by_an_upload(log, database, entry, tmp_path):
    log.put_snapshot(entry, tmp_path)
    log.set_snapshots([entry])
    other = written(tmp_path, b"another state")
    upload = SnapshotUpload(database, log._epoch, other, tmp_path, is_there=lambda sent: True)
    assert result(upload) is None
    assert kept(log) == DATA
    assert log.begin_upload(other, tmp_path) is None  # all of it at once, by the leader itself
    assert kept(log) == b"another state"


def test_only_what_the_leader_finds_itself_may_be_listed(log, database, entry, tmp_path):
    upload = log.begin_upload(entry, tmp_path)
    until(lambda: not upload._thread.is_alive())
    with connected(database, writes=True) as other:
        other.execute(f"DELETE FROM {database_of(database).schema}.snapshot_part WHERE part = 3".encode())
    assert upload.done() == (True, None)


@pytest.mark.parametrize("other", ["set_snapshots", "put_snapshot", "begin_upload", "close"])
def test_it_is_given_up_when_snapshots_change_otherwise(log, database, entry, tmp_path, midway, other):
    upload = log.begin_upload(entry, tmp_path)
    assert midway.reached.wait(60)
    threading.Timer(0.1, midway.go_on.set).start()
    arguments = {"set_snapshots": ([],), "close": ()}.get(other, (entry._replace(seq=10), tmp_path))
    found = getattr(log, other)(*arguments)
    assert not upload._thread.is_alive()  # it was waited for
    assert upload.done() == (True, None)
    reader = PostgresLog(database, readonly=True)
    assert kept(reader) == (b"" if other == "set_snapshots" else DATA[:14])
    if other in ("put_snapshot", "begin_upload"):
        assert found is None or result(found) is not None
        assert kept(reader, 10) == DATA
    reader.close()


def test_one_that_has_ended_is_given_up_as_well(log, entry, tmp_path):
    upload = log.begin_upload(entry, tmp_path)
    assert result(upload) == entry
    log.put_snapshot(entry._replace(seq=10), tmp_path)
    assert kept(log) == DATA
    assert result(upload) is None


def test_after_a_failure_of_the_log_nobody_waits_for_it(log, database, entry, tmp_path, midway):
    upload = log.begin_upload(entry, tmp_path)
    assert midway.reached.wait(60)
    log.leave()
    assert upload._thread.is_alive()
    midway.go_on.set()
    assert result(upload) is None
    after = PostgresLog(database)
    assert kept(after) == DATA[:14]
    after.close()


def test_what_cannot_be_sent_is_no_snapshot_and_no_failure(log, database, entry, tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        assert result(log.begin_upload(entry._replace(sha256="0" * 64), tmp_path)) is None
        assert caplog.text == ""
        assert result(log.begin_upload(entry, tmp_path / "none")) is None
        assert "the snapshot after event 9 was not sent" in caplog.text
        log._run("ALTER TABLE snapshot_part RENAME TO moved")
        with_password = database.replace("goalbound@", "goalbound:hush@")
        assert with_password != database
        upload = SnapshotUpload(with_password, log._epoch, entry, tmp_path, is_there=lambda sent: True)
        assert result(upload) is None
        upload = SnapshotUpload(
            "postgresql://ann:hush@nobody.invalid/cases", log._epoch, entry, tmp_path, is_there=lambda sent: True
        )
        assert result(upload) is None
    assert "does not exist" in caplog.text
    assert "nobody.invalid" in caplog.text
    assert "hush" not in caplog.text
    log._run("ALTER TABLE moved RENAME TO snapshot_part")
    log.set_meta("software", "new")  # the log goes on
