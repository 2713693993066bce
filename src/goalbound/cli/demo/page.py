"""The demo as one page that needs nothing else."""

from __future__ import annotations

import platform
from importlib.metadata import version

from goalbound import __version__
from goalbound.cli.demo import policy_grids
from goalbound.cli.demo.learning import DELTA, SEED, STEP_LIMIT, Learning, Points
from goalbound.cli.demo.planning import Weather, outcome
from goalbound.experiments.pages.charts import Chart, axis, line, reference
from goalbound.experiments.pages.page import render
from goalbound.experiments.pages.style import line_style
from goalbound.experiments.pages.tables import Table, text_rows
from goalbound.learners.ridge import POOLED
from goalbound.models import LinearCSSP


def page(learning: Learning, weather: Weather) -> str:
    """The whole page."""
    proven, practical, blind = learning.runs
    days = [
        {
            "name": day.name,
            "best": policy_grids.best_policy(weather, day),
            "loss": day.loss,
            "steps": day.steps,
            "averaged": policy_grids.averaged_policy(weather, day),
            "outcome": outcome(day),
        }
        for day in weather.corners
    ]
    values = {
        "learning": learning,
        "proven": proven,
        "practical": practical,
        "blind": blind,
        "times": blind.regret / proven.regret,
        "drugs": _drugs(learning.problem),
        "results": _results(learning),
        "days": days,
        "weather": weather,
        "grids": policy_grids,
        "floor": float(learning.problem.losses.min()),
        "delta": DELTA,
        "seed": SEED,
        "step_limit": STEP_LIMIT,
        "pooled": POOLED,
        "version": __version__,
        "python": platform.python_version(),
        "versions": ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba")),
    }
    charts = [regret_chart(learning), optimistic_value_chart(learning)]
    return render("demo.html", values, package="goalbound.cli.demo", charts=charts)


def regret_chart(learning: Learning) -> Chart:
    """Regret so far against patients; in logarithms a power is a straight line and its exponent the slope."""
    traces = [line(run.name, *_columns(run.regrets), line_style(place)) for place, run in enumerate(learning.runs)]
    last, least = float(learning.episodes), min(run.regret for run in learning.runs)
    guides = ((0.5, "slope 1/2: the theorem's rate", "6px,3px"), (1.0, "slope 1: nothing is learned", "2px,4px"))
    for power, name, dash in guides:
        ends = [last / 30.0, last]
        traces.append(reference(name, ends, [least * 0.5 * (end / last) ** power for end in ends], dash=dash))
    axes = {
        "xaxis": axis("patients so far, K", log=True),
        "yaxis": axis("expected regret so far", log=True),
        "showlegend": True,
    }
    return Chart(
        name="regret",
        title="Regret so far of each learner against patients so far",
        traces=traces,
        height=430,
        layout=axes,
        columns=("learner", "patients", "expected regret"),
        options={"scales": True},
    )


def optimistic_value_chart(learning: Learning) -> Chart:
    """The optimistic value of LR-CSSP, against the true optimal value."""
    last, proven = float(learning.episodes), learning.runs[0]
    traces = [
        line(proven.name, *_columns(proven.planned_values), line_style(0)),
        reference("true value", [1.0, last], [learning.even_best] * 2, dash="6px,3px"),
    ]
    axes = {
        "xaxis": axis("patients so far", log=True),
        "yaxis": axis("value", rangemode="tozero"),
        "showlegend": True,
    }
    return Chart(
        name="optimism",
        title="Optimistic value of LR-CSSP against patients so far",
        traces=traces,
        height=330,
        layout=axes,
        columns=("series", "patients", "value"),
    )


def _columns(points: Points) -> tuple[list[float], list[float]]:
    return [float(f"{x:.7g}") for x, _ in points], [float(f"{y:.7g}") for _, y in points]


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
