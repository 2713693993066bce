"""Progress of the demo: bars in a terminal, lines elsewhere, or nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from goalbound import terminal

Show = Callable[[int], None]
"""Called with the number of episodes done."""
LINES = 4
"""Lines per run where there is no terminal."""


class RunProgress(Protocol):
    """Receives the progress of runs."""

    def begin(self, name: str, episodes: int) -> Show:
        """Start a run; the returned function is called with its progress."""
        ...


@contextmanager
def progress_reporter(*, quiet: bool) -> Iterator[RunProgress]:
    """A progress reporter for stderr."""
    console = terminal.console(sys.stderr)
    if quiet:
        yield Silent()
    elif not console.is_terminal or console.is_dumb_terminal:
        yield Lines(console)
    else:
        bars = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console
        )
        try:
            yield Bars(bars)
        finally:
            bars.stop()


class Silent:
    """Reports nothing."""

    def begin(self, name: str, episodes: int) -> Show:
        """A run begins."""
        return lambda done: None


class Lines:
    """A few lines for each run."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def begin(self, name: str, episodes: int) -> Show:
        """A run begins."""
        printed_lines = 0

        def show(done: int) -> None:
            nonlocal printed_lines
            if done * LINES // episodes > printed_lines:
                printed_lines = done * LINES // episodes
                self._console.print(f"{name}: {done:,} of {episodes:,}", highlight=False, soft_wrap=True)

        return show


class Bars:
    """A bar for each run."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars

    def begin(self, name: str, episodes: int) -> Show:
        """A run begins."""
        self._bars.start()  # not before: a live display of nothing leaves empty lines
        task = self._bars.add_task(name, total=episodes)
        return lambda done: self._bars.update(task, completed=done)
