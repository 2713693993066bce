"""How far it has come: a bar where someone looks, lines where a file does, nothing if that is wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

Show = Callable[[int, float], None]
"""Called with the episodes done and the regret so far."""
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
    console = Console(stderr=True)
    if quiet:
        yield Silent()
    elif not console.is_terminal or console.is_dumb_terminal:
        yield Lines(console)
    else:
        columns = (
            TextColumn("{task.description}"), BarColumn(bar_width=30), TaskProgressColumn(),
            TextColumn("regret {task.fields[regret]:,.0f}"), TimeRemainingColumn(),
        )  # fmt: skip
        with Progress(*columns, console=console) as bars:
            yield Bars(bars)


class Silent:
    """Says nothing."""

    def begin(self, name: str, episodes: int) -> Show:
        """A run begins."""
        return lambda done, regret: None


class Lines:
    """A few lines for each run."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def begin(self, name: str, episodes: int) -> Show:
        """A run begins."""
        told = 0

        def show(done: int, regret: float) -> None:
            nonlocal told
            if done * LINES // episodes > told:
                told = done * LINES // episodes
                self._console.print(
                    f"{name}: {done:,} of {episodes:,}, regret {regret:,.0f}", highlight=False, soft_wrap=True
                )

        return show


class Bars:
    """A bar for each run."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars

    def begin(self, name: str, episodes: int) -> Show:
        """A run begins."""
        task = self._bars.add_task(name, total=episodes, regret=0.0)
        return lambda done, regret: self._bars.update(task, completed=done, regret=regret)
