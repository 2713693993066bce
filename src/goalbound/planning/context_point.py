"""One context of a contextual problem: its optimal values and what policies are worth there."""

from __future__ import annotations

from functools import cached_property
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from goalbound.kernels import elimination
from goalbound.kernels.jit import engine
from goalbound.models import SSP, LinearCSSP
from goalbound.planning.evaluation import evaluate
from goalbound.planning.properness import pairs_of
from goalbound.planning.reduction import rows_of
from goalbound.planning.solution import Solution
from goalbound.planning.solve import solve

Worth = tuple[NDArray[np.float64], NDArray[np.float64]]
"""[S + 1] the values and [S + 1] the expected steps of a policy"""

VALUE_TOLERANCE = 1e-9
MOST_ELIMINATED = 400
"""Up to this many states a policy's chain is eliminated directly."""
MANY = 100
"""About as often, at least, a policy is evaluated in one search: compiling for it pays when this many runs are long."""


class ContextPoint:
    """A context, solved when first asked; what policies are worth there is kept."""

    def __init__(self, problem: LinearCSSP, context: NDArray[np.float64]) -> None:
        self.context = context.copy()
        self.context.flags.writeable = False
        self.ssp: SSP = problem.at(context)
        self._worth: dict[bytes, Worth | None] = {}

    @cached_property
    def solution(self) -> Solution:
        """The optimal values here, certified."""
        return solve(self.ssp, tolerance=VALUE_TOLERANCE)

    @cached_property
    def policy(self) -> NDArray[np.int64]:
        """[S] the pairs of an optimal policy (up to the tolerance of its values)."""
        return pairs_of(self.ssp, self.solution.policy)

    def worth(self, policy: NDArray[np.int64]) -> Worth | None:
        """The values and steps of a policy (pairs [S]) here; None if it is not proper or they cannot be told."""
        key = policy.tobytes()
        if key not in self._worth:
            self._worth[key] = _worth(self.ssp, policy)
        return self._worth[key]


def _worth(ssp: SSP, policy: NDArray[np.int64]) -> Worth | None:
    states = ssp.support.states
    if states > MOST_ELIMINATED:
        found = evaluate(ssp, ssp.support.pair_action[policy].astype(np.int64))
        values, steps = found.values, found.hitting_times
    else:
        values, steps = np.empty(states + 1), np.empty(states + 1)
        room = np.empty((states, states)), np.empty(states), np.empty(states)
        run = engine(MANY * states**3)
        with np.errstate(over="ignore", invalid="ignore"):
            if not run(elimination.policy_worth)(rows_of(ssp), policy, *room, values, steps):
                return None
    return (values, steps) if np.isfinite(values).all() and np.isfinite(steps).all() else None


Corners = tuple[ContextPoint, ...]
"""The vertices of a sub-simplex of contexts."""


class ContextPoints:
    """The points of one problem; sub-simplices that meet in a context share its point."""

    def __init__(self, problem: LinearCSSP) -> None:
        self.problem = problem
        self._alive: WeakValueDictionary[bytes, ContextPoint] = WeakValueDictionary()

    def at(self, context: NDArray[np.float64]) -> ContextPoint:
        """The point that stands at this context."""
        key = context.tobytes()
        point = self._alive.get(key)
        if point is None:
            point = ContextPoint(self.problem, context)
            self._alive[key] = point
        return point
