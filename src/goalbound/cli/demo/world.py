"""What the demo shows, computed: the catalog's demo problem under several contexts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.cli.source import middle
from goalbound.models import SSP, ModelError
from goalbound.planning import evaluate, solve
from goalbound.problems.catalog import catalog_entry

MIXED_DAY = (0.8, 0.1, 0.1)
CURVE_SHARES = 1.0 - (2.0 / 3.0) * np.append(np.geomspace(1.0, 0.04, 24), 0.0)
"""Shares of calm, from the average (a third) to all, closer together where the loss rises."""


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


class Demo(NamedTuple):
    """Everything that the text and the page tell."""

    rows: int
    columns: int
    corners: list[Day]
    average: Day
    mixed: Day
    curve: list[tuple[float, float, float]]
    """share of calm, loss of the best policy, loss of the averaged policy"""


def make_demo() -> Demo:
    """Solve the demo at every pure context, at their average, and between the average and the calm."""
    problem = catalog_entry("demo").make()
    names, averaged = problem.component_names, solve(problem.at(middle(problem))).policy
    rows, columns = _shape(problem.support.state_names, problem.support.states)
    if names is None or len(names) != len(MIXED_DAY):
        raise ModelError(f"the demo tells of {len(MIXED_DAY)} weathers; the problem has {names}")

    def day(name: str, *context: float) -> Day:
        return _day(name, problem.at(context), averaged)

    way = [day("", calm, (1.0 - calm) / 2.0, (1.0 - calm) / 2.0) for calm in CURVE_SHARES.tolist()]
    return Demo(
        rows,
        columns,
        [day(name, *corner) for name, corner in zip(names, np.eye(len(names)).tolist(), strict=True)],
        day("average", *middle(problem).tolist()),
        day("80% calm", *MIXED_DAY),
        [(share, one.loss, one.averaged_loss) for share, one in zip(CURVE_SHARES.tolist(), way, strict=True)],
    )


def fate(day: Day) -> str:
    """What becomes of the averaged model's policy."""
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
