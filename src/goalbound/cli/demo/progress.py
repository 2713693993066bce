"""How far it has come: a bar where someone looks, lines where a file does, nothing if that is wanted."""

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
"""As many lines tell of one run where there is no terminal."""


class Watch(Protocol):
    """Who wants to know how far it has come."""

    def begin(self, name: str, episodes: int) -> Show:
        """A run begins; what is given back is to be called as it goes on."""
        ...


@contextmanager
def watching(*, quiet: bool) -> Iterator[Watch]:
    """A watch on stderr, as fits the place where stderr goes."""
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
    """Says nothing."""

    def begin(self, name: str, episodes: int) -> Show:
        """A run begins."""
        return lambda done: None


class Lines:
    """A few lines for each run."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def begin(self, name: str, episodes: int) -> Show:
        """A run begins."""
        told = 0

        def show(done: int) -> None:
            nonlocal told
            if done * LINES // episodes > told:
                told = done * LINES // episodes
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
