"""The lock of a file, between processes and threads. The system lets it go when a process ends, however it ends.

The lock is on a file beside the one that is meant, ``.<name>.lock``, because that one is replaced as a whole. What a
killed process leaves is an empty file that nobody holds: the next one takes it, and removes it when it is done.
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

MIXTURE_VARIANCE = 60.0
"""For so many seconds a lock is waited for. It is held while a file is compared and replaced, not while it is made."""

_FIRST_WAIT, _LONGEST_WAIT = 0.002, 0.1
_FAR = 2**20  # where Windows locks a byte; locked bytes cannot be read there, and those at the start may be meant to be


@contextmanager
def locked(path: str | PathLike[str], *, patience: float = MIXTURE_VARIANCE) -> Iterator[None]:
    """Inside, nobody else who asks for it has the lock of this file.

    Where the file system knows no locks, a warning says so, and nothing is waited for.

    Raises:
        TimeoutError: another process or thread has held it for ``patience`` seconds.
    """
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name}.lock")
    handle = _acquired(beside, target, patience)
    try:
        yield
    finally:
        _release(handle, beside)


def try_lock(handle: int) -> bool:
    """Take the lock of an open file; False if someone else has it. An OSError is raised where there are no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(handle, _FAR, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _acquired(beside: Path, target: Path, patience: float) -> int:
    """The open file whose lock was taken."""
    end, wait = time.monotonic() + patience, _FIRST_WAIT
    while True:
        handle = _opened(beside)
        try:
            if _is_ours(handle, beside, target):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        if time.monotonic() >= end:
            raise TimeoutError(
                errno.ETIMEDOUT, f"another process has held its lock, {beside.name}, for {patience:g} s", str(target)
            )
        time.sleep(wait)
        wait = min(2.0 * wait, _LONGEST_WAIT)


def _opened(beside: Path) -> int:
    plain = getattr(os, "O_NOFOLLOW", 0)
    try:
        return os.open(beside, os.O_RDWR | os.O_CREAT | plain, 0o666)
    except PermissionError:  # left by someone else; to be locked it need not be written to
        with suppress(FileNotFoundError):
            return os.open(beside, os.O_RDONLY | plain)
        raise


def _is_ours(handle: int, beside: Path, target: Path) -> bool:
    """Whether the lock was taken, of the file that stands there now: whoever had it before has removed it."""
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
        return os.path.samestat(os.fstat(handle), os.stat(beside))
    except FileNotFoundError:
        return False


def _release(handle: int, beside: Path) -> None:
    if sys.platform == "win32":
        import msvcrt

        with suppress(OSError):
            os.lseek(handle, _FAR, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
        os.close(handle)
        with suppress(OSError):  # not removed while another has it open
            beside.unlink()
    else:
        import fcntl

        with suppress(OSError):  # first: once it is unlocked, it may be another's
            beside.unlink()
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_UN)  # a child process may have inherited the file, and keep it locked
        os.close(handle)
