"""An adversary that knows the truth: it chooses contexts under which a confidence set is about to lose it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound import LinearCSSP
from goalbound.models import IntervalSet

ROUNDING = 1e-9
"""Numbers this close count as equal."""


@dataclass(frozen=True, eq=False)
class TruthAdversary:
    """Chooses, among ``candidates`` [K, d], the context under which the truth is closest to leaving an interval.

    The slack of a number is its distance to the nearer end of its interval, relative to the length of the interval; it
    is negative where the truth lies outside. Of all losses and next states of all pairs the smallest counts. The
    confidence sets hold for all contexts at once, however they are chosen, so that this source, which no learner can
    expect, is within the guarantee.

    The learner needs ``confidence_set(context)`` in intervals, on the support of ``problem``.

    >>> from goalbound import LRCSSP, widths
    >>> from goalbound.problems import windy_grid
    >>> problem = windy_grid(2, 3)
    >>> source = TruthAdversary(problem, lattice(3, steps=2))
    >>> learner = LRCSSP(problem.support, 3, loss_floor=0.1, widths=widths.sharp())
    >>> source.slacks(learner)  # nothing was seen: all intervals are as long as can be
    array([inf, inf, inf, inf, inf, inf])
    """

    problem: LinearCSSP
    candidates: NDArray[np.float64]

    @property
    def context_size(self) -> int:
        """d, the length of a context."""
        return self.candidates.shape[1]

    def choose(self, rng: np.random.Generator, episode: int, learner: Any) -> NDArray[np.float64]:
        """[d] the candidate of the smallest slack; a random one of equals."""
        slacks = self.slacks(learner)
        return self.candidates[rng.choice(np.flatnonzero(slacks == slacks.min()))]

    def slacks(self, learner: Any) -> NDArray[np.float64]:
        """[K] the smallest slack under each candidate; infinite where no interval can lose anything yet."""
        return np.array([self._slack(learner, context) for context in self.candidates])

    def _slack(self, learner: Any, context: NDArray[np.float64]) -> float:
        sets: IntervalSet = learner.confidence_set(context)
        losses, rows = self.problem.losses @ context, self.problem.probabilities @ context
        return min(
            _smallest_slack(losses, sets.loss_low, sets.loss_high, floor=learner.settings.loss_floor),
            _smallest_slack(rows, sets.low, sets.high),
        )


def lattice(context_size: int, *, steps: int) -> NDArray[np.float64]:
    """[K, d] all contexts whose weights are multiples of 1 / ``steps``.

    >>> lattice(2, steps=2)
    array([[0. , 1. ],
           [0.5, 0.5],
           [1. , 0. ]])
    """
    places = steps + context_size - 1
    bars = np.array(list(combinations(range(places), context_size - 1)), dtype=np.int64)
    ends = np.pad(bars, ((0, 0), (1, 1)), constant_values=((0, 0), (-1, places)))
    return (np.diff(ends, axis=1) - 1) / steps


def _smallest_slack(
    truth: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64], *, floor: float = 0.0
) -> float:
    """Ends at ``floor`` and at 1 lose nothing, as no number lies beyond them; nor do intervals of what is certain."""
    length = high - low
    uncertain = length > ROUNDING
    apart = np.where(uncertain, length, 1.0)
    below = np.where(uncertain & (low > floor + ROUNDING), (truth - low) / apart, np.inf)
    above = np.where(uncertain & (high < 1.0 - ROUNDING), (high - truth) / apart, np.inf)
    return float(np.minimum(below, above).min())
