"""The demo as one page that needs nothing else."""

from __future__ import annotations

import platform
from importlib.metadata import version

from goalbound import __version__
from goalbound.cli.demo import policy_grids
from goalbound.cli.demo.charts import demo_charts
from goalbound.cli.demo.learning import DELTA, SEED, STEP_LIMIT, Learning
from goalbound.cli.demo.planning import Weather, outcome
from goalbound.experiments.pages.page import render
from goalbound.experiments.pages.tables import Table, text_rows
from goalbound.learners.ridge import LOCAL_REGULARIZATION
from goalbound.models import LinearCSSP


def page(learning: Learning, weather: Weather) -> str:
    """The whole page."""
    proven, practical, blind = learning.runs
    values = {
        "learning": learning, "proven": proven, "practical": practical, "blind": blind,
        "times": blind.regret / proven.regret,
        "drugs": _drugs(learning.problem), "results": _results(learning),
        "days": [
            {"name": day.name, "best": policy_grids.best_policy(weather, day), "loss": day.loss, "steps": day.steps,
             "averaged": policy_grids.averaged_policy(weather, day), "outcome": outcome(day)}
            for day in weather.corners
        ],
        "weather": weather, "grids": policy_grids,
        "floor": float(learning.problem.losses.min()), "delta": DELTA, "seed": SEED, "step_limit": STEP_LIMIT,
        "local_regularization": LOCAL_REGULARIZATION,
        "version": __version__, "python": platform.python_version(),
        "versions": ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba")),
    }  # fmt: skip
    return render("demo.html", values, package="goalbound.cli.demo", charts=demo_charts(learning))


def _drugs(problem: LinearCSSP) -> Table:
    """The loss of each drug, and the probability that a dose helps each kind of patient."""
    support, kinds = problem.support, problem.component_names or ()
    names = support.action_names or ()
    rows = []
    for pair in range(support.pair_start[0], support.pair_start[1]):  # on the lowest rung, where down is the goal
        row = support.row(pair)
        to_goal = problem.probabilities[row][support.next_state[row] == support.states]
        helps = to_goal[0] if len(to_goal) else [0.0] * len(kinds)
        rows.append(
            [names[support.pair_action[pair]], f"{problem.losses[pair, 0]:g}"] + [f"{share:.0%}" for share in helps]
        )
    heads = ["drug", "loss of a dose", *(f"helps, {kind}" for kind in kinds)]
    return Table(heads, text_rows(rows), "What the learners have to find out", sortable=False)


def _results(learning: Learning) -> Table:
    rows = [
        [run.name, f"{run.regret:,.0f}", f"{run.early:.3f}", f"{run.late:.3f}", str(run.abandoned)]
        for run in learning.runs
    ]
    rows.append(["clairvoyant", "0", f"{learning.early_best:.3f}", f"{learning.late_best:.3f}", "0"])
    heads = ["learner", "regret", "loss at first", "at last", "abandoned"]
    return Table(heads, text_rows(rows), f"{learning.episodes:,} patients, the same for all learners", sortable=False)
