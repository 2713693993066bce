"""The data of the regressions, pair by pair: Gram matrices and sums of what was observed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.confidence import regression as kernels
from goalbound.confidence.protocol import checked_regularization
from goalbound.confidence.regression import UNIT, Pending, RegressionSums, new_pending, new_regression_sums
from goalbound.errors import ArgumentError
from goalbound.jit.compile import engine
from goalbound.models import Step, Support
from goalbound.models.step import checked_step
from goalbound.models.support import SUPPORT_REMEDY
from goalbound.models.validation import (
    check_distribution,
    check_memory,
    check_size,
    check_type,
)


class Statistics:
    """Sums over the steps of every pair, and the inverse of its Gram matrix, kept up to date.

    Memory is O(N d^2 + M d) whatever the number of steps; ``record`` costs O(d^2). Sums are compensated: after any
    number of steps they are within 2^-52 (relative) of the exact ones. The inverse is updated by rank one and computed
    anew every 64 visits of a pair.

    >>> statistics = Statistics(Support.full(1, 1), 2)
    >>> statistics.record([0.5, 0.5], Step(0, 0, 0.2, 1))
    >>> statistics.visits, statistics.gram[0]
    (array([1]), array([[1.25, 0.25], [0.25, 1.25]]))
    """

    def __init__(self, support: Support, context_size: int, *, regularization: float = 1.0) -> None:
        self.support = check_type(support, Support, "support", SUPPORT_REMEDY)
        self.context_size = check_size(context_size, "context_size", "a context has at least one entry")
        self.regularization = checked_regularization(regularization)
        check_memory(support.pairs * self.context_size**2, f"context_size {self.context_size}")
        self._sums = new_regression_sums(support.pairs, support.triples, self.context_size, self.regularization)
        self._scratch = np.zeros(self.context_size), np.zeros((self.context_size, self.context_size))
        self._pending = new_pending(support.pairs, self.context_size)
        self._is_view = False
        self.holds_guesses = False

    @classmethod
    def over(
        cls,
        support: Support,
        regression: RegressionSums,
        regularization: float,
        pending: Pending,
        *,
        holds_guesses: bool = False,
    ) -> Statistics:
        """A view of the sums of a learner: it shows what the learner learns, as it learns.

        ``holds_guesses``: the sums began with guesses, which are no data: no confidence set is made from them.
        """
        statistics = object.__new__(cls)
        statistics.support, statistics.regularization = support, regularization
        statistics.context_size = regression.loss_sums.shape[1]
        statistics._sums, statistics._pending = regression, pending
        statistics._is_view = True
        statistics.holds_guesses = holds_guesses
        return statistics

    def record(self, context: ArrayLike, step: Step) -> None:
        """Enter a step made under a context. A step that cannot be is an error, and changes nothing."""
        if self._is_view:
            raise ArgumentError(
                "these are the statistics of a learner, read-only; a learner learns by learn(context, step)"
            )
        weights = check_distribution(context, "context", self.context_size, "component")
        pair, place = checked_step(self.support, step)
        engine(self.support.triples)(kernels.record)(
            self._sums, self.support.next_start, self.support.next_state, self.support.states,
            pair, place, float(step[2]), weights, self.regularization, *self._scratch,
        )  # fmt: skip

    @property
    def visits(self) -> NDArray[np.int64]:
        """[N] how often each pair was played."""
        return _shown(self._sums.visits)

    @property
    def pending(self) -> NDArray[np.int64]:
        """[N] how many of the visits have no outcome yet: they are in ``visits`` and ``gram``, but not in the sums."""
        return _shown(self._pending.visits)

    @property
    def pending_norms(self) -> NDArray[np.float64]:
        """[N] by how much their outcomes may have moved the estimate of a pair, in the norm of its Gram matrix."""
        return np.multiply(self._pending.norms, UNIT, dtype=np.float64)

    @property
    def gram(self) -> NDArray[np.float64]:
        """[N, d, d] lambda I + sum of c c^T."""
        return _shown(self._sums.gram)

    @property
    def inverse_gram(self) -> NDArray[np.float64]:
        """[N, d, d]"""
        return _shown(self._sums.inverse)

    @property
    def loss_sums(self) -> NDArray[np.float64]:
        """[N, d] sum of loss * c."""
        return _shown(self._sums.loss_sums)

    @property
    def next_sums(self) -> NDArray[np.float64]:
        """[M, d] sum of c over the steps that led to each next state of the support, the goal included."""
        sums = by_support(self.support, self._sums, self._sums.next_sums)
        to_goal = np.flatnonzero(self.support.next_state == self.support.states)
        pair = np.searchsorted(self.support.next_start, to_goal, side="right") - 1
        sums[to_goal] = self._sums.goal_sums[pair]
        return sums

    @property
    def regression(self) -> RegressionSums:
        """The arrays themselves, as kernels take them."""
        return self._sums

    def __repr__(self) -> str:
        inside = repr(self.support).removeprefix("Support(")[:-1]
        return f"Statistics({inside}, {self.context_size} components, {int(self.visits.sum())} steps)"


def by_support(support: Support, regression: RegressionSums, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """[M, d] rows by seen index brought into the order of the support; 0 where a next state was never seen."""
    out = np.zeros_like(rows)
    seen = np.flatnonzero(regression.seen_index >= 0)
    pair = np.searchsorted(support.next_start, seen, side="right") - 1
    out[seen] = rows[support.next_start[pair] + regression.seen_index[seen]]
    return out


def _shown(array: NDArray) -> NDArray:  # type: ignore[type-arg]
    view = array.view()
    view.flags.writeable = False
    return view
