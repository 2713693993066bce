"""``goalbound demo``: a small windy world in which the policy that is best on average never arrives."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from goalbound.cli.demo.page import page
from goalbound.cli.demo.world import Day, Demo, fate, make_demo
from goalbound.cli.text import column, one_line, table


def run(arguments: Namespace) -> int:
    """Solve the demo, tell what it shows, leave a page to look at."""
    demo = make_demo()
    path = Path(arguments.out) / "index.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(demo), encoding="utf-8")
    print(f"{told(demo)}\n\nPictures of all this: {one_line(str(path))}")
    return 0


def told(demo: Demo) -> str:
    """The story in a screen of text."""
    days = [*demo.corners, demo.mixed, demo.average]
    rows = zip(
        (day.name for day in days),
        column([day.loss for day in days]),
        column([day.steps for day in days]),
        column([day.averaged_loss for day in days]),
        (fate(day) for day in days),
        strict=True,
    )
    return "\n".join(
        [
            f"A grid of {demo.rows} x {demo.columns} cells, to be crossed from north-west to south-east.",
            "To walk one cell is a loss of 0.4, in any weather. To drift with the wind is a loss of 0.1 a step.",
            "The context is today's weather. In the calm, drifting goes nowhere.",
            "",
            table(["context", "best loss", "steps", "averaged policy", "outcome"], rows, "lrrrl"),
            "",
            "best loss, steps  expected until the goal, by the best policy for this context (bounds certified to 1e-9)",
            "averaged policy   expected loss of the policy that is best for the average context: drift, everywhere",
            "",
            "On average drifting is best, because some wind always helps. But no day is the average day:",
            *(f"  {day.name:10}  {lesson(day, demo)}" for day in demo.corners),
            "Each weather has a policy that surely arrives. A planner needs the context to find it; a learner must",
            "find it without going round for ever on the way.",
        ]
    )


def lesson(day: Day, demo: Demo) -> str:
    """Where the averaged model's policy is caught."""
    columns = {int(cell) % demo.columns for cell in day.trapped.nonzero()[0]}
    if not columns:
        return "it arrives"
    if day.trapped.all():
        return "nothing moves: it waits for ever where it is"
    border = "east" if columns == {demo.columns - 1} else "south"
    return f"it is blown to the {border} border and waits there for ever"
