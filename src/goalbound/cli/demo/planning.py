"""The planning part of the demo: the windy grid in each weather, and in their average."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.cli.problems import uniform_context
from goalbound.cli.text import column
from goalbound.models import SSP
from goalbound.planning import evaluate, solve
from goalbound.problems.catalog import catalog_entry
from goalbound.terminal import table


class Day(NamedTuple):
    """One context of the demo; "averaged" is the policy that is best for the average context.

    Attributes:
        name: of the weather.
        best: [S] action of the best policy of this context.
        loss: its expected loss from the start.
        steps: its expected steps from the start.
        averaged_loss: expected loss of the averaged policy from the start; infinite where it is improper.
        stuck: [S] states from which the averaged policy may never reach the goal.
        trapped: [S] recurrent states of the averaged policy other than the goal.
    """

    name: str
    best: list[int]
    loss: float
    steps: float
    averaged_loss: float
    stuck: NDArray[np.bool_]
    trapped: NDArray[np.bool_]


class Weather(NamedTuple):
    """The results of the planning part."""

    rows: int
    columns: int
    corners: list[Day]
    average: Day


def make_weather() -> Weather:
    """Solve the windy grid at every pure context and at their average."""
    problem = catalog_entry("demo").make()
    averaged = solve(problem.at(uniform_context(problem))).policy
    rows, columns = _shape(problem.support.state_names, problem.support.states)
    contexts = zip(problem.component_names or (), np.eye(problem.context_size), strict=True)
    corners = [_day(name, problem.at(corner), averaged) for name, corner in contexts]
    return Weather(rows, columns, corners, _day("average", problem.at(uniform_context(problem)), averaged))


def outcome(day: Day) -> str:
    """Whether the averaged model's policy is proper."""
    if not day.stuck.any():
        return "arrives from every cell"
    held, cells = int(day.stuck.sum()), len(day.stuck)
    return "never arrives, from any cell" if held == cells else f"may never arrive from {held} of {cells} cells"


def planning_text(weather: Weather) -> str:
    """The results of the planning part as text."""
    days = [*weather.corners, weather.average]
    numbers = [[day.loss for day in days], [day.steps for day in days], [day.averaged_loss for day in days]]
    rows = zip([day.name for day in days], *map(column, numbers), map(outcome, days), strict=True)
    lessons = "\n".join(f"  {day.name:10}  {lesson(day, weather)}" for day in weather.corners)
    return f"""\
NO DAY IS THE AVERAGE DAY
A grid of {weather.rows} x {weather.columns} cells, to be crossed from north-west to south-east. To walk one cell
is a loss of 0.4, in any weather. To drift with the wind is a loss of 0.1 a step; in the calm, drifting goes nowhere.
The context is today's weather. Here all is known, and one only has to plan.

{table(["context", "best loss", "steps", "averaged policy", "outcome"], rows, "lrrrl")}

best loss, steps  expected until the goal, by the best policy for this context (bounds certified to 1e-9)
averaged policy   expected loss of the policy that is best for the average context: drift, everywhere

On average drifting is best, because some wind always helps. But no day is the average day:
{lessons}"""


def lesson(day: Day, weather: Weather) -> str:
    """Where the averaged model's policy is trapped."""
    columns = {int(cell) % weather.columns for cell in day.trapped.nonzero()[0]}
    if not columns:
        return "it arrives"
    if day.trapped.all():
        return "nothing moves: it waits for ever where it is"
    border = "east" if columns == {weather.columns - 1} else "south"
    return f"it is blown to the {border} border and waits there for ever"


def trapped_states(ssp: SSP, policy: NDArray[np.int64]) -> NDArray[np.bool_]:
    """[S] the recurrent states of a policy: from there it never reaches the goal.

    For the few cells of a demo: the transitive closure of the policy's moves, O(S^3).
    """
    support = ssp.support
    goal = support.states
    reach = np.eye(goal + 1, dtype=bool)
    for state in range(goal):
        row = support.row(support.pair(state, int(policy[state])))
        reach[state, support.next_state[row][ssp.probabilities[row] > 0.0]] = True
    for through in range(goal + 1):
        reach |= reach[:, through, None] & reach[through]
    comes_back: NDArray[np.bool_] = np.all(~reach | reach.T, axis=1)
    return comes_back[:goal]


def _day(name: str, ssp: SSP, averaged: NDArray[np.int64]) -> Day:
    solution, other = solve(ssp), evaluate(ssp, averaged)
    begin = ssp.start_distribution > 0.0
    law = ssp.start_distribution[begin]
    return Day(
        name=name,
        best=solution.policy.tolist(),
        loss=solution.start_value,
        steps=float(law @ solution.hitting_times[:-1][begin]),
        averaged_loss=float(law @ other.values[:-1][begin]),
        stuck=np.isinf(other.hitting_times[:-1]),
        trapped=trapped_states(ssp, averaged),
    )


def _shape(names: tuple[str, ...] | None, states: int) -> tuple[int, int]:
    """Rows and columns: cells are numbered row by row and named "row 4, column 5"; the goal is the one after."""
    columns = int((names or ("0",))[-1].rpartition(" ")[2]) + 1
    return (states + 1) // columns, columns
