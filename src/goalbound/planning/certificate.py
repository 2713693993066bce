"""Bounds that hold whatever the planner did: one sweep over all pairs, every rounding error counted against us.

For a reduced problem, values v and any shape h > 0:

- if w = v - x h satisfies w <= loss + P w for every pair, then w is at most the value of every proper policy (apply
  the inequality along the policy: what is left of w dies out because the policy ends);
- if u = v + y h >= 0 satisfies u >= loss + P u for the pairs of a proper policy, then u is at least its value.

For h = v a backup pays its loss, so losses that are all positive suffice. Where losses are zero or tiny, h = v + f g is
used, with g the expected number of moves to the goal: it falls by one with every move of the policy. Pairs that tie
with the policy's at no loss must make it fall as well; the policy that g counts is switched to them until they do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goalbound.kernels import bellman
from goalbound.kernels.layout import Rows
from goalbound.planning.chain import ChainSolver

TIE_ROUNDS = 30
UNIT = 2.0**-53


@dataclass(frozen=True, eq=False)
class Certificate:
    """Bounds [Q + 1] of the optimal values of a reduced problem, and their largest relative width."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    width: float


def certify(
    rows: Rows,
    usable: NDArray[np.bool_],
    policy: NDArray[np.int64],
    values: tuple[NDArray[np.float64], NDArray[np.float64]],
    floor: float,
    tolerance: float,
    solver: ChainSolver,
) -> Certificate:
    """The best bounds found for values (leading, trailing part); [0, infinity) if none can be shown.

    ``solver`` holds the chain of the policy. The policy is checked to be proper.
    """
    states = len(policy)
    leading, low = values
    nothing = Certificate(np.zeros(states + 1), np.append(np.full(states, np.inf), 0.0), np.inf)
    if not states:
        return Certificate(np.zeros(1), np.zeros(1), 0.0)
    active = policy >= 0
    if not solver.reached()[active].all() or not (leading[:-1][active] > 0.0).all():
        return nothing
    best = _bounds(rows, usable, policy, values, leading, solver)
    if best is not None and best.width <= tolerance:
        return best
    best = nothing if best is None else best
    counted = policy.copy()
    for _ in range(TIE_ROUNDS):
        moves, _ = solver.solve(np.ones(states), np.ones(states), 0.1)
        shape = leading.copy()
        shape[:-1] += floor * moves
        shape[:-1][~active] = 0.0
        if (shape[:-1][active] > 0.0).all():
            found = _bounds(rows, usable, policy, values, shape, solver)
            if found is not None and found.width < best.width:
                best = found
        if best.width <= tolerance:
            break
        if not solver.run(bellman.raise_ties)(rows, usable, counted, leading, low, shape, 0.1 * floor):
            break
        solver.take(counted)
    solver.take(policy)
    return best


def _bounds(
    rows: Rows,
    usable: NDArray[np.bool_],
    policy: NDArray[np.int64],
    values: tuple[NDArray[np.float64], NDArray[np.float64]],
    shape: NDArray[np.float64],
    solver: ChainSolver,
) -> Certificate | None:
    leading, low = values
    report = np.empty(5)
    solver.run(bellman.certify)(rows, usable, policy, leading, low, shape, report)
    least_x, greatest_x, least_y, greatest_y, hopeless = report
    if hopeless or least_x > greatest_x or least_y > greatest_y or not np.isfinite(least_y):
        return None
    trailing = low if len(low) else np.zeros_like(leading)
    slip = 4.0 * UNIT * (leading + np.abs(trailing) + (least_x + least_y) * shape)
    lower = np.maximum(leading - least_x * shape + trailing - slip, 0.0)
    upper = leading + least_y * shape + trailing + slip
    lower[-1] = upper[-1] = 0.0
    active = policy >= 0
    width = float(np.max((upper[:-1][active] - lower[:-1][active]) / upper[:-1][active], initial=0.0))
    return Certificate(lower, upper, width)
