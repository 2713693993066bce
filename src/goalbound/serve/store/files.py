"""The folder of a store: its files, its lock, the disk that it is on."""

from __future__ import annotations

import os
from pathlib import Path

from goalbound.errors import StoreError, StoreLocked
from goalbound.models.files.saved_files import try_lock

DATABASE, LOCK, SNAPSHOTS = "log.sqlite", "lock", "snapshots"
NETWORK_FILE_SYSTEMS = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "fuse.sshfs"})
"""Where locks and synced writes cannot be relied on."""


class FolderLock:
    """Held by the one process that may write to the folder; the system releases it when the process ends, however.

    Raises:
        StoreLocked: somebody else holds it.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / LOCK
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            held = try_lock(self._handle)
        except OSError as error:
            os.close(self._handle)
            raise StoreError(f"{folder}: there are no locks here ({error.strerror}); use a local disk") from None
        if not held:
            owner = os.read(self._handle, 32).decode("ascii", "replace").strip()
            os.close(self._handle)
            who = f"process {owner}" if owner.isdigit() else "another process"
            raise StoreLocked(f"{folder}: {who} has this store open; a store has one writer. Stop that one first")
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Others may have it. The file stays: removing it would let two processes hold locks of two files."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def check_local(folder: Path, mounts: str | None = None) -> None:
    """An error on a network file system, where a commit may not be durable and a lock not exclusive.

    ``mounts`` is the text of /proc/mounts; other systems have none, and nothing is checked.
    """
    if mounts is None:
        try:
            mounts = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
    found = folder.resolve()
    best, kind = "", ""
    for line in mounts.splitlines():
        words = line.split()
        if len(words) < 3:
            continue
        place = words[1].replace("\\040", " ")
        if len(place) >= len(best) and (found.is_relative_to(place)):
            best, kind = place, words[2]
    if kind in NETWORK_FILE_SYSTEMS:
        raise StoreError(
            f"{folder} is on a network file system ({kind}), where neither locks nor synced writes can be relied on; "
            "use a local disk"
        )


def free_bytes(folder: Path) -> int:
    """How much space the disk of the folder has left for this user."""
    if not hasattr(os, "statvfs"):
        return 2**62
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize
