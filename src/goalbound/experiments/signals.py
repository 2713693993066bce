"""Handling of Ctrl-C: the first signal requests a stop, the second one forces it."""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from types import FrameType
from typing import Any

GRACE_SECONDS = 5.0
"""Seconds that work in this process has until it checks for a stop; then it is interrupted."""


class StopRequest:
    """A stop request for a sweep."""

    def __init__(self) -> None:
        self._requested = threading.Event()

    def __call__(self) -> bool:
        """Whether a stop was requested."""
        return self._requested.is_set()

    def request(self) -> None:
        """Request a stop."""
        self._requested.set()


@contextmanager
def stop_on_signals(*, force_after: float | None = None) -> Iterator[StopRequest]:
    """SIGINT (Ctrl-C) and SIGTERM request a stop; a second one raises KeyboardInterrupt.

    Args:
        force_after: seconds after which KeyboardInterrupt is raised in any case, for work that does not check it.

    Only in the main thread; elsewhere nothing is changed. Signals that are ignored stay ignored (``nohup``).
    """
    stop = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    timer: threading.Timer | None = None

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal timer
        if stop():
            raise KeyboardInterrupt
        stop.request()
        if force_after is not None:  # with the same signal: the other one may be ignored
            timer = threading.Timer(force_after, _interrupt, (number,))
            timer.daemon = True
            timer.start()

    before: dict[signal.Signals, Any] = {}
    for one in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(one) not in (signal.SIG_IGN, None):
            before[one] = signal.signal(one, handle)
    try:
        yield stop
    finally:
        if timer is not None:
            timer.cancel()
        for one, handler in before.items():
            signal.signal(one, handler)


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
