"""The models that are plausible under one context: intervals for losses, and balls or intervals for rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from goalbound import models  # for models.SSP, which is loaded when it is asked for
from goalbound.errors import ModelError
from goalbound.models.support import SUPPORT_REMEDY, Support
from goalbound.models.validation import ROW_TOLERANCE, check_array, check_float, check_type, readonly_copy

if TYPE_CHECKING:
    from goalbound.models import SSP


@dataclass(frozen=True, eq=False, repr=False)
class BallSet:
    """The plausible losses and rows of every pair under one context.

    A loss lies in [``loss_low``, ``loss_high``]. A row, *the goal left out*, lies in the Euclidean ball of ``radii``
    around ``rows``, is not negative and leads only where the support says. It sums to at most 1, what it lacks goes to
    the goal; where the goal is not among the next states of the pair, it sums to 1. This is the image, under the
    context, of the ellipsoids around the estimated matrices (eq. dynamics-confidence-set-per-context).

    Attributes:
        support: the pairs and where each may lead; S states, N pairs, M triples.
        loss_low, loss_high: [N] losses, 0 <= low <= high.
        rows: [M] the centres, in the order of the support. Entries of the goal are ignored.
        radii: [N] not negative.

    >>> from goalbound.models import SSP, Support
    >>> plausible = BallSet(Support.full(1, 1), [0.2], [0.4], [0.5, 0.5], [0.1])
    >>> plausible.contains(SSP.dense([[0.3]], [[[0.45, 0.55]]])), plausible.contains(SSP.dense([[0.3]], [[[0.0, 1.0]]]))
    (True, False)
    """

    support: Support
    loss_low: NDArray[np.float64]
    loss_high: NDArray[np.float64]
    rows: NDArray[np.float64]
    radii: NDArray[np.float64]

    def __post_init__(self) -> None:
        support = check_type(self.support, Support, "support", SUPPORT_REMEDY)
        for name, size in (("loss_low", "pairs"), ("loss_high", "pairs"), ("rows", "triples"), ("radii", "pairs")):
            wanted = getattr(support, size)
            array = check_array(getattr(self, name), name, (wanted,), f"shape ({wanted},), one per {size[:-1]}")
            object.__setattr__(self, name, readonly_copy(array, np.float64))
        self._check(self.loss_low >= 0.0, "loss_low is {value:g}; losses are not negative", self.loss_low)
        self._check(self.loss_high >= self.loss_low, "loss_high {value:g} is not at least loss_low", self.loss_high)
        self._check(self.radii >= 0.0, "the radius is {value:g}; it is not negative", self.radii)
        bad = np.flatnonzero(self.to_state & ~((self.rows >= 0.0) & (self.rows <= 1.0)))
        if len(bad):
            pair = int(np.searchsorted(support.next_start, bad[0], side="right")) - 1
            raise ModelError(f"{support.pair_name(pair)}: rows holds {self.rows[bad[0]]:g}, which is not a probability")
        totals = np.add.reduceat(np.where(self.to_state, self.rows, 0.0), support.next_start[:-1])
        message = "the row sums to {value:.12g} without the goal; a row sums to at most 1, the goal takes the rest"
        self._check(totals <= 1.0 + ROW_TOLERANCE, message, totals)
        message = (
            "the row sums to {value:.12g}, and the pair cannot lead to the goal, which would take the rest; such a row "
            "sums to 1"
        )
        self._check(support.leads_to_goal | (totals >= 1.0 - ROW_TOLERANCE), message, totals)

    def _check(self, right: NDArray[np.bool_], message: str, values: NDArray[np.float64]) -> None:
        """An error for the first pair that is not right; comparisons are false for NaN, so NaN is an error too."""
        if not right.all():
            pair = int(np.flatnonzero(~right)[0])
            raise ModelError(f"{self.support.pair_name(pair)}: " + message.format(value=values[pair]))

    @property
    def to_state(self) -> NDArray[np.bool_]:
        """[M] which triples lead to a state, not to the goal."""
        return self.support.next_state < self.support.states

    def distances(self, ssp: SSP) -> NDArray[np.float64]:
        """[N] how far the rows of a problem are from the centres, the goal left out."""
        _check_same_pairs(self.support, ssp)
        apart = -self._row_table(self.support, self.rows) + self._row_table(ssp.support, ssp.probabilities)
        return np.sqrt(np.asarray(apart.multiply(apart).sum(axis=1)).ravel())

    def contains(self, ssp: SSP, *, slack: float = 1e-12) -> bool:
        """Whether the problem is plausible: all its losses and all its rows, which lead only where the support says."""
        slack = check_float(slack, "slack", "how far outside a number may lie, for rounding")
        rows = self.distances(ssp) <= self.radii + slack
        known, _ = triple_positions(self.support, ssp.support)
        if (ssp.probabilities[~known] > slack).any():
            return False
        losses = (ssp.losses >= self.loss_low - slack) & (ssp.losses <= self.loss_high + slack)
        return bool(losses.all() and rows.all())

    @staticmethod
    def _row_table(support: Support, entries: NDArray[np.float64]):  # type: ignore[no-untyped-def]
        """[N, S] sparse, without the goal."""
        from scipy.sparse import csr_array

        table = csr_array((entries, support.next_state, support.next_start), shape=(support.pairs, support.states + 1))
        return table[:, : support.states]

    def __repr__(self) -> str:
        widest = float(self.radii.max())
        return f"BallSet({repr(self.support).removeprefix('Support(')[:-1]}, radii up to {widest:.3g})"


@dataclass(frozen=True, eq=False, repr=False)
class IntervalSet:
    """The plausible losses and rows of every pair under one context, an interval for each number.

    Attributes:
        support: the pairs and where each may lead; S states, N pairs, M triples.
        loss_low, loss_high: [N] losses.
        low, high: [M] probabilities, in the order of the support, the goal included; a row also sums to 1.

    >>> from goalbound.models import SSP, Support
    >>> plausible = IntervalSet(Support.full(1, 1), [0.2], [0.4], [0.4, 0.3], [0.7, 0.6])
    >>> plausible.contains(SSP.dense([[0.3]], [[[0.45, 0.55]]])), plausible.contains(SSP.dense([[0.3]], [[[0.3, 0.7]]]))
    (True, False)
    """

    support: Support
    loss_low: NDArray[np.float64]
    loss_high: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def __post_init__(self) -> None:
        check_type(self.support, Support, "support", SUPPORT_REMEDY)
        for name, size in (("loss_low", "pairs"), ("loss_high", "pairs"), ("low", "triples"), ("high", "triples")):
            wanted = getattr(self.support, size)
            array = check_array(getattr(self, name), name, (wanted,), f"shape ({wanted},), one per {size[:-1]}")
            if np.isnan(array).any():
                raise ModelError(f"{name}[{int(np.flatnonzero(np.isnan(array))[0])}] is not a number")
            object.__setattr__(self, name, readonly_copy(array, np.float64))
        for low, high in (("loss_low", "loss_high"), ("low", "high")):
            above = np.flatnonzero(getattr(self, low) > getattr(self, high))
            if len(above):
                raise ModelError(f"an interval ends before it begins: {low}[{above[0]}] is above {high}[{above[0]}]")

    def contains(self, ssp: SSP, *, tolerance: float = 1e-9) -> bool:
        """Whether the losses and rows of a problem lie in all intervals, up to ``tolerance``.

        The problem has the same pairs; next states outside the support must have probability 0.
        """
        support = self.support
        tolerance = check_float(tolerance, "tolerance", "how far outside a number may lie, for rounding")
        _check_same_pairs(support, ssp)
        known, places = triple_positions(support, ssp.support)
        rows = np.zeros(support.triples)
        rows[places[known]] = ssp.probabilities[known]
        if ssp.probabilities[~known].any():
            return False
        losses = (self.loss_low - tolerance <= ssp.losses) & (ssp.losses <= self.loss_high + tolerance)
        return bool(losses.all() and ((self.low - tolerance <= rows) & (rows <= self.high + tolerance)).all())

    def __repr__(self) -> str:
        return f"IntervalSet({self.support.pairs} pairs, {self.support.triples} next states)"


def _check_same_pairs(support: Support, ssp: SSP) -> None:
    check_type(ssp, models.SSP, "ssp", "give a problem without context (SSP)")
    if not support.same_pairs(ssp.support):
        raise ModelError("the problem has other states or actions than the set")


def triple_positions(support: Support, other: Support) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """For each triple of another support with the same pairs: whether the support has it too, and its position."""
    width = support.states + 1
    mine = np.repeat(np.arange(support.pairs), np.diff(support.next_start)) * width + support.next_state
    theirs = np.repeat(np.arange(support.pairs), np.diff(other.next_start)) * width + other.next_state
    return np.isin(theirs, mine), np.searchsorted(mine, theirs)


def tighten_intervals(
    support: Support, low: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Intervals [M] of probabilities, each cut to what the others of its row leave: rows sum to 1.

    low_i is at least 1 minus the other highs, high_i at most 1 minus the other lows; every end is then attained by a
    row. Intervals that no row fits in stay as they are.
    """
    first, lengths = support.next_start[:-1], np.diff(support.next_start)
    least, most = (np.repeat(np.add.reduceat(ends, first), lengths) for ends in (low, high))
    cut = (low < high) & (least <= 1.0) & (most >= 1.0)
    upper = np.where(cut, np.minimum(high, 1.0 - (least - low)), high)
    lower = np.where(cut, np.maximum(low, 1.0 - (most - high)), low)
    return np.minimum(lower, upper), upper
