"""Snapshots taken by a copy of the process, so that nobody waits for them."""

from __future__ import annotations

import json
import os
import select
import signal
import time
import warnings
from contextlib import suppress
from pathlib import Path

from goalbound.serve.store.log import SnapshotEntry
from goalbound.serve.store.machine import Machine
from goalbound.serve.store.snapshots import write_snapshot

LONGEST = 600.0
"""A copy that takes longer, in seconds, is ended."""
_NICE = 10


class BackgroundSnapshot:
    """A copy of this process (``fork``) that writes a snapshot of the state as it is now, and ends.

    The copy has no files open but those that it writes: neither the database, nor the lock, nor any connection. It runs
    nothing but the writing of arrays, and should it never end, it is ended.
    """

    def __init__(self, folder: Path, machine: Machine, *, seq: int, chain: bytes) -> None:
        self._begun = time.monotonic()
        self._out, into = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forking where there are threads
            try:
                self._pid = os.fork()
            except OSError:
                os.close(self._out)
                os.close(into)
                raise
        if self._pid == 0:
            _write_and_end(folder, machine, seq, chain, into)
        os.close(into)

    def done(self) -> tuple[bool, SnapshotEntry | None]:
        """Whether it has ended, and the snapshot if there is one."""
        if not self._has_ended():
            if time.monotonic() - self._begun < LONGEST:
                return False, None
            self.end()
            return True, None
        return True, self._read()

    @property
    def seconds(self) -> float:
        """Since it was begun."""
        return time.monotonic() - self._begun

    def end(self) -> None:
        """End it, wherever it is."""
        if not self._has_ended():  # else its number may be that of another process
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
        self._read()

    def _has_ended(self) -> bool:
        try:
            return os.waitpid(self._pid, os.WNOHANG)[0] != 0
        except ChildProcessError:  # SIGCHLD is ignored, or somebody else waited for it
            return True

    def _read(self) -> SnapshotEntry | None:
        try:
            ready, _, _ = select.select([self._out], [], [], 0)
            data = os.read(self._out, 4096) if ready else b""
        finally:
            os.close(self._out)
        try:
            seq, chain, file, sha256 = json.loads(data)
            return SnapshotEntry(seq, bytes.fromhex(chain), file, sha256)
        except ValueError:
            return None


def _write_and_end(folder: Path, machine: Machine, seq: int, chain: bytes, into: int) -> None:
    """In the copy; it never returns."""
    code = 1
    try:
        os.dup2(into, 3)
        os.closerange(4, os.sysconf("SC_OPEN_MAX") if hasattr(os, "sysconf") else 65536)
        os.nice(_NICE)
        entry = write_snapshot(folder, machine, seq=seq, chain=chain)
        os.write(3, json.dumps([entry.seq, entry.chain.hex(), entry.file, entry.sha256]).encode())
        code = 0
    finally:
        os._exit(code)
