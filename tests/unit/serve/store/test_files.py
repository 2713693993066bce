"""The folder of a store."""

import shutil
import subprocess
import sys

import pytest

from goalbound.errors import StoreDamaged, StoreError, StoreLocked
from goalbound.serve.store.files import DATABASE, FolderLock, Head, check_local, free_bytes
from goalbound.serve.store.replay import verify
from tests.support.incidents_at_work import greedy
from tests.support.stores import Handled, open_store

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/sdb1 /home/local xfs rw 0 0
"""


def test_a_folder_has_one_owner_who_is_named(tmp_path):
    lock = FolderLock(tmp_path)
    with pytest.raises(StoreLocked, match=r"process \d+ has this store open"):
        FolderLock(tmp_path)
    lock.release()
    lock.release()  # once is enough
    FolderLock(tmp_path).release()


def test_the_lock_of_a_process_that_was_killed_is_free(tmp_path):
    code = "import sys,os,signal;from pathlib import Path;from goalbound.serve.store.files import FolderLock;"
    code += "lock=FolderLock(Path(sys.argv[1]));os.kill(os.getpid(),signal.SIGKILL)"
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == -9
    FolderLock(tmp_path).release()


def test_network_file_systems_are_refused(tmp_path):
    from pathlib import Path

    check_local(tmp_path)
    check_local(Path("/home/local/store"), MOUNTS)
    check_local(Path("/srv/store"), MOUNTS + "broken\n")
    with pytest.raises(StoreError, match=r"network file system \(nfs4\)"):
        check_local(Path("/home/store"), MOUNTS)


def test_the_free_space_is_that_of_the_disk(tmp_path):
    assert free_bytes(tmp_path) > 0


def test_what_was_noted_is_read_and_what_nobody_wrote_is_nothing(tmp_path):
    head = Head(tmp_path)
    assert head.read() is None
    head.note(17, b"c" * 16)
    assert head.read() == (17, b"c" * 16)
    head.note(18, b"d" * 16)  # not yet a second ago
    assert head.read() == (17, b"c" * 16)
    head.note(18, b"d" * 16, now=True)
    assert head.read() == (18, b"d" * 16)
    data = (tmp_path / "head").read_bytes()
    for bad in (b"", b"\xff", data.replace(b"18", b"19", 1), data[:20]):
        (tmp_path / "head").write_bytes(bad)
        assert Head(tmp_path).read() is None


def test_a_log_without_its_end_is_refused(tmp_path):
    folder = tmp_path / "store"
    handled = Handled()
    with open_store(folder) as store:
        handled.go_on(store.create("incidents", greedy()), 10)
    shutil.copyfile(folder / DATABASE, tmp_path / "before")
    with open_store(folder) as store:
        handled.go_on(store.learner("incidents"), 10)
    shutil.copyfile(tmp_path / "before", folder / DATABASE)
    for look in (open_store, verify):
        with pytest.raises(StoreDamaged, match=r"the log ends with event 11, and event 21 was committed"):
            look(folder)
    (folder / "head").unlink()
    open_store(folder).close()  # as the error says
