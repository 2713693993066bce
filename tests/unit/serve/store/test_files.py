"""The folder of a store."""

import subprocess
import sys

import pytest

from goalbound.errors import StoreError, StoreLocked
from goalbound.serve.store.files import FolderLock, check_local, free_bytes

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
