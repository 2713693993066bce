"""The optimal values of a contextual problem under many contexts: what regret is measured against."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ArgumentError, InputError, NoProperPolicy
from goalbound.jit.compile import Effort
from goalbound.models import LinearCSSP
from goalbound.models.arrays import Rows
from goalbound.models.validation import check_array, check_fraction
from goalbound.planning.checks import pairs_of, require_contextual
from goalbound.planning.kernels import batch
from goalbound.planning.kernels.batch import NONE, SLOTS, UNKNOWN, Components
from goalbound.planning.kernels.elimination import EvaluationWorkspace, new_evaluation_workspace
from goalbound.planning.solution import Solution, Status
from goalbound.planning.solve import solve

MOST_ELIMINATED = 300
"""Up to this many states contexts are solved in one batch, each policy by elimination: 10 to 100 times faster."""
MOST_CACHED = 100_000
"""The most contexts solved one by one whose values are cached, for when they come again."""
WORK_RATIO = 8
"""A triple costs about this much less here than in the planner, which goes over all of them many times."""


_EFFORT = Effort()  # of the whole process: simulations pass contexts in many small chunks


def optimal_values(problem: LinearCSSP, contexts: ArrayLike, *, tolerance: float = 1e-9) -> NDArray[np.float64]:
    """[K, S + 1] the optimal values under each of ``contexts[K, d]``, certified: for a million of them.

    Guarantee: with v* the smallest value of any proper policy of ``problem.at(context)`` in exact arithmetic (see
    :func:`goalbound.planning.solve`), there are certified bounds ``lower <= v* <= upper`` that hold the values as well,
    with ``upper - lower <= tolerance * upper`` in every state. So ``|values - v*| <= tolerance * upper``.

    Small problems are solved in one batch by policy iteration, each context from the best policy of one nearby
    (:mod:`goalbound.planning.kernels.batch`); ties, up to rounding, go to the lowest action, so that a result does
    not depend on the contexts before it. What cannot be certified there, such as best policies with free steps, goes
    to :func:`goalbound.planning.solve`, as do large problems, where only contexts that come again are cheap.

    Args:
        problem: S states; losses may be zero.
        contexts: K points of the simplex; each sums to 1 within 1e-9 and is then divided by its sum.
        tolerance: largest relative width of the bounds.

    Raises:
        NoProperPolicy: some state has no proper policy under some context; names both.
        ArgumentError: a context is not a point of the simplex, or its values cannot be bounded to the tolerance.

    A drug that always works (loss 0.5), or one (loss 0.2) that works in 0.9, 0.5 or 0.1 of all cases:

    >>> drugs = LinearCSSP.dense([[[0.5, 0.2]], [[0.5, 0.2]]], [[[[0, 1.0], [0.1, 0.9]]], [[[0, 1.0], [0.9, 0.1]]]])
    >>> optimal_values(drugs, [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    array([[0.22222222, 0.        ],
           [0.4       , 0.        ],
           [0.5       , 0.        ]])
    """
    return OptimalValues(problem, tolerance=tolerance).at(contexts)


class OptimalValues:
    """:func:`optimal_values` for contexts that come in parts: what they share is computed once.

    >>> drugs = LinearCSSP.dense([[[0.5, 0.2]], [[0.5, 0.2]]], [[[[0, 1.0], [0.1, 0.9]]], [[[0, 1.0], [0.9, 0.1]]]])
    >>> values = OptimalValues(drugs)
    >>> values.at([[0.5, 0.5]]), values.at([[0.0, 1.0]])
    (array([[0.4, 0. ]]), array([[0.5, 0. ]]))
    """

    def __init__(self, problem: LinearCSSP, *, tolerance: float = 1e-9) -> None:
        self.problem = require_contextual(problem)
        self.tolerance = check_fraction(tolerance, "tolerance", "a relative width")
        self._batch = _Batch.of(problem) if problem.support.states <= MOST_ELIMINATED else None

    def at(self, contexts: ArrayLike) -> NDArray[np.float64]:
        """[K, S + 1] the optimal values under each of ``contexts[K, d]``; they do not depend on those before."""
        points = _checked(self.problem, contexts)
        support, kept, known = self.problem.support, self._batch, dict[bytes, int]()
        values = np.empty((len(points), support.states + 1))
        work = support.triples * (points.shape[1] + 2) + support.states**3  # of one context
        run = None if kept is None else _EFFORT.engine(len(points) * work // WORK_RATIO)
        done = 0
        while done < len(points):
            if run is not None and kept is not None:
                with np.errstate(all="ignore"):  # near the limits of float64; the certificate covers it
                    done, missing = run(batch.solve_batch)(
                        kept.components, points, done, self.tolerance, *kept[1:], values
                    )
                if missing >= 0:
                    kept.starts[missing] = _start(self.problem, missing)
                    continue
                if done == len(points):
                    break
            key = points[done].tobytes()
            if key in known:
                values[done] = values[known[key]]
            else:
                solution = self._solved(points[done], f"contexts[{done}]")
                values[done] = solution.values
                if kept is not None:
                    kept.policy[:] = pairs_of(solution.problem, solution.policy)
                if len(known) < MOST_CACHED:
                    known[key] = done
            done += 1
        return values

    def _solved(self, context: NDArray[np.float64], name: str) -> Solution:
        """The answer of the planner, or an error that names the context."""
        named = f"{name} = {np.array2string(context, separator=', ', threshold=8)}"
        try:
            solution = solve(self.problem.at(context), tolerance=self.tolerance)
        except NoProperPolicy as error:
            error.args = (f"{named}: {error}",)
            raise
        if solution.status is not Status.CONVERGED:
            raise ArgumentError(
                f"{named}: {solution.status.value} ({solution.width:.1e} against {self.tolerance:g}); ask for a larger "
                "tolerance"
            )
        return solution


class _Batch(NamedTuple):
    """What the batch kernel keeps: arrays, a policy to start from for each component, and the last best policies."""

    components: Components
    starts: NDArray[np.int64]
    """[d, S]"""
    rows: Rows
    workspace: EvaluationWorkspace
    policies: NDArray[np.int64]
    """[SLOTS, S] of contexts nearby"""
    policy: NDArray[np.int64]
    """[S] of the last context"""

    @classmethod
    def of(cls, problem: LinearCSSP) -> _Batch:
        """Nothing was solved yet."""
        support, states = problem.support, problem.support.states
        # A component's numbers stand side by side, so that mixing goes through memory in order.
        parts = (np.array(table.T, order="C") for table in (problem.losses, problem.probabilities))
        mixed = np.empty(support.pairs), np.empty(support.triples)
        return cls(
            Components(*parts),
            np.full((problem.context_size, states), UNKNOWN, dtype=np.int64),
            Rows(support.pair_start, support.next_start, support.next_state, *mixed),
            new_evaluation_workspace(states),
            np.full((SLOTS, states), UNKNOWN, dtype=np.int64),
            np.full(states, UNKNOWN, dtype=np.int64),
        )


def _start(problem: LinearCSSP, component: int) -> NDArray[np.int64]:
    """[S] the pairs of a good proper policy under a component; NONE if there is none."""
    ssp = problem.component(component)
    pairs = pairs_of(ssp, solve(ssp, unreachable="exclude").policy)
    return pairs if (pairs >= 0).all() else np.full_like(pairs, NONE)


def _checked(problem: LinearCSSP, contexts: ArrayLike) -> NDArray[np.float64]:
    """[K, d] a copy of the contexts, each as ``problem.check_context`` gives it, or an error that names the row."""
    size = problem.context_size
    meaning = f"shape [K, d] = (K, {size}), one context in each row"
    points = np.array(check_array(contexts, "contexts", (None, size), meaning), order="C")
    with np.errstate(invalid="ignore"):
        off = np.abs(points.sum(axis=1) - 1.0)
    # Within 4 roundings of 1 whatever the order of the sum: check_context would give the row back as it is.
    plain = off <= 4.0 * 2.0**-52
    weights = (points >= 0.0) & (points <= 1.0)
    if not weights.all():
        plain &= weights.all(axis=1)
    for n in np.flatnonzero(~plain).tolist():
        try:
            points[n] = problem.check_context(points[n])
        except InputError as error:
            raise ArgumentError(f"contexts[{n}]: {error}") from None
    return points
