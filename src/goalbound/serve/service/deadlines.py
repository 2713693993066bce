"""Tasks that wait for too long are cancelled, all by one timer: one for each request would cost more than the rest."""

from __future__ import annotations

import asyncio
from typing import Any

_LOOKS = 10  # so often within the time that a task has: it may have a tenth more


class Deadlines:
    """Tasks of one event loop, each of which has so many seconds.

    Args:
        seconds: that a task has from :meth:`begin` to :meth:`end`.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._since: dict[asyncio.Task[Any], float] = {}  # the oldest first
        self._late: set[asyncio.Task[Any]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None  # whose timer is set

    def begin(self) -> asyncio.Task[Any]:
        """The time of this task begins."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        self._since[task] = loop.time()
        if self._loop is not loop:
            self._set_timer(loop)
        return task

    def end(self, task: asyncio.Task[Any]) -> None:
        """A task has what it waited for, or will not wait any more."""
        self._since.pop(task, None)
        self._late.discard(task)

    def is_late(self, task: asyncio.Task[Any]) -> bool:
        """Whether a task that was cancelled was because of its time; then it goes on as if it had not been."""
        if task not in self._late:
            return False
        return task.uncancel() == 0

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = None
        for task, since in list(self._since.items()):
            if loop.time() - since < self.seconds:
                break
            del self._since[task]
            if task.cancel():
                self._late.add(task)
        if self._since:
            self._set_timer(loop)

    def _set_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        loop.call_later(self.seconds / _LOOKS, self._look, loop)
