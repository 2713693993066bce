"""The room of likelihood-ratio sets, intersected with sharp intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.likelihood.forecasts import make_forecasts
from goalbound.confidence.likelihood.lattice import new_lattice
from goalbound.confidence.likelihood.sets import (
    MOST_CELLS,
    MOST_PAIR_BOUNDS,
    MOST_VERTICES,
    LikelihoodConstants,
    count_missing_forecasts,
    intersect_loss,
    intersect_row,
    learn_likelihood,
    take_over_contexts,
)
from goalbound.confidence.likelihood.state import (
    FORECASTERS,
    LikelihoodState,
    claim_in_use,
    new_likelihood_state,
    part_in_use,
    reset_likelihood,
)
from goalbound.confidence.protocol import ConfidenceModel, Run, SetSlots
from goalbound.confidence.sharp import interval_set, new_sharp_state, sharp_constants
from goalbound.confidence.sharp_kernels import (
    count_variance,
    erase_variance,
    interval_known_width,
    sharp_loss,
    sharp_row,
    start_variance,
    take_over_variance,
)
from goalbound.jit.compile import lean
from goalbound.jit.struct import Struct
from goalbound.models import IntervalSet
from goalbound.models.files.ranges import within
from goalbound.models.validation import set_readonly
from goalbound.planning.kernels.value_iteration import INTERVAL_SET

if TYPE_CHECKING:
    from goalbound.confidence.widths import Widths

SET_SHARE, LIKELIHOOD_SHARE, OTHER_SHARE = 0.45, 0.98, 0.05
"""The shares of delta of the sets of losses, and of rows; what of them belongs to the likelihoods; and the share of
each of the other two items of the good event."""
MOST_BOUNDS = 2**22
"""Numbers times vertices: with more numbers the lattice is coarser."""


class LikelihoodView(Struct):
    """What is forecast of the pair that is played."""

    forecast: NDArray[np.float64]
    """[m + 1, FORECASTERS] the forecasts of the loss and of the next states, for m the most next states of a pair"""


@lean
def likelihood_loss(constants, state, view, pair):
    """The interval of the loss."""
    low, high = sharp_loss(constants, constants.sets.sharp, state, view, pair)
    return intersect_loss(constants, state, view.context, pair, low, high)


@lean
def likelihood_row(constants, state, view, pair):
    """The intervals of the next states."""
    sides = sharp_row(constants, constants.sets.sharp, state.sets.sharp, state, view, pair)
    return intersect_row(constants, state, view, pair, sides)


@lean
def count_visit(constants, state, view, pair):
    """A visit adds bounds of its variances."""
    count_variance(constants, constants.sets.sharp, state.sets.sharp, state, view, pair)


@lean
def start_pair(constants, state, pair):
    """No variance was added."""
    start_variance(constants, constants.sets.sharp, state.sets.sharp, state, pair)


@lean
def erase_pair(constants, state, pair):
    """All that was seen is forgotten."""
    erase_variance(constants, constants.sets.sharp, state.sets.sharp, pair)
    reset_likelihood(state.sets, pair)


@lean
def take_over_pair(constants, state, pair):
    """Likelihoods begin with the next step; visits of another learner count with the largest variance."""
    take_over_variance(constants, constants.sets.sharp, state.sets.sharp, state, pair)
    take_over_contexts(constants, state, pair)


@dataclass(frozen=True)
class Likelihood(ConfidenceModel):
    """The room of likelihood-ratio sets.

    Attributes:
        widths: the rule, with the pieces of the sharp intervals.
    """

    widths: Widths
    slots = SetSlots(
        loss_set=likelihood_loss,
        row_set=likelihood_row,
        known_width=interval_known_width,
        loss_width=interval_known_width,
        before_visit=make_forecasts,
        enters=count_visit,
        missing=count_missing_forecasts,
        learn=learn_likelihood,
        start=start_pair,
        erase=erase_pair,
        take_over=take_over_pair,
    )
    shape = INTERVAL_SET
    learns_from_sets = True

    def constants(self, run: Run) -> LikelihoodConstants:
        """The numbers that have a set: what is known has none, nor has a certain next state, and of two next states
        one is enough."""
        support = run.support
        lengths = np.diff(support.next_start)
        rows = np.repeat(run.counted.rows & (lengths > 1), lengths)
        rows[support.next_start[:-1][lengths == 2] + 1] = False
        losses = run.counted.losses
        tracked = np.concatenate([losses, rows])
        of_pair = MOST_PAIR_BOUNDS // (int(lengths.max()) + 1)
        budget = max(1, min(MOST_VERTICES, of_pair, MOST_BOUNDS // len(tracked)))
        share = SET_SHARE * LIKELIHOOD_SHARE * run.delta
        return LikelihoodConstants(
            sharp=sharp_constants(self.widths, run, SET_SHARE * (1.0 - LIKELIHOOD_SHARE)),
            loss_log=log(max(1, int(losses.sum())) / share),
            row_log=log(max(1, int(rows.sum())) / share),
            vertices=new_lattice(run.size, budget),
            cells=new_lattice(run.size, min(budget, MOST_CELLS)),
            tracked=set_readonly(tracked),
        )

    def delta_of_tests(self, delta: float) -> float:
        """The other two items of the good event have a share of 0.05 each."""
        return delta * (4.0 * OTHER_SHARE)

    def new_state(self, run: Run, constants: Any) -> LikelihoodState:
        """Nothing was seen."""
        return new_likelihood_state(
            run.support.pairs,
            run.support.triples,
            run.size,
            len(constants.vertices.vertices),
            len(constants.cells.vertices),
            sharp=new_sharp_state(run, constants.sharp),
        )

    def new_view(self, run: Run) -> LikelihoodView:
        """Forecasts of 1/2."""
        return LikelihoodView(np.full((int(np.diff(run.support.next_start).max()) + 1, FORECASTERS), 0.5))

    def step_work(self, constants: Any) -> float:
        """Now and then all bounds of a pair are computed again."""
        return float(len(constants.vertices.vertices) * len(constants.cells.vertices))

    def state_in_use(self, state: Any) -> LikelihoodState:
        """Without room for pairs that were not played."""
        return part_in_use(state)

    def claim(self, state: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
        """As many pairs, numbers and rows are in use as the file says."""
        claim_in_use(state, arrays)

    def plan_work(self) -> int:
        """60 ms instead of 1 ms, on a treatment ladder."""
        return 50

    def check(self, learner: Any) -> None:
        """Sums over the visits of the pair whose numbers they are."""
        from goalbound.confidence import checks

        state, ridge = learner._state, checks.ridge_of(learner._constants)
        kept = state.sets.sharp
        checks.check_variance(kept.variance, kept.variance_log_det, state.regression, ridge, learner.support)
        checks.check_likelihood(state.sets, state.regression.visits, learner.support)

    def check_views(self, views: Any) -> None:
        """Forecasts have a logarithm."""
        within("forecast", views.forecast, np.finfo(np.float64).tiny, 1.0 - 2.0**-53)

    def confidence_set(self, learner: Any, view: Any) -> IntervalSet:
        """The intervals of all pairs."""
        return interval_set(learner, view)
