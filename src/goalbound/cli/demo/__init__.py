"""``goalbound demo``: learners with and without the context, and why the averaged policy is improper."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from goalbound import terminal
from goalbound.cli.demo import learning
from goalbound.cli.demo.learning import BeginRun, ReportDone, learning_text
from goalbound.cli.demo.page import page
from goalbound.cli.demo.planning import make_weather, planning_text

START_MESSAGE = "Learning takes some 15 seconds; the very first time, compiling takes another 30."


def run(arguments: Namespace) -> int:
    """Learn, plan, print the results, write a page."""
    quiet = getattr(arguments, "quiet", False)
    path = Path(arguments.out) / "index.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not quiet:
        print(START_MESSAGE, file=sys.stderr)
    with progress_reporter(quiet=quiet) as begin_run:
        learned = learning.make_learning(begin_run, episodes=learning.EPISODES)
    weather = make_weather()
    path.write_text(page(learned, weather), encoding="utf-8")
    text = f"{learning_text(learned)}\n\n\n{planning_text(weather)}"
    print(f"{text}\n\nPictures of all this: {terminal.one_line(str(path))}")
    return 0


@contextmanager
def progress_reporter(*, quiet: bool) -> Iterator[BeginRun]:
    """Bars on stderr, which has the last of them where it is no terminal; or nothing."""
    if quiet:
        yield lambda name, episodes: lambda done: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bars = Progress(*columns, console=terminal.console(sys.stderr))
    try:
        yield partial(_begin_bar, bars)
    finally:
        bars.stop()


def _begin_bar(bars: Progress, name: str, episodes: int) -> ReportDone:
    bars.start()  # not before: a live display of nothing leaves empty lines
    task = bars.add_task(name, total=episodes)
    return lambda done: bars.update(task, completed=done)
