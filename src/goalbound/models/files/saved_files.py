"""Which files a learner was read from and written to, by their ids, and locks between processes.

The header of a learner's file has an id. A file may be replaced if its id is one that the learner has read or written:
then all that was in it is in the learner too.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from goalbound.errors import FileConflictError

_REMEDY = "save to another path, or replace it with overwrite=True"
_LOCK_OFFSET = 2**20  # where Windows locks a byte: locked bytes cannot be read, so none at the start is
_WAIT = 0.01


class SavedFiles:
    """The files that a learner was read from or written to, with their ids."""

    def __init__(self) -> None:
        self._ids: dict[str, tuple[str, ...]] = {}

    def record(self, path: str | PathLike[str], id: str) -> None:
        """Note that the learner was read from this file, or is about to be written to it.

        The id of before is kept too, as a write may be broken off. Files that are gone have nothing to lose.
        """
        name = os.path.realpath(path)
        kept = {other: ids for other, ids in self._ids.items() if os.path.exists(other)}
        self._ids = {**kept, name: (*kept.get(name, ())[-1:], id)}

    def check(self, path: str | PathLike[str], id: str | None) -> None:
        """Raise an error unless the learner comes from what is in a file, whose id this is."""
        if any(id in ids for ids in self._ids.values()):
            return
        if os.path.realpath(path) in self._ids:
            raise FileConflictError(
                f"{os.fspath(path)} is not as this learner read or wrote it last: another process may have saved it "
                f"since. Load it to continue from there; or {_REMEDY}"
            )
        raise FileConflictError(f"{os.fspath(path)} exists, and this learner neither read nor wrote it; {_REMEDY}")


@contextmanager
def locked(path: str | PathLike[str], *, timeout: float = 60.0) -> Iterator[None]:
    """Hold the lock of a file that is replaced as a whole; others who ask for it wait.

    The lock is on ``.<name>.lock`` beside it, an empty file that stays. The system releases the lock when the process
    ends, however it ends.

    Raises:
        TimeoutError: another process or thread has held it for ``timeout`` seconds.
    """
    target = Path(os.path.realpath(path))
    end = time.monotonic() + timeout
    with open(target.with_name(f".{target.name}.lock"), "ab", opener=_private) as file:
        while not try_lock(file.fileno()):
            if time.monotonic() >= end:
                message = f"another process has held its lock, .{target.name}.lock, for {timeout:g} s"
                raise TimeoutError(errno.ETIMEDOUT, message, str(target))
            time.sleep(_WAIT)
        yield


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def try_lock(handle: int) -> bool:
    """Take the lock of an open file; False if someone else has it. An OSError is raised where there are no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(handle, _LOCK_OFFSET, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
