"""Sharp sets: an interval for the loss, and for each next state, of a pair under a context.

With x = V^-1 c, y the outcomes (0 or 1) of a next state, p its true coefficients and S = sum of c (y - p c):

    p c = x sum(c y)  -  x S  +  lambda x p

The first part is the ridge estimate. The second is noise: |x S| <= R w sqrt(log det(V / lambda) + 2 log(1 / failure))
with w the norm of c in V^-1 (the determinant bound), and also at most what the variance allows
(:func:`bernstein_radius`). The third is the bias: coefficients lie in [0, 1], so it is at least lambda times the sum of
the negative entries of x, and at most lambda times that of the positive ones. An x that is not quite V^-1 c adds r p
with r = c - V x (:func:`.regression.solve_context`), and outcomes that are missing add what they may have been.
docs/explanation/sharp.md has the proofs.

The kernels take ``constants.sets.sharp`` and ``state.sets.sharp``: a room that intersects these sets with its own has
them beside what is its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import erf, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.protocol import ConfidenceModel, Run, SetSlots
from goalbound.confidence.regression import EPS, dot, missing_interval, ridge_of, visited
from goalbound.confidence.widths import IntervalPieces, Widths
from goalbound.jit.compile import Kernel, Slot, lean
from goalbound.jit.records import lazy_zeros
from goalbound.jit.struct import Struct
from goalbound.models.files.ranges import LARGEST, within
from goalbound.planning.kernels.value_iteration import INTERVAL_SET

SHARE = 0.25
"""Of the failure probability: losses have a quarter, rows another one."""
EXPONENT_BOUND = 1.0
"""b: exponents of the mixture stay within it."""
CURVATURE = 0.7182818284590451
"""kappa = (e^b - 1 - b) / b^2: exp(x) <= 1 + x + kappa x^2 for x <= b."""
VARIANCE_RIDGE = 4.0
"""rho: what is added to the sums of variances."""
TRUNCATION_LOG = -log(erf(0.5 * EXPONENT_BOUND * sqrt(CURVATURE * VARIANCE_RIDGE)))
"""What cutting the Gaussian mixture costs in each dimension."""
LOG_DET_ROUNDING = 1e-6
"""More than what rounding can take from :func:`variance_log_det_bound`, up to 1e9 visits."""


volume = Slot("volume")
"""``(constants, state, pair, size) -> log`` of the determinant of the Gram matrix, or a bound of it."""
bias_bounds = Slot("bias_bounds")
"""``(constants, direction, norm) -> least, most`` bias of an estimate, for coefficients in [0, 1]."""
row_noise = Slot("row_noise")
"""``(constants, state, place, direction, noise, rounding) -> bound`` of the noise of a next state, ``noise`` being that
by the determinant."""
goal_bounds = Slot("goal_bounds")
"""``(low, high) -> low, high`` of the goal."""


class SharpConstants(Struct):
    """How wide the intervals are; kernels say what they are made of (:func:`filling`)."""

    noise: float
    """R, the sub-Gaussian constant of a number in [0, 1], times the scale"""
    loss_log: float
    """log(1 / failure) of a loss"""
    row_log: float
    """log(1 / failure) of a next state"""
    scale: float
    """of all bounds of noise; that of the bias is what it is"""


class SharpState(Struct):
    """Bounds of variances. Both are empty where nothing asks for them."""

    variance: NDArray[np.float64]
    """[M, d (d + 1) / 2] sums of c c^T times a bound of the variance of the next state then: the lower triangle, row by
    row"""
    variance_log_det: NDArray[np.float64]
    """[M] the log-determinant that belongs to it, with its shares of failure"""


class SharpSets(Struct):
    """``constants.sets`` of the room."""

    sharp: SharpConstants


class SharpSums(Struct):
    """``state.sets`` of the room."""

    sharp: SharpState


@lean
def log_determinant(constants, state, pair, size):
    """As it is."""
    return state.log_det[pair]


@lean
def log_determinant_by_visits(constants, state, pair, size):
    """The largest that so many visits can have."""
    return size * log(1.0 + state.regression.visits[pair] / (constants.regularization * size))


@lean
def self_normalised_radius(constants, state, pair, norm, failure_log, size):
    """How large the noise of an estimate can be, by the determinant of the Gram matrix."""
    surprise = volume(constants, state, pair, size) + 2.0 * (failure_log + state.totals["restart_log"])
    return constants.sets.sharp.noise * norm * sqrt(surprise)


@lean
def bias_by_entries(constants, direction, norm):
    """Entry by entry."""
    least = 0.0
    most = 0.0
    for j in range(len(direction)):
        least += min(direction[j], 0.0)
        most += max(direction[j], 0.0)
    return constants.regularization * least, constants.regularization * most


@lean
def bias_by_norms(constants, direction, norm):
    """By Cauchy and Schwarz."""
    most = sqrt(constants.regularization * len(direction)) * norm
    return -most, most


@lean
def steepest(direction):
    """The largest s that :func:`bernstein_radius` may use for a direction."""
    largest = 0.0
    for j in range(len(direction)):
        largest = max(largest, abs(direction[j]))
    return 0.5 * EXPONENT_BOUND / largest


@lean
def bernstein_radius(sharp, variance, level, direction, rounding):
    """How large the noise of a next state can be, by its variance.

    With H the sum of c c^T times bounds of the variance, plus rho: for every vector z of entries up to b / 2,
    z S <= kappa |z|_H^2 + L with L = log det(H / rho) / 2 + CUT d + log(1 / failure). For z = s x that is
    x S <= kappa s |x|_H^2 + L / s, and the best s is sqrt(L / kappa) / |x|_H, or as large as it may be.
    ``level`` is L; ``variance`` is the lower triangle of H without rho, ``rounding`` bounds that of |x|_H^2.
    """
    steep = steepest(direction)
    square = rounding
    at = 0
    for r in range(len(direction)):
        part = 0.0
        for c in range(r):
            part += variance[at + c] * direction[c]
        at += r + 1
        square += direction[r] * (2.0 * part + (variance[at - 1] + VARIANCE_RIDGE) * direction[r])
    bend = CURVATURE * square
    if level <= bend * steep * steep:
        return sharp.scale * 2.0 * sqrt(bend * level)
    return sharp.scale * (steep * bend + level / steep)


@lean
def noise_by_variance(constants, state, place, direction, noise, rounding):
    """The smaller one of both bounds."""
    kept = state.sets.sharp
    bound = bernstein_radius(
        constants.sets.sharp, kept.variance[place], kept.variance_log_det[place], direction, rounding
    )
    return min(noise, bound)


@lean
def noise_by_determinant(constants, state, place, direction, noise, rounding):
    """That by the determinant alone."""
    return noise


@lean
def bounded_goal(low, high):
    """The goal has an interval as other next states have."""
    return low, high


@lean
def unbounded_goal(low, high):
    """Any mass may go to the goal."""
    return 0.0, 1.0


@lean
def sharp_loss(constants, state, view, pair):
    """The interval of the loss of a pair, cut to [0, 1]."""
    if state.regression.visits[pair] == 0:
        return 0.0, 1.0
    size = len(view.context)
    slack = view.progress["slack"]
    estimate = dot(view.direction, state.regression.loss_sums[pair])
    noise = self_normalised_radius(constants, state, pair, view.norm[pair], constants.sets.sharp.loss_log, size)
    least, most = bias_bounds(constants, view.direction, view.norm[pair])
    below, above = missing_interval(state, pair, view.direction)
    low = estimate - noise + least - slack + below
    high = estimate + noise + most + slack + above
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)


@lean
def vacuous_row(constants, view, pair):
    """Nothing is known of a pair that was never played: all it can lead to is plausible. Returns the sides in all."""
    sets = view.sets
    first = constants.next_start[pair]
    last = constants.next_start[pair + 1]
    for place in range(first, last):
        sets.state[place] = constants.next_state[place]
        sets.low[place] = 0.0
        sets.high[place] = 1.0
    sets.used[pair] = last - first
    return float(last - first)


@lean
def certain_row(constants, view, pair):
    """A pair with a single next state leads there: nothing is to be learned."""
    place = constants.next_start[pair]
    view.sets.state[place] = constants.next_state[place]
    view.sets.low[place] = 1.0
    view.sets.high[place] = 1.0
    view.sets.used[pair] = 1
    return 0.0


@lean
def sharp_row(constants, state, view, pair):
    """The intervals of all next states of a pair, the goal included; returns their lengths in all. O(m d^2) with
    bounds by the variance, else O(m d).

    ``slack`` and ``spread`` bound the rounding, as ``solve_context`` has them: entries of H are at most a quarter of
    those of V and were summed as often as the pair was played.
    """
    if constants.next_start[pair + 1] - constants.next_start[pair] == 1:
        return certain_row(constants, view, pair)
    if state.regression.visits[pair] == 0:
        return vacuous_row(constants, view, pair)
    sets = view.sets
    regression = state.regression
    goal = len(constants.pair_start) - 1
    size = len(view.context)
    direction = view.direction
    slack = view.progress["slack"]
    noise = self_normalised_radius(constants, state, pair, view.norm[pair], constants.sets.sharp.row_log, size)
    least, most = bias_bounds(constants, direction, view.norm[pair])
    below, above = missing_interval(state, pair, direction)
    least += below - slack
    most += above + slack
    rounding = EPS * (regression.visits[pair] + size + 4) * view.progress["spread"]
    first = constants.next_start[pair]
    sides = 0.0
    for place in range(first, constants.next_start[pair + 1]):
        following = constants.next_state[place]
        estimate = 0.0
        if following == goal:
            estimate = dot(direction, regression.goal_sums[pair])
        elif regression.seen_index[place] >= 0:
            estimate = dot(direction, regression.next_sums[first + regression.seen_index[place]])
        bound = row_noise(constants, state, place, direction, noise, rounding)
        low = min(max(estimate - bound + least, 0.0), 1.0)
        high = min(max(estimate + bound + most, 0.0), 1.0)
        if following == goal:
            low, high = goal_bounds(low, high)
        sets.state[place] = following
        sets.low[place] = low
        sets.high[place] = high
        sides += high - low
    sets.used[pair] = constants.next_start[pair + 1] - first
    return sides


@lean
def interval_known_width(constants, state, view, pair, low, high, width):
    """Two members of the set are no further apart, in the L1 norm, than the sum of the lengths: half of that is the
    width of the known test, or half the length of the interval of the losses if that is more."""
    return 0.5 * max(width, high - low)


@lean
def add_variance(low, high, context, failure_log, variance, level):
    """Before a step of a pair is learned from: bounds of the variance of each of its m next states are added.

    ``low`` and ``high`` [m] are their intervals now; ``variance`` [m, d (d + 1) / 2] and ``level`` [m] are brought up
    to date.
    """
    size = len(context)
    for k in range(len(low)):
        mean = min(max(0.5, low[k]), high[k])
        bound = mean * (1.0 - mean)
        trace = 0.0
        at = 0
        for r in range(size):
            for c in range(r + 1):
                variance[k, at + c] += bound * context[r] * context[c]
            at += r + 1
            trace += variance[k, at - 1]
        level[k] = variance_log_det_bound(trace, size, failure_log)


@lean
def variance_log_det_bound(trace, size, failure_log):
    """The L of :func:`bernstein_radius`; the determinant is bounded by the trace."""
    return (
        0.5 * size * log(1.0 + trace / (VARIANCE_RIDGE * size)) + TRUNCATION_LOG * size + failure_log + LOG_DET_ROUNDING
    )


@lean
def count_variance(constants, state, view, pair):
    """Bounds of the variance of a visit, from the intervals that it was planned with."""
    kept = state.sets.sharp
    first = constants.next_start[pair]
    last = constants.next_start[pair + 1]
    add_variance(
        view.sets.low[first:last],
        view.sets.high[first:last],
        view.context,
        constants.sets.sharp.row_log + state.totals["restart_log"],
        kept.variance[first:last],
        kept.variance_log_det[first:last],
    )


@lean
def start_variance(constants, state, pair):
    """A pair without data: no variance was added."""
    size = state.regression.gram.shape[1]
    first = constants.next_start[pair]
    level = variance_log_det_bound(0.0, size, constants.sets.sharp.row_log + state.totals["restart_log"])
    state.sets.sharp.variance_log_det[first : constants.next_start[pair + 1]] = level


@lean
def erase_variance(constants, state, pair):
    """The sums of variances of a pair are 0."""
    state.sets.sharp.variance[constants.next_start[pair] : constants.next_start[pair + 1]] = 0.0


@lean
def take_over_variance(constants, state, pair):
    """Sums came from another learner: each visit of a pair counts with 1/4, the largest variance of any number in
    [0, 1], so a quarter of the Gram matrix without its ridge. O(m d^2) for m next states."""
    kept = state.sets.sharp
    gram = state.regression.gram[pair]
    size = len(gram)
    for place in range(constants.next_start[pair], constants.next_start[pair + 1]):
        trace = 0.0
        at = 0
        for r in range(size):
            for c in range(r):
                kept.variance[place, at + c] = 0.25 * gram[r, c]
            at += r + 1
            kept.variance[place, at - 1] = 0.25 * max(gram[r, r] - constants.regularization, 0.0)
            trace += kept.variance[place, at - 1]
        kept.variance_log_det[place] = variance_log_det_bound(trace, size, constants.sets.sharp.row_log)


def filling(pieces: IntervalPieces) -> dict[Slot, Kernel]:
    """The kernels that intervals of these pieces are made of."""
    return {
        volume: log_determinant if pieces.determinant else log_determinant_by_visits,
        bias_bounds: bias_by_entries if pieces.entrywise else bias_by_norms,
        row_noise: noise_by_variance if pieces.variance else noise_by_determinant,
        goal_bounds: bounded_goal if pieces.goal else unbounded_goal,
    }


@cache
def sharp_slots(pieces: IntervalPieces) -> SetSlots:
    """The kernels of the room."""
    chosen = filling(pieces)
    slots = SetSlots(
        loss_set=sharp_loss.filled(chosen),
        row_set=sharp_row.filled(chosen),
        known_width=interval_known_width,
        loss_width=interval_known_width,
    )
    if not pieces.variance:
        return slots
    return slots._replace(
        enters=count_variance, start=start_variance, erase=erase_variance, take_over=take_over_variance
    )


def sharp_constants(widths: Widths, run: Run, share: float) -> SharpConstants:
    """The constants of the intervals; ``share`` of delta is that of losses, and of rows.

    Half of it is for each side; rows share theirs between two bounds. What is declared needs none.
    """
    pieces = widths.pieces
    unknown = np.repeat(run.counted.rows, np.diff(run.support.next_start))
    if not pieces.goal:
        unknown &= run.support.next_state < run.support.states
    rows = max(1, int(unknown.sum()))
    losses = max(1, int(run.counted.losses.sum()))
    return SharpConstants(
        noise=widths.scale * (0.5 if pieces.half else 1.0),
        loss_log=log(2.0 * losses / (share * run.delta)),
        row_log=log((4.0 if pieces.variance else 2.0) * rows / (share * run.delta)),
        scale=widths.scale,
    )


def new_sharp_state(widths: Widths, run: Run) -> SharpState:
    """No variance was added."""
    triples = run.support.triples if widths.pieces.variance else 0
    return SharpState(lazy_zeros((triples, run.size * (run.size + 1) // 2)), np.zeros(triples))


def check_variance(learner: Any) -> None:
    """An error unless sums of variances are those of c c^T times at most a quarter; they may be empty."""
    state, kept = learner._state, learner._state.sets.sharp
    if not len(kept.variance):
        return
    data, slack = visited(state.regression, ridge_of(learner._constants))
    rows, columns = np.tril_indices(data.shape[1])
    lengths = np.diff(learner.support.next_start)
    most = np.repeat(0.25 * data[:, rows, columns] + slack[:, None], lengths, axis=0)
    within("variance of state.sets", kept.variance, 0.0, most)
    within("variance_log_det of state.sets", kept.variance_log_det, 0.0, LARGEST)


@dataclass(frozen=True)
class Sharp(ConfidenceModel):
    """The room of sharp sets.

    Attributes:
        widths: the rule: the pieces of the intervals, and their scale.
    """

    widths: Widths
    shape = INTERVAL_SET
    learns_from_sets = True

    @property
    def slots(self) -> SetSlots:  # type: ignore[override]
        """The kernels of the pieces."""
        return sharp_slots(self.widths.pieces)

    def constants(self, run: Run) -> SharpSets:
        """The constants of the intervals."""
        return SharpSets(sharp_constants(self.widths, run, SHARE))

    def new_state(self, run: Run, constants: Any) -> SharpSums:
        """Nothing was seen."""
        return SharpSums(new_sharp_state(self.widths, run))

    def check(self, learner: Any) -> None:
        """Sums of variances are at most a quarter of those of the contexts."""
        check_variance(learner)
