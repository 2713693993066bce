"""``goalbound demo``: learners meet patients, one of them without looking; and why averages do not arrive."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from goalbound.cli.demo import learning
from goalbound.cli.demo.page import page
from goalbound.cli.demo.progress import watching
from goalbound.cli.demo.story import learning_text, planning_text
from goalbound.cli.demo.world import make_weather
from goalbound.cli.text import one_line

PATIENCE = "Learning takes some 15 seconds; the very first time, compiling takes another 30."


def run(arguments: Namespace) -> int:
    """Learn, plan, tell what came of it, leave a page to look at."""
    quiet = getattr(arguments, "quiet", False)
    path = Path(arguments.out) / "index.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not quiet:
        print(PATIENCE, file=sys.stderr)
    with watching(quiet=quiet) as watch:
        learned = learning.make_learning(watch, episodes=learning.EPISODES)
    weather = make_weather()
    path.write_text(page(learned, weather), encoding="utf-8")
    told = f"{learning_text(learned)}\n\n\n{planning_text(weather)}"
    print(f"{told}\n\nPictures of all this: {one_line(str(path))}")
    return 0
