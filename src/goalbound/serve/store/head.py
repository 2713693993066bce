"""How far the log had come, in a file of its own: a log that lost its end can then be told from one that never had it.

SQLite drops what follows a damaged page of its write-ahead log without a word. The file is written once a second after
commits, so it never says more than was durable.
"""

from __future__ import annotations

import os
import time
import zlib
from pathlib import Path

from goalbound.errors import StoreDamaged
from goalbound.serve.store.log import EventLog

FILE = "head"
_SECONDS = 1.0
_REMEDY = (
    "the end of the log is lost. Restore a back-up; if this is one, and steps after it are lost on purpose, remove the "
    "file head and the folder snapshots beside it"
)


class Head:
    """The file, and what it says."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._seq = -1
        self._wrote = 0.0

    def note(self, seq: int, chain: bytes, *, now: bool = False) -> None:
        """The log has come so far; it is written down if a second has passed, or ``now``."""
        if seq == self._seq or (not now and time.monotonic() - self._wrote < _SECONDS):
            return
        text = f"{seq:020d} {chain.hex()}"
        data = f"{text} {zlib.crc32(text.encode()):08x}\n".encode()
        try:
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600)
        except OSError:
            return  # a full disk; what it said before is true as well
        try:
            os.pwrite(handle, data, 0)
        except OSError:
            return
        finally:
            os.close(handle)
        self._seq, self._wrote = seq, time.monotonic()

    def read(self) -> tuple[int, bytes] | None:
        """What it says; None: nothing, or something that nobody wrote."""
        try:
            data = self._path.read_bytes()[:200]
        except OSError:
            return None
        text, _, check = data.decode("ascii", "replace").strip().rpartition(" ")
        seq, _, chain = text.partition(" ")
        if f"{zlib.crc32(text.encode()):08x}" != check:
            return None
        return int(seq), bytes.fromhex(chain)


def check_head(folder: Path, snapshots: Path, log: EventLog) -> None:
    """An error if the log ends before the event that the file, or a snapshot, says was there."""
    newest = max((int(path.stem) for path in snapshots.glob("*.npz") if path.stem.isdigit()), default=0)
    found = Head(folder).read()
    last, _ = log.last()  # read after the others: somebody may write
    if found is not None and found[0] >= log.base().seq and log.chain_at(found[0]) != found[1]:
        raise StoreDamaged(f"{folder}: the log ends with event {last}, and event {found[0]} was committed; {_REMEDY}")
    if newest > last:
        raise StoreDamaged(
            f"{folder}: the log ends with event {last}, and there is a snapshot after event {newest}; {_REMEDY}"
        )
