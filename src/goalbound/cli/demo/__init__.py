"""``goalbound demo``: learners with and without the context, and why the averaged policy is improper."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from goalbound.cli.demo import learning
from goalbound.cli.demo.page import page
from goalbound.cli.demo.planning import make_weather
from goalbound.cli.demo.progress import progress_reporter
from goalbound.cli.demo.text import learning_text, planning_text
from goalbound.terminal import one_line

START_MESSAGE = "Learning takes some 15 seconds; the very first time, compiling takes another 30."


def run(arguments: Namespace) -> int:
    """Learn, plan, print the results, write a page."""
    quiet = getattr(arguments, "quiet", False)
    path = Path(arguments.out) / "index.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not quiet:
        print(START_MESSAGE, file=sys.stderr)
    with progress_reporter(quiet=quiet) as progress:
        learned = learning.make_learning(progress, episodes=learning.EPISODES)
    weather = make_weather()
    path.write_text(page(learned, weather), encoding="utf-8")
    text = f"{learning_text(learned)}\n\n\n{planning_text(weather)}"
    print(f"{text}\n\nPictures of all this: {one_line(str(path))}")
    return 0
