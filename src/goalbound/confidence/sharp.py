"""The room of sharp sets: an interval for the loss, and for each next state, of a pair under a context.

:mod:`goalbound.confidence.sharp_kernels` has the formulas, docs/explanation/sharp.md the proofs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

from goalbound.confidence.protocol import ConfidenceModel, Run, SetSlots
from goalbound.confidence.sharp_kernels import (
    SharpConstants,
    SharpState,
    count_variance,
    erase_variance,
    interval_known_width,
    sharp_loss,
    sharp_row,
    start_variance,
    take_over_variance,
)
from goalbound.jit.compile import lean
from goalbound.jit.lazy_arrays import lazy_zeros
from goalbound.models import IntervalSet
from goalbound.models.confidence_set import tighten_intervals
from goalbound.planning.kernels.value_iteration import INTERVAL_SET

if TYPE_CHECKING:
    from goalbound.confidence.widths import Widths

SHARE = 0.25
"""Of the failure probability: losses have a quarter, rows another one."""


@lean
def loss_interval(constants, state, view, pair):
    """The interval of the loss."""
    return sharp_loss(constants, constants.sets, state, view, pair)


@lean
def row_intervals(constants, state, view, pair):
    """The intervals of the next states."""
    return sharp_row(constants, constants.sets, state.sets, state, view, pair)


@lean
def count_visit_variance(constants, state, view, pair):
    """A visit adds bounds of its variances."""
    count_variance(constants, constants.sets, state.sets, state, view, pair)


@lean
def start_variances(constants, state, pair):
    """No variance was added."""
    start_variance(constants, constants.sets, state.sets, state, pair)


@lean
def erase_variances(constants, state, pair):
    """All variances are forgotten."""
    erase_variance(constants, constants.sets, state.sets, pair)


@lean
def take_over_variances(constants, state, pair):
    """Visits of another learner count with the largest variance."""
    take_over_variance(constants, constants.sets, state.sets, state, pair)


def sharp_constants(widths: Widths, run: Run, share: float) -> SharpConstants:
    """The constants of the intervals; ``share`` of delta is that of losses, and of rows.

    Half of it is for each side; rows share theirs between two bounds. What is declared needs none.
    """
    pieces = widths.intervals
    assert pieces is not None
    support = run.support
    unknown = np.repeat(run.counted.rows, np.diff(support.next_start))
    if not pieces.goal:
        unknown &= support.next_state < support.states
    rows = max(1, int(unknown.sum()))
    losses = max(1, int(run.counted.losses.sum()))
    row_log = log((4.0 if pieces.variance else 2.0) * rows / (share * run.delta))
    return SharpConstants(
        goal=pieces.goal,
        determinant=pieces.determinant,
        entrywise=pieces.entrywise,
        variance=pieces.variance,
        noise=widths.scale * (0.5 if pieces.half else 1.0),
        loss_log=log(2.0 * losses / (share * run.delta)),
        row_log=row_log,
        variance_log=row_log,
        scale=widths.scale,
    )


def new_sharp_state(run: Run, constants: SharpConstants) -> SharpState:
    """No variance was added."""
    triples = run.support.triples if constants.variance else 0
    return SharpState(lazy_zeros((triples, run.size * (run.size + 1) // 2)), np.zeros(triples))


def interval_set(learner: Any, view: Any) -> IntervalSet:
    """The intervals of all pairs. Both ends of each are those of rows that sum to 1: what the others leave is cut."""
    low, high = tighten_intervals(learner.support, view.sets.low, view.sets.high)
    return IntervalSet(learner.support, view.sets.losses, view.loss_high, low, high)


@dataclass(frozen=True)
class Sharp(ConfidenceModel):
    """The room of sharp sets.

    Attributes:
        widths: the rule: the pieces of the intervals, and their scale.
    """

    widths: Widths
    slots = SetSlots(
        loss_set=loss_interval,
        row_set=row_intervals,
        known_width=interval_known_width,
        loss_width=interval_known_width,
        enters=count_visit_variance,
        start=start_variances,
        erase=erase_variances,
        take_over=take_over_variances,
    )
    shape = INTERVAL_SET
    learns_from_sets = True

    def constants(self, run: Run) -> SharpConstants:
        """The constants of the intervals."""
        return sharp_constants(self.widths, run, SHARE)

    def new_state(self, run: Run, constants: Any) -> SharpState:
        """Nothing was seen."""
        return new_sharp_state(run, constants)

    def check(self, learner: Any) -> None:
        """Sums of variances are at most a quarter of those of the contexts."""
        from goalbound.confidence import checks

        state, ridge = learner._state, checks.ridge_of(learner._constants)
        kept = state.sets
        checks.check_variance(kept.variance, kept.variance_log_det, state.regression, ridge, learner.support)

    def confidence_set(self, learner: Any, view: Any) -> IntervalSet:
        """The intervals of all pairs."""
        return interval_set(learner, view)
