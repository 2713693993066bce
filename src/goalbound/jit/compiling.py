"""While numba compiles: what people see of it, one process at a time, and the folder that keeps what it made.

The folder is shared by processes; where it cannot be used every process compiles for itself, and nothing fails.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any


def seconds_compiling() -> float:
    """How long this process has waited for the compiler, or for its cache, so far."""
    return CompilationNotice.spent


class CompilationNotice:
    """Prints which kernel is being compiled, once that has taken a second in all, and again every ten seconds.

    Loading from the cache does not count: numba notifies its listeners when it compiles, and only then a timer runs.
    """

    EVERY = 10.0
    next_at = 1.0
    """Seconds of compiling at which the next line is due."""
    spent = 0.0
    """Seconds of waiting for the compiler or for its cache."""
    compiling = 0.0
    """Seconds of these in which it compiled."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        self._begin = time.perf_counter()
        self._depth = 0
        self._timer: threading.Timer | None = None
        self._listener = _listen_to_numba(self)
        self._listener.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._listener.__exit__(*error)
        self._stop()
        CompilationNotice.spent += time.perf_counter() - self._begin

    def begin(self) -> None:
        """A compilation begins; those of the kernels it calls begin and end inside it."""
        self._depth += 1
        if self._depth == 1:
            self._since = time.perf_counter()
            self._wait(CompilationNotice.compiling)

    def end(self) -> None:
        """The compilation has ended, or failed."""
        self._depth = max(0, self._depth - 1)  # another thread may have begun before we listened
        if self._depth == 0:
            self._stop()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            CompilationNotice.compiling += time.perf_counter() - self._since

    def _wait(self, so_far: float) -> None:
        self._timer = threading.Timer(max(CompilationNotice.next_at - so_far, 0.0), self._announce)
        self._timer.daemon = True
        self._timer.start()

    def _announce(self) -> None:
        so_far = CompilationNotice.compiling + time.perf_counter() - self._since
        CompilationNotice.next_at = so_far + self.EVERY
        print(
            f"goalbound: compiling {self._name}, {so_far:.0f} s so far; what is compiled is kept for the next time",
            file=sys.stderr,
        )
        self._wait(so_far)


def _listen_to_numba(notice: CompilationNotice) -> AbstractContextManager[Any]:
    """A context in which numba notifies ``notice`` of compilations; of none if this numba has no such events."""
    try:
        from numba.core import event
    except ImportError:
        return nullcontext()

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            notice.begin()

        def on_end(self, event: Any) -> None:
            notice.end()

    return event.install_listener("numba:compile", Listener())


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """The compiler makes millions of objects and no garbage to speak of; collecting takes a fifth of its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def one_process_at_a_time(dispatcher: Any) -> Iterator[None]:
    """Of several processes that need the same kernel one compiles it; the others wait and load it from the cache.

    The lock goes with the process that holds it. Without one (no cache, no POSIX, a disk that has no locks) every
    process compiles for itself.
    """
    file = None
    with suppress(ImportError, AttributeError, OSError):
        import fcntl

        index = dispatcher._cache._cache_file._index_path
        file = open(f"{index}.lock", "a")  # noqa: SIM115 - held until the kernel is compiled
        fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if file is not None:
            file.close()


def tolerate_errors(dispatcher: Any) -> None:
    """Let a cache that cannot be read or written (a full disk) cost compile time only."""
    with suppress(AttributeError):  # another numba keeps its cache elsewhere
        _drop_unreadable_index(dispatcher)
        cache = dispatcher._cache
        cache.load_overload, cache.save_overload = _tolerant(cache.load_overload), _tolerant(cache.save_overload)


def _tolerant(use: Callable[..., Any]) -> Callable[..., Any]:
    def tolerant(*arguments: Any) -> Any:
        try:
            return use(*arguments)
        except Exception as error:  # unpickling damaged machine code may raise anything; what is saved is read before
            warn_no_cache(error)
            return None

    return tolerant


def _drop_unreadable_index(dispatcher: Any) -> None:
    """Remove an index of the cache that cannot be read: it may name types that are not where they were."""
    cached = dispatcher._cache._cache_file
    try:
        cached._load_index()
    except Exception:  # unpickling may raise anything
        with suppress(OSError):
            os.remove(cached._index_path)


class _Warned:
    once = False


def warn_no_cache(error: Exception) -> None:
    """Warn, once, that what is compiled cannot be kept."""
    if not _Warned.once:
        _Warned.once = True
        warnings.warn(
            f"compiled kernels cannot be kept on disk ({error}), so every process compiles them anew; set "
            "NUMBA_CACHE_DIR to a folder that can be written, with some room left",
            stacklevel=2,
        )
