"""Posterior sampling: plan in a draw around the estimate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.points import POINT_SLOTS, Points, estimated_loss, estimated_row
from goalbound.confidence.protocol import Run
from goalbound.confidence.regression import dot
from goalbound.jit.compile import Kernel, Slot, lean
from goalbound.jit.records import new_record, record_type
from goalbound.jit.struct import Struct
from goalbound.learners.explore.greedy import CEILING
from goalbound.learners.explore.protocol import ExplorationRule, ExploreSlots, check_rule
from goalbound.learners.loop import invalidate
from goalbound.models.files.ranges import within
from goalbound.planning.kernels.stochastic_rows import NO_GOAL, cannot_reach_goal

LEAST_VARIANCE = 0.04
"""Added to the estimated variance of an outcome, where draws are by the variance."""
OPTIMISTIC_DEVIATIONS = 1.5
"""Optimistic plans: so many standard deviations are taken from the estimate of a loss."""
OPTIMISTIC_RADIUS = 0.7
"""Optimistic plans: the radius of the ball of a row is this times the squared norm of the context."""
MOST_DEVIATIONS = 50.0
"""No standard normal number that is drawn is as far from 0."""
PLAN_PROGRESS = record_type(reals=("planned_loss",), integers=("optimistic",))
"""Fields of :attr:`PosteriorView.progress`: the loss that the plan expected where it was begun; whether it is
optimistic."""


deviation = Slot("deviation")
"""``(spread, estimate, norm)`` ``spread`` standard deviations of an estimate; the norm is that of the context in
V^-1."""


class PosteriorConstants(Struct):
    """How plans are drawn, and when they end."""

    spread: float
    """the standard deviation of a coefficient is this in the norm of the Gram matrix"""
    optimism: float
    """the share of plans that are optimistic instead"""
    patience: float
    """a plan ends once more is lost under it than this times 1 plus what it expected"""


class PosteriorView(Struct):
    """What was drawn for a plan."""

    noise: NDArray[np.float64]
    """[M + N] standard normal numbers, by triple of the support and then by pair"""
    progress: np.void
    """fields: PLAN_PROGRESS"""


@lean
def begin_sampling(constants, state, view):
    """No plan was drawn yet."""
    view.explore.progress["planned_loss"] = 0.0
    view.explore.progress["optimistic"] = 0


@lean
def draw_noise(constants, view, rng):
    """Noise, by which every pair looks different."""
    view.explore.progress["optimistic"] = 0
    for k in range(len(view.explore.noise)):
        view.explore.noise[k] = rng.standard_normal()
    invalidate(view)


@lean
def draw_plan(constants, view, rng):
    """Whether the plan is optimistic, and noise."""
    is_optimistic = rng.random() < constants.explore.optimism
    draw_noise(constants, view, rng)
    view.explore.progress["optimistic"] = int(is_optimistic)


@lean
def plain_deviation(spread, estimate, norm):
    """That of the coefficients alone."""
    return spread * norm


@lean
def deviation_by_variance(spread, estimate, norm):
    """Times that of an outcome with this mean, and of the mean itself while little was seen of it."""
    mean = min(max(estimate, 0.0), 1.0)
    return spread * norm * sqrt(mean * (1.0 - mean) + norm * norm + LEAST_VARIANCE)


@lean
def drawn_loss(constants, state, view, pair):
    """The loss of a draw, or the optimistic one."""
    loss = estimated_loss(state, view, pair)
    norm = view.norm[pair]
    if view.explore.progress["optimistic"] == 1:
        loss -= deviation(OPTIMISTIC_DEVIATIONS, loss, norm)
    else:
        noise = view.explore.noise[len(constants.next_state) + pair]
        loss += deviation(constants.explore.spread, loss, norm) * noise
    return min(1.0, loss), min(1.0, loss)


@lean
def drawn_row(constants, state, view, pair):
    """The row of a draw, or the ball of an optimistic plan."""
    norm = view.norm[pair]
    if view.explore.progress["optimistic"] == 1:
        radius = OPTIMISTIC_RADIUS * norm * norm
        view.sets.ball[pair] = radius * radius
        estimated_row(constants, state, view, pair)
    else:
        view.sets.ball[pair] = 0.0
        sample_row(constants, state, view, pair, norm)
    return 0.0


@lean
def sample_row(constants, state, view, pair, norm):
    """A draw of the row of a pair: the estimate plus noise, projected on the sub-simplex, or on the simplex where the
    goal cannot follow. O(m d) for m next states.

    Next states that were never seen may get mass too, so all of the support is in use.
    """
    sets = view.sets
    goal = len(constants.pair_start) - 1
    first = constants.next_start[pair]
    count = 0
    for place in range(first, constants.next_start[pair + 1]):
        if constants.next_state[place] == goal:
            continue
        index = state.regression.seen_index[place]
        estimate = dot(state.sets.rows[first + index], view.context) if index >= 0 else 0.0
        q = deviation(constants.explore.spread, estimate, norm) * view.explore.noise[place]
        if index >= 0:
            for j in range(len(view.context)):
                q += state.sets.rows[first + index, j] * view.context[j]
        sets.centre[first + count] = q
        sets.state[first + count] = constants.next_state[place]
        count += 1
    stochastic = cannot_reach_goal(constants, pair)
    to_simplex(sets.centre[first : first + count], stochastic)
    mass = 0.0
    for k in range(first, first + count):
        mass += sets.centre[k] * sets.centre[k]
    sets.used[pair] = count
    sets.mass[pair] = NO_GOAL if stochastic else mass


@lean
def to_simplex(row, stochastic):
    """The nearest row, in the Euclidean norm, of numbers that are not negative and sum to at most 1, or to 1
    (``stochastic``); in place.

    It is max(0, q - t): t = 0 if that may be and sums to at most 1, else the t that makes it 1, which rises to its
    place in finitely many steps from below.
    """
    if stochastic and len(row) == 1:
        row[0] = 1.0
        return
    t = -np.inf if stochastic else 0.0
    while True:
        total = 0.0
        count = 0
        for k in range(len(row)):
            if row[k] > t:
                total += row[k]
                count += 1
        following = (total - 1.0) / count if count > 0 else 0.0
        if not following > t:  # nor where an entry is no number
            break
        t = following
    for k in range(len(row)):
        row[k] = max(row[k] - t, 0.0)


@lean
def ends_impatiently(constants, state, view, pair, loss):
    """A plan that loses far more than it expected ends: a draw may be a plan that never arrives, and where its pairs
    were played often, no determinant doubles soon."""
    if view.progress["interval_loss"] == 0.0:
        view.explore.progress["planned_loss"] = view.iteration.values[constants.pair_state[pair]]
    paid = view.progress["interval_loss"] + (loss + constants.added_loss)
    return paid > constants.explore.patience * (1.0 + view.explore.progress["planned_loss"])


@cache
def draws_with(of_estimate: Kernel) -> Points:
    """The room of draws whose deviations are these."""
    filling = {deviation: of_estimate}
    return Points(
        POINT_SLOTS._replace(loss_set=drawn_loss.filled(filling), row_set=drawn_row.filled(filling)),
    )


SLOTS = ExploreSlots(begin_exploring=begin_sampling, draw=draw_plan, ends=ends_impatiently)


@dataclass(frozen=True)
class Posterior(ExplorationRule):
    """Plan in a draw from the Gaussian posterior of losses and rows; a share ``optimism`` of the plans is optimistic.

    Attributes:
        spread: the standard deviation of a coefficient, in the norm of the pair's Gram matrix. 1/2 is the noise of a
            number in [0, 1] at its largest.
        by_variance: that is multiplied by the estimated standard deviation of an outcome.
        optimism: the share of plans that are optimistic instead of drawn.
        patience: a plan ends once more is lost under it than this times 1 plus what it expected.
        ceiling: no value of a plan is above it; a draw may have no good way to the goal.
    """

    spread: float = 0.5
    by_variance: bool = False
    optimism: float = 0.0
    patience: float = inf
    ceiling: float = CEILING
    name = "sampled"
    draws = True

    def __post_init__(self) -> None:
        check_rule(self)

    def constants(self, run: Run) -> PosteriorConstants:
        """How plans are drawn."""
        return PosteriorConstants(self.spread, self.optimism, self.patience)

    def room(self, constants: Any) -> Points:
        """Draws around the estimates."""
        return draws_with(deviation_by_variance if self.by_variance else plain_deviation)

    def slots(self, constants: Any) -> ExploreSlots:
        """Those that draw."""
        return SLOTS if self.optimism > 0.0 else SLOTS._replace(draw=draw_noise)

    def new_view(self, run: Run) -> PosteriorView:
        """Nothing was drawn."""
        return PosteriorView(np.zeros(run.support.triples + run.support.pairs), new_record(PLAN_PROGRESS))

    def draw(self, learner: Any, view: Any) -> None:
        """As the kernel, number for number: handing a generator to compiled code takes longer than the draws."""
        drawn, rng = view.explore, learner._rng
        drawn.progress["optimistic"] = int(self.optimism > 0.0 and rng.random() < self.optimism)
        rng.standard_normal(out=drawn.noise)
        view.revision.fill(-1)
        view.iteration.progress["residual"] = np.inf

    def check_views(self, views: Any) -> None:
        """Noise that can be drawn."""
        within("noise", views.noise, -MOST_DEVIATIONS, MOST_DEVIATIONS)

    def card_numbers(self) -> dict[str, float]:
        """The spread."""
        return {"spread": self.spread}

    def describe(self) -> list[str]:
        """The spread, and the share of optimistic plans."""
        described = [f"spread {self.spread:.3g}{' x the estimated deviation' if self.by_variance else ''}"]
        if self.optimism > 0.0:
            described.append(f"{self.optimism:.3g} of the plans optimistic")
        return described
