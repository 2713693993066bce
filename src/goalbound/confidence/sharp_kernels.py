"""Interval sets: an interval for the loss and for each next state of a pair under a context. The sharp widths.

With x = V^-1 c, y the outcomes (0 or 1) of a next state, p its true coefficients and S = sum of c (y - p c):

    p c = x sum(c y)  -  x S  +  lambda x p

The first part is the ridge estimate. The second is noise: |x S| <= R w sqrt(log det(V / lambda) + 2 log(1 / failure))
with w the norm of c in V^-1 (the determinant bound), and also at most what the variance allows
(:func:`bernstein_radius`). The third is the bias: coefficients lie in [0, 1], so it is at least lambda times the sum of
the negative entries of x, and at most lambda times that of the positive ones. An x that is not quite V^-1 c adds r p
with r = c - V x (:func:`.regression.solve_context`), and outcomes that are missing add what they may
have been (:mod:`goalbound.confidence.pending`).
"""

from math import erf, log, sqrt

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.pending import pending_interval
from goalbound.confidence.regression import EPS
from goalbound.jit.compile import lean
from goalbound.jit.struct import Struct

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


class SharpConstants(Struct):
    """How the intervals are made (:func:`goalbound.widths.sharp` says why they are valid)."""

    goal: bool
    """whether the goal has an interval of its own; else any mass may go there"""
    determinant: bool
    """whether the determinant of the Gram matrix is used, or a bound of it by the visits"""
    entrywise: bool
    """whether the bias of the ridge is bounded entry by entry, or by norms"""
    variance: bool
    """whether bounds by the variance of a next state are used where they are smaller"""
    noise: float
    """R, the sub-Gaussian constant of a number in [0, 1], times the scale"""
    loss_log: float
    """log(1 / failure) of a loss"""
    row_log: float
    """log(1 / failure) of a next state"""
    variance_log: float
    """log(1 / failure) of a next state, for the bound by the variance"""
    scale: float
    """of all bounds of noise; that of the bias is what it is"""


class SharpState(Struct):
    """Bounds of variances. Both are empty where nothing asks for them."""

    variance: NDArray[np.float64]
    """[M, d (d + 1) / 2] sums of c c^T times a bound of the variance of the next state then: the lower triangle, row by
    row"""
    variance_log_det: NDArray[np.float64]
    """[M] the log-determinant that belongs to it, with its shares of failure"""


@lean
def self_normalised_radius(constants, sharp, state, pair, norm, failure_log, size):
    """How large the noise of an estimate can be, by the determinant of the Gram matrix."""
    volume = state.log_det[pair]
    if not sharp.determinant:
        volume = size * log(1.0 + state.regression.visits[pair] / (constants.regularization * size))
    return sharp.noise * norm * sqrt(volume + 2.0 * (failure_log + state.totals["restart_log"]))


@lean
def bias_bounds(constants, sharp, direction, norm, size):
    """The least and the largest bias of an estimate, for coefficients in [0, 1]."""
    if not sharp.entrywise:
        most = sqrt(constants.regularization * size) * norm
        return -most, most
    least = 0.0
    most = 0.0
    for j in range(size):
        least += min(direction[j], 0.0)
        most += max(direction[j], 0.0)
    return constants.regularization * least, constants.regularization * most


@lean
def steepest(direction):
    """The largest s that :func:`bernstein_radius` may use for a direction."""
    largest = 0.0
    for j in range(len(direction)):
        largest = max(largest, abs(direction[j]))
    return 0.5 * EXPONENT_BOUND / largest


@lean
def bernstein_radius(sharp, variance, level, direction, steep, rounding, size):
    """How large the noise of a next state can be, by its variance.

    With H the sum of c c^T times bounds of the variance, plus rho: for every vector z of entries up to b / 2,
    z S <= kappa |z|_H^2 + L with L = log det(H / rho) / 2 + CUT d + log(1 / failure). For z = s x that is
    x S <= kappa s |x|_H^2 + L / s, and the best s is sqrt(L / kappa) / |x|_H, or as large as it may be (``steep``).
    ``level`` is L; ``variance`` is the lower triangle of H without rho, ``rounding`` bounds that of |x|_H^2.
    """
    square = rounding
    at = 0
    for r in range(size):
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
def sharp_loss(constants, sharp, state, view, pair):
    """The interval of the loss of a pair, cut to [0, 1]."""
    if state.regression.visits[pair] == 0:
        return 0.0, 1.0
    size = len(view.context)
    slack = view.progress["slack"]
    estimate = 0.0
    for j in range(size):
        estimate += view.direction[j] * state.regression.loss_sums[pair, j]
    noise = self_normalised_radius(constants, sharp, state, pair, view.norm[pair], sharp.loss_log, size)
    least, most = bias_bounds(constants, sharp, view.direction, view.norm[pair], size)
    below, above = pending_interval(state.pending, pair, view.direction)
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
def sharp_row(constants, sharp, kept, state, view, pair):
    """The intervals of all next states of a pair, the goal included; returns their lengths in all. O(m d^2) with
    bounds by the variance, else O(m d).

    ``kept`` is the state of these sets. ``slack`` and ``spread`` bound the rounding, as ``solve_context`` has them:
    entries of H are at most a quarter of those of V and were summed as often as the pair was played.
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
    noise = self_normalised_radius(constants, sharp, state, pair, view.norm[pair], sharp.row_log, size)
    least, most = bias_bounds(constants, sharp, direction, view.norm[pair], size)
    below, above = pending_interval(state.pending, pair, direction)
    least += below - slack
    most += above + slack
    rounding = EPS * (regression.visits[pair] + size + 4) * view.progress["spread"]
    steep = steepest(direction) if sharp.variance else 0.0
    first = constants.next_start[pair]
    sides = 0.0
    for place in range(first, constants.next_start[pair + 1]):
        following = constants.next_state[place]
        estimate = 0.0
        if following == goal:
            for j in range(size):
                estimate += direction[j] * regression.goal_sums[pair, j]
        elif regression.seen_index[place] >= 0:
            for j in range(size):
                estimate += direction[j] * regression.next_sums[first + regression.seen_index[place], j]
        bound = noise
        if sharp.variance:
            variance, level = kept.variance[place], kept.variance_log_det[place]
            bound = min(bound, bernstein_radius(sharp, variance, level, direction, steep, rounding, size))
        low = min(max(estimate - bound + least, 0.0), 1.0)
        high = min(max(estimate + bound + most, 0.0), 1.0)
        if following == goal and not sharp.goal:
            low = 0.0
            high = 1.0
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
def count_variance(constants, sharp, kept, state, view, pair):
    """Bounds of the variance of a visit, from the intervals that it was planned with."""
    if sharp.variance:
        first = constants.next_start[pair]
        last = constants.next_start[pair + 1]
        add_variance(
            view.sets.low[first:last],
            view.sets.high[first:last],
            view.context,
            sharp.variance_log + state.totals["restart_log"],
            kept.variance[first:last],
            kept.variance_log_det[first:last],
        )


@lean
def start_variance(constants, sharp, kept, state, pair):
    """A pair without data: no variance was added."""
    size = state.regression.gram.shape[1]
    level = variance_log_det_bound(0.0, size, sharp.variance_log + state.totals["restart_log"])
    if sharp.variance:
        for place in range(constants.next_start[pair], constants.next_start[pair + 1]):
            kept.variance_log_det[place] = level


@lean
def erase_variance(constants, sharp, kept, pair):
    """The sums of variances of a pair are 0."""
    if sharp.variance:
        for place in range(constants.next_start[pair], constants.next_start[pair + 1]):
            for j in range(kept.variance.shape[1]):
                kept.variance[place, j] = 0.0


@lean
def take_over_variance(constants, sharp, kept, state, pair):
    """Sums came from another learner: each visit of a pair counts with 1/4, the largest variance of any number in
    [0, 1], so a quarter of the Gram matrix without its ridge. O(m d^2) for m next states."""
    gram = state.regression.gram[pair]
    size = len(gram)
    if sharp.variance:
        for place in range(constants.next_start[pair], constants.next_start[pair + 1]):
            trace = 0.0
            at = 0
            for r in range(size):
                for c in range(r):
                    kept.variance[place, at + c] = 0.25 * gram[r, c]
                at += r + 1
                kept.variance[place, at - 1] = 0.25 * max(gram[r, r] - constants.regularization, 0.0)
                trace += kept.variance[place, at - 1]
            kept.variance_log_det[place] = variance_log_det_bound(trace, size, sharp.variance_log)
