"""Ctrl-C as a wish: the first one asks, the second one insists."""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from types import FrameType
from typing import Any

GRACE = 5.0
"""Seconds that runs have to come to a place from which they can go on."""


class Stop:
    """Whether the sweep was asked to stop."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    def __call__(self) -> bool:
        """The answer."""
        return self._asked.is_set()

    def ask(self) -> None:
        """From now on the answer is yes."""
        self._asked.set()


@contextmanager
def stop_on_signals(*, insist_after: float | None = None) -> Iterator[Stop]:
    """SIGINT (Ctrl-C) and SIGTERM ask to stop; a second one raises KeyboardInterrupt, as it would have.

    Args:
        insist_after: seconds after which KeyboardInterrupt is raised in any case, for work that does not look up.

    Signals reach the main thread only; elsewhere nothing is changed. A signal that is ignored stays so (``nohup``).
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    timer: threading.Timer | None = None

    def asked(number: int, frame: FrameType | None) -> None:
        nonlocal timer
        if stop():
            raise KeyboardInterrupt
        stop.ask()
        if insist_after is not None:  # by the signal that asked: the other one may be ignored
            timer = threading.Timer(insist_after, _interrupt, (number,))
            timer.daemon = True
            timer.start()

    before: dict[signal.Signals, Any] = {}
    for one in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(one) not in (signal.SIG_IGN, None):
            before[one] = signal.signal(one, asked)
    try:
        yield stop
    finally:
        if timer is not None:
            timer.cancel()
        for one, handler in before.items():
            signal.signal(one, handler)


def _interrupt(number: int) -> None:
    """Send the signal again, also out of a call that waits."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        _thread.interrupt_main(signal.Signals(number))


@contextmanager
def signals_held() -> Iterator[None]:
    """Processes started inside never see these signals: they reach the whole group, but only the sweep answers."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # multiprocessing's helper; starting it later would lift what is held here
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
