"""The files a learner has read and written, so that no save loses what another process has learned meanwhile.

The header of a file has an id. A file may be replaced if its id is one that the learner has read or written there: then
all that was in it is in the learner too. The check and the replacement are one step for others, under a lock between
processes and threads, which the system releases when a process ends, however it ends.

The lock is on a file beside the one that is meant, ``.<name>.lock``, because that one is replaced as a whole. What a
killed process leaves is an empty file that nobody holds: the next one takes it, and removes it when it is done.
Why not the library ``filelock``: docs/decisions/0014-libraries.md.
"""

from __future__ import annotations

import errno
import os
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path

from goalbound.errors import FileConflictError

_REMEDY = "save to another path, or replace it with overwrite=True"
LOCK_TIMEOUT = 60.0
"""Seconds to wait for a lock. It is held while a file is compared and replaced, not while it is written."""

_FIRST_WAIT, _LONGEST_WAIT = 0.002, 0.1
_LOCK_OFFSET = 2**20  # where Windows locks a byte: locked bytes cannot be read, so none at the start is


class SavedFiles:
    """The files that a learner was read from or written to, with their ids."""

    def __init__(self) -> None:
        self._ids: dict[str, tuple[str, ...]] = {}

    def record(self, path: str | PathLike[str], id: str) -> None:
        """The learner was read from this file, or is about to be written to it.

        The id of before is kept too, as a write may be broken off. Files that are gone have nothing to lose.
        """
        name = os.path.realpath(path)
        kept = {other: ids for other, ids in self._ids.items() if os.path.exists(other)}
        self._ids = {**kept, name: (*kept.get(name, ())[-1:], id)}

    def check(self, path: str | PathLike[str], id: str | None) -> None:
        """An error unless the learner comes from what is in a file, whose id this is."""
        if any(id in ids for ids in self._ids.values()):
            return
        if os.path.realpath(path) in self._ids:
            raise FileConflictError(
                f"{os.fspath(path)} is not as this learner read or wrote it last: another process may have saved it "
                f"since. Load it to continue from there; or {_REMEDY}"
            )
        raise FileConflictError(f"{os.fspath(path)} exists, and this learner neither read nor wrote it; {_REMEDY}")


@contextmanager
def locked(path: str | PathLike[str], *, timeout: float = LOCK_TIMEOUT) -> Iterator[None]:
    """Holds the lock of this file; others who ask for it wait.

    Where the file system has no locks, there is a warning and no waiting.

    Raises:
        TimeoutError: another process or thread has held it for ``timeout`` seconds.
    """
    target = Path(os.path.realpath(path))
    lock_path = target.with_name(f".{target.name}.lock")
    handle = _acquire(lock_path, target, timeout)
    try:
        yield
    finally:
        _release(handle, lock_path)


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


def _acquire(lock_path: Path, target: Path, timeout: float) -> int:
    """The open file whose lock was taken."""
    end, wait = time.monotonic() + timeout, _FIRST_WAIT
    while True:
        handle = _open_lock_file(lock_path)
        try:
            if _holds_lock(handle, lock_path, target):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        if time.monotonic() >= end:
            raise TimeoutError(
                errno.ETIMEDOUT, f"another process has held its lock, {lock_path.name}, for {timeout:g} s", str(target)
            )
        time.sleep(wait)
        wait = min(2.0 * wait, _LONGEST_WAIT)


def _open_lock_file(lock_path: Path) -> int:
    plain = getattr(os, "O_NOFOLLOW", 0)
    try:
        return os.open(lock_path, os.O_RDWR | os.O_CREAT | plain, 0o666)
    except PermissionError:  # left by someone else; to be locked it need not be written to
        with suppress(FileNotFoundError):
            return os.open(lock_path, os.O_RDONLY | plain)
        raise


def _holds_lock(handle: int, lock_path: Path, target: Path) -> bool:
    """Whether the lock was taken, of the lock file that exists now: the previous holder removes its own."""
    try:
        if not try_lock(handle):
            return False
    except OSError as error:
        warnings.warn(
            f"{target}: there are no locks here ({error.strerror}); two processes that save this file at the "
            "same moment may overwrite each other",
            stacklevel=5,
        )
        return True
    try:
        return os.path.samestat(os.fstat(handle), os.stat(lock_path))
    except FileNotFoundError:
        return False


def _release(handle: int, lock_path: Path) -> None:
    if sys.platform == "win32":
        import msvcrt

        with suppress(OSError):
            os.lseek(handle, _LOCK_OFFSET, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
        os.close(handle)
        with suppress(OSError):  # not removed while another has it open
            lock_path.unlink()
    else:
        import fcntl

        with suppress(OSError):  # first: once it is unlocked, it may be another's
            lock_path.unlink()
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_UN)  # a child process may have inherited the file, and keep it locked
        os.close(handle)
