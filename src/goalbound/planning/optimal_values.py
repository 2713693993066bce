"""The optimal values of a contextual problem under many contexts: what regret is measured against."""

from __future__ import annotations

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
from goalbound.planning.kernels.elimination import new_evaluation_workspace
from goalbound.planning.solution import Status
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
        self._batch = _Batch(problem) if problem.support.states <= MOST_ELIMINATED else None

    def at(self, contexts: ArrayLike) -> NDArray[np.float64]:
        """[K, S + 1] the optimal values under each of ``contexts[K, d]``; they do not depend on those before."""
        query = _Query(self.problem, _checked(self.problem, contexts), self.tolerance)
        if self._batch is not None:
            self._batch.solve(query)
        else:
            for n in range(len(query.contexts)):
                query.solve_context(n)
        return query.values


class _Query:
    """Contexts and their values, with the planner for those that the batch kernel cannot solve."""

    def __init__(self, problem: LinearCSSP, contexts: NDArray[np.float64], tolerance: float) -> None:
        self.problem, self.contexts, self.tolerance = problem, contexts, tolerance
        self.values = np.empty((len(contexts), problem.support.states + 1))
        self._solved: dict[bytes, int] = {}

    def solve_context(self, n: int) -> NDArray[np.int64] | None:
        """Solve context n by the planner; the pairs [S] of its policy, None if the context was solved before."""
        key = self.contexts[n].tobytes()
        if key in self._solved:
            self.values[n] = self.values[self._solved[key]]
            return None
        ssp = self.problem.at(self.contexts[n])
        try:
            solution = solve(ssp, tolerance=self.tolerance)
        except NoProperPolicy as error:
            error.args = (f"{self._context_name(n)}: {error}",)
            raise
        if solution.status is not Status.CONVERGED:
            raise ArgumentError(
                f"{self._context_name(n)}: {solution.status.value} ({solution.width:.1e} against {self.tolerance:g}); "
                "ask for a larger tolerance"
            )
        self.values[n] = solution.values
        if len(self._solved) < MOST_CACHED:
            self._solved[key] = n
        return pairs_of(ssp, solution.policy)

    def _context_name(self, n: int) -> str:
        return f"contexts[{n}] = {np.array2string(self.contexts[n], separator=', ', threshold=8)}"


class _Batch:
    """The arrays of the batch kernel, a policy to start from for each component, and the last best policies."""

    def __init__(self, problem: LinearCSSP) -> None:
        support, size = problem.support, problem.context_size
        self.components = Components(
            np.array(problem.losses.T, order="C"), np.array(problem.probabilities.T, order="C")
        )  # a component's numbers side by side, so that mixing goes through memory in order
        mixed = np.empty(support.pairs), np.empty(support.triples)
        self.rows = Rows(support.pair_start, support.next_start, support.next_state, *mixed)
        self.workspace = new_evaluation_workspace(support.states)
        self.starts = np.full((size, support.states), UNKNOWN, dtype=np.int64)
        self.policies = np.full((SLOTS, support.states), UNKNOWN, dtype=np.int64)
        self.policy = np.full(support.states, UNKNOWN, dtype=np.int64)
        self.work = support.triples * (size + 2) + support.states**3
        """of one context"""

    def solve(self, query: _Query) -> None:
        """All contexts; those that the kernel cannot solve by the planner."""
        count = len(query.contexts)
        run = _EFFORT.engine(count * self.work // WORK_RATIO)
        done = 0
        while done < count:
            with np.errstate(all="ignore"):  # near the limits of float64; the certificate covers it
                kept = self.starts, self.rows, self.workspace, self.policies, self.policy
                done, missing = run(batch.solve_batch)(
                    self.components, query.contexts, done, query.tolerance, *kept, query.values
                )
            if missing >= 0:
                self.starts[missing] = _start(query.problem, missing)
            elif done < count:
                solved = query.solve_context(done)
                if solved is not None:
                    self.policy[:] = solved
                done += 1


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
