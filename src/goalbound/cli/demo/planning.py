"""The planning part of the demo: the windy grid in each weather, and in their average."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.cli.problem_arguments import uniform_context
from goalbound.models import SSP
from goalbound.planning import evaluate, solve
from goalbound.problems.catalog import catalog_entry


class Day(NamedTuple):
    """One context of the demo; "averaged" is the policy that is best for the average context."""

    name: str
    best: list[int]
    """[S] action of the best policy of this context"""
    loss: float
    """its expected loss from the start"""
    steps: float
    """its expected steps from the start"""
    averaged_loss: float
    """expected loss of the averaged policy from the start; infinite if it may pay for ever"""
    stuck: NDArray[np.bool_]
    """[S] from where the averaged policy may never arrive"""
    trapped: NDArray[np.bool_]
    """[S] where it stays for ever once it is there"""


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
    corners = zip(problem.component_names or (), np.eye(problem.context_size), strict=True)
    return Weather(
        rows,
        columns,
        [_day(name, problem.at(corner), averaged) for name, corner in corners],
        _day("average", problem.at(uniform_context(problem)), averaged),
    )


def outcome(day: Day) -> str:
    """Whether the averaged model's policy is proper."""
    if not day.stuck.any():
        return "arrives from every cell"
    held, cells = int(day.stuck.sum()), len(day.stuck)
    return "never arrives, from any cell" if held == cells else f"may never arrive from {held} of {cells} cells"


def trapped_states(ssp: SSP, policy: NDArray[np.int64]) -> NDArray[np.bool_]:
    """[S] the states among which a policy goes round for ever once it is there.

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
    law = ssp.start_distribution
    begin = law > 0.0
    return Day(
        name,
        solution.policy.tolist(),
        solution.start_value,
        float(law[begin] @ solution.hitting_times[:-1][begin]),
        float(law[begin] @ other.values[:-1][begin]),
        np.isinf(other.hitting_times[:-1]),
        trapped_states(ssp, averaged),
    )


def _shape(names: tuple[str, ...] | None, states: int) -> tuple[int, int]:
    """Rows and columns: cells are numbered row by row and named "row 4, column 5"; the goal is the one after."""
    columns = int((names or ("0",))[-1].rpartition(" ")[2]) + 1
    return (states + 1) // columns, columns
