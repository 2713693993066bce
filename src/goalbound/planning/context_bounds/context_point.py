"""One context of a contextual problem: its optimal values, and the values of policies there. Which contexts are looked
at where there are too many components for a grid."""

from __future__ import annotations

from functools import cached_property
from itertools import combinations
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import engine
from goalbound.models import SSP, LinearCSSP
from goalbound.planning.checks import pairs_of
from goalbound.planning.evaluation import evaluate
from goalbound.planning.kernels import elimination
from goalbound.planning.reduction import rows_of
from goalbound.planning.solution import Solution
from goalbound.planning.solve import solve

ValuesAndSteps = tuple[NDArray[np.float64], NDArray[np.float64]]
"""[S + 1] the values and [S + 1] the expected steps of a policy"""

VALUE_TOLERANCE = 1e-9
MOST_ELIMINATED = 400
"""Up to this many states a policy's chain is eliminated directly."""
EXPECTED_EVALUATIONS = 100
"""A policy is evaluated at least about this often in one search; decides whether compiling pays."""


class ContextPoint:
    """A context, solved on first use; evaluations of policies are cached."""

    def __init__(self, problem: LinearCSSP, context: NDArray[np.float64]) -> None:
        self.context = context.copy()
        self.context.flags.writeable = False
        self.ssp: SSP = problem.at(context)
        self._evaluations: dict[bytes, ValuesAndSteps | None] = {}
        self.priced: dict[float, NDArray[np.float64] | None] = {}

    @cached_property
    def solution(self) -> Solution:
        """The optimal values here, certified."""
        return solve(self.ssp, tolerance=VALUE_TOLERANCE)

    @cached_property
    def policy(self) -> NDArray[np.int64]:
        """[S] the pairs of an optimal policy (up to the tolerance of its values)."""
        return pairs_of(self.ssp, self.solution.policy)

    def evaluate(self, policy: NDArray[np.int64]) -> ValuesAndSteps | None:
        """The values and steps of a policy (pairs [S]) here; None if it is not proper or they are not finite."""
        key = policy.tobytes()
        if key not in self._evaluations:
            self._evaluations[key] = _evaluate(self.ssp, policy)
        return self._evaluations[key]


def _evaluate(ssp: SSP, policy: NDArray[np.int64]) -> ValuesAndSteps | None:
    states = ssp.support.states
    if states > MOST_ELIMINATED:
        found = evaluate(ssp, ssp.support.pair_action[policy].astype(np.int64))
        values, steps = found.values, found.hitting_times
    else:
        values, steps = np.empty(states + 1), np.empty(states + 1)
        scratch = np.empty((states, states)), np.empty(states), np.empty(states)
        run = engine(EXPECTED_EVALUATIONS * states**3)
        with np.errstate(over="ignore", invalid="ignore"):
            if not run(elimination.evaluate_policy)(rows_of(ssp), policy, *scratch, values, steps):
                return None
    return (values, steps) if np.isfinite(values).all() and np.isfinite(steps).all() else None


CornerPoints = tuple[ContextPoint, ...]
"""The vertices of a sub-simplex of contexts."""


class ContextPoints:
    """The points of one problem; sub-simplices that meet in a context share its point."""

    def __init__(self, problem: LinearCSSP) -> None:
        self.problem = problem
        self._points: WeakValueDictionary[bytes, ContextPoint] = WeakValueDictionary()

    def at(self, context: NDArray[np.float64]) -> ContextPoint:
        """The point of this context."""
        key = context.tobytes()
        point = self._points.get(key)
        if point is None:
            point = ContextPoint(self.problem, context)
            self._points[key] = point
        return point


def simplex_landmarks(size: int, *, most: int = 100) -> NDArray[np.float64]:
    """[K, d] the corners, the centre and the middles of the edges, in this order; at most so many.

    >>> simplex_landmarks(2)
    array([[1. , 0. ],
           [0. , 1. ],
           [0.5, 0.5],
           [0.5, 0.5]])
    """
    corners = np.eye(size)
    if size == 1:
        return corners
    middles = [(corners[i] + corners[j]) / 2.0 for i, j in combinations(range(size), 2)]
    return np.array([*corners, corners.mean(axis=0), *middles][:most])
