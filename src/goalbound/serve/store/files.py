"""The folder of a store: its files, its lock, the disk that it is on, and how far its log has come."""

from __future__ import annotations

import os
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from goalbound.errors import StoreDamaged, StoreError, StoreLocked
from goalbound.models.files.saved_files import try_lock

if TYPE_CHECKING:
    from goalbound.serve.store.log import Log

DATABASE, LOCK = "log.sqlite", "lock"
_HEAD_SECONDS = 1.0
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


class Head:
    """How far a log has come, in a file beside it: a log that lost its end can then be told from one that had none.

    SQLite drops what follows a damaged page of its write-ahead log without a word. The file is written once a second
    after commits, so it never says more than was durable.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._path = folder, folder / "head"
        self._seq = -1
        self._wrote = 0.0

    def note(self, seq: int, chain: bytes, *, now: bool = False) -> None:
        """The log has come so far; it is written down if a second has passed, or ``now``."""
        if seq == self._seq or (not now and time.monotonic() - self._wrote < _HEAD_SECONDS):
            return
        text = f"{seq:020d} {chain.hex()}"
        with suppress(OSError):  # a full disk; what it said before is true as well
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600)
            try:
                os.pwrite(handle, f"{text} {zlib.crc32(text.encode()):08x}\n".encode(), 0)
            finally:
                os.close(handle)
            self._seq, self._wrote = seq, time.monotonic()

    def read(self) -> tuple[int, bytes] | None:
        """The number and the chain in the file; None if it is missing or was not written by :meth:`note`."""
        try:
            data = self._path.read_bytes()[:200]
        except OSError:
            return None
        text, _, check = data.decode("ascii", "replace").strip().rpartition(" ")
        seq, _, chain = text.partition(" ")
        if f"{zlib.crc32(text.encode()):08x}" != check:
            return None
        return int(seq), bytes.fromhex(chain)

    def check(self, log: Log) -> None:
        """An error if the log ends before the event that the file says was there."""
        noted = self.read()
        last, _ = log.last()  # read after the file: somebody may write
        if noted is not None and noted[0] >= log.base().seq and log.chain_at(noted[0]) != noted[1]:
            raise StoreDamaged(
                f"{self._folder}: the log ends with event {last}, and event {noted[0]} was committed; the end of the "
                "log is lost. Restore a back-up; if this is one, and steps after it are lost on purpose, remove the "
                "file head in it"
            )
