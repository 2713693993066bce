"""Is an answer right? Judged in NumPy and SciPy, with no code of the planner.

The truth is an interval [lower, upper] that is checked here from first principles. Let T be the Bellman operator:

* ``lower <= T lower`` (and 0 at the goal) puts lower below the values of *every* proper policy: apply it again and
  again along the policy, and what is left of lower vanishes at the goal;
* ``T_policy upper <= upper`` for a *proper* policy and upper >= 0 puts upper above the values of that policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import breadth_first_order

from goalbound import SSP

Values = NDArray[np.float64]


@dataclass(frozen=True)
class ValueBounds:
    """Bounds [S] of the optimal values; infinite where no policy surely reaches the goal."""

    lower: Values
    upper: Values

    def error(self, values: Values) -> float:
        """The largest relative distance of the values from the interval; infinite values must agree."""
        endless = np.isinf(self.lower)
        if values.shape != self.lower.shape or not np.array_equal(np.isinf(values), endless) or np.isnan(values).any():
            return float("inf")
        if endless.all():
            return 0.0
        low, high, value = self.lower[~endless], self.upper[~endless], values[~endless]
        off = np.maximum(low - value, value - high).clip(min=0.0)
        return float(np.max(off / np.maximum(low, 1e-300)))


@dataclass(frozen=True)
class Matrix:
    """The rows of a problem as a sparse matrix [N, S + 1]."""

    ssp: SSP

    @cached_property
    def rows(self) -> csr_matrix:
        support = self.ssp.support
        shape = (support.pairs, support.states + 1)
        return csr_matrix((self.ssp.probabilities, support.next_state, support.next_start), shape=shape)

    def backups(self, values: Values) -> Values:
        """[N] loss now plus expected value [S] afterwards, of every pair."""
        return self.ssp.losses + self.rows @ np.append(values, 0.0)

    def bellman(self, values: Values) -> Values:
        """[S] the smallest backup of each state."""
        return np.minimum.reduceat(self.backups(values), self.ssp.support.pair_start[:-1])


def certificate_flaw(ssp: SSP, lower: Values, upper: Values, policy_pairs: NDArray[np.int64]) -> str | None:
    """What is wrong with bounds [S] that claim to hold for a problem, where pairs [S] are a policy; None if nothing.

    Backups here round in another order than in the planner, so a hair is allowed: less than 1e-8 of a step's loss.
    """
    matrix = Matrix(ssp)
    positive = ssp.losses[ssp.losses > 0.0]
    hair = 1e-8 * (float(positive.min()) if len(positive) else 1.0) + 1e-14 * float(np.max(upper))
    if (upper < lower).any():
        return "upper is below lower"
    if not is_proper(ssp, policy_pairs):
        return "the policy is not proper"
    rise = float(np.max(lower - matrix.bellman(lower)))
    if rise > hair:
        return f"lower is above its backup by {rise:.1e}"
    fall = float(np.max(matrix.backups(upper)[policy_pairs] - upper))
    if fall > hair:
        return f"upper is below its backup by {fall:.1e}"
    return None


def is_proper(ssp: SSP, policy_pairs: NDArray[np.int64]) -> bool:
    """Whether the policy, given by its pairs [S], can reach the goal from every state (then it surely does)."""
    states = ssp.support.states
    chosen = Matrix(ssp).rows[policy_pairs].tocoo()
    there = chosen.data > 0.0
    backwards = csr_matrix(
        (np.ones(int(there.sum()), dtype=np.int8), (chosen.col[there], chosen.row[there])),
        shape=(states + 1, states + 1),
    )
    return len(breadth_first_order(backwards, states, return_predecessors=False)) == states + 1


def dead_ends(ssp: SSP) -> NDArray[np.bool_]:
    """[S] the states from which no policy surely reaches the goal."""
    support = ssp.support
    there = ssp.probabilities > 0.0
    alive = np.ones(support.states + 1, dtype=bool)
    while True:
        safe = np.logical_and.reduceat(alive[support.next_state] | ~there, support.next_start[:-1])
        reached, _ = _backwards(ssp, safe)
        if np.array_equal(reached, alive):
            return ~alive[:-1]
        alive = reached


def exact_values(ssp: SSP) -> Values:
    """[S] by dense policy iteration: for a few thousand states, all of which can surely reach the goal.

    It starts proper and changes an action only for a strict gain, so that it stays proper with zero losses too.
    """
    support = ssp.support
    rows = Matrix(ssp).rows.toarray()[:, :-1]
    _, pairs = _backwards(ssp, np.ones(support.pairs, dtype=bool))
    while True:
        values = np.linalg.solve(np.eye(support.states) - rows[pairs], ssp.losses[pairs])
        backups = ssp.losses + rows @ values
        better = np.array(
            [
                first + int(np.argmin(backups[first:last]))
                for first, last in zip(support.pair_start[:-1], support.pair_start[1:], strict=True)
            ]
        )
        gain = backups[pairs] - backups[better]
        change = gain > 1e-11 * np.maximum(1.0, np.abs(values))
        if not change.any():
            return values
        pairs = np.where(change, better, pairs)


def _backwards(ssp: SSP, allowed: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which of the S + 1 states can reach the goal by allowed pairs [N], and for each a pair that leads nearer."""
    support = ssp.support
    there = ssp.probabilities > 0.0
    reached = np.zeros(support.states + 1, dtype=bool)
    reached[-1] = True
    pairs = support.pair_start[:-1].copy()
    while True:
        nearer = allowed & np.logical_or.reduceat(reached[support.next_state] & there, support.next_start[:-1])
        candidates = np.flatnonzero(nearer & ~reached[support.pair_state])
        if not len(candidates):
            return reached, pairs
        states = support.pair_state[candidates]
        pairs[states] = candidates
        reached[states] = True
