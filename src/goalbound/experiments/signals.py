"""Handling of Ctrl-C: the first signal requests a stop, the second one forces it."""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from types import FrameType
from typing import Any

GRACE_SECONDS = 5.0
"""Seconds that work in this process has until it checks for a stop; then it is interrupted."""


@contextmanager
def stop_on_signals(*, force_after: float | None = None) -> Iterator[Callable[[], bool]]:
    """SIGINT (Ctrl-C) and SIGTERM request a stop; a second one raises KeyboardInterrupt.

    Args:
        force_after: seconds after which KeyboardInterrupt is raised in any case, for work that does not check it.

    Yields a function that says whether a stop was requested. Only in the main thread; elsewhere nothing is changed.
    Signals that are ignored stay ignored (``nohup``).
    """
    requested = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield requested.is_set
        return
    timer: threading.Timer | None = None

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal timer
        if requested.is_set():
            raise KeyboardInterrupt
        requested.set()
        if force_after is not None:  # with the same signal: the other one may be ignored
            timer = threading.Timer(force_after, _interrupt, (number,))
            timer.daemon = True
            timer.start()

    before: dict[signal.Signals, Any] = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            before[number] = signal.signal(number, handle)
    try:
        yield requested.is_set
    finally:
        if timer is not None:
            timer.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int) -> None:
    """Send the signal again, which also interrupts a blocking call."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        _thread.interrupt_main(signal.Signals(number))


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Block the signals in processes started inside: they reach the whole group, but only the sweep handles them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # multiprocessing's helper; starting it later would unblock the signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
