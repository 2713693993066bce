"""Interval sets: an interval for the loss and for each next state of a pair under a context. The sharp widths.

With x = V^-1 c, y the outcomes (0 or 1) of a next state, p its true coefficients and S = sum of c (y - p c):

    p c = x sum(c y)  -  x S  +  lambda x p

The first part is the ridge estimate. The second is noise: |x S| <= R w sqrt(log det(V / lambda) + 2 log(1 / failure))
with w the norm of c in V^-1 (the determinant bound), and also at most what the variance allows
(:func:`bernstein_radius`). The third is the bias: coefficients lie in [0, 1], so it is at least lambda times the sum of
the negative entries of x, and at most lambda times that of the positive ones. An x that is not quite V^-1 c adds r p
with r = c - V x (:func:`goalbound.kernels.regression.solve_context`), and outcomes that are missing add what they may
have been (:mod:`goalbound.kernels.pending`).
"""

from math import erf, log, sqrt

from goalbound.jit.compile import lean
from goalbound.kernels.pending import pending_interval
from goalbound.kernels.regression import EPS

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


@lean
def self_normalised_radius(constants, learner, pair, norm, failure_log, size):
    """How large the noise of an estimate can be, by the determinant of the Gram matrix."""
    volume = learner.log_det[pair]
    if not constants.intervals.determinant:
        volume = size * log(1.0 + learner.regression.visits[pair] / (constants.regularization * size))
    return constants.intervals.noise * norm * sqrt(volume + 2.0 * (failure_log + learner.totals["restart_log"]))


@lean
def bias_bounds(constants, direction, norm, size):
    """The least and the largest bias of an estimate, for coefficients in [0, 1]."""
    if not constants.intervals.entrywise:
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
def bernstein_radius(constants, variance, level, direction, steep, rounding, size):
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
        return constants.intervals.scale * 2.0 * sqrt(bend * level)
    return constants.intervals.scale * (steep * bend + level / steep)


@lean
def loss_interval(constants, learner, episode, pair, slack):
    """The interval of the loss of a pair, cut to [0, 1]. ``slack``: of rounding, as ``solve_context`` has it."""
    size = len(episode.context)
    estimate = 0.0
    for j in range(size):
        estimate += episode.direction[j] * learner.regression.loss_sums[pair, j]
    noise = self_normalised_radius(constants, learner, pair, episode.norm[pair], constants.intervals.loss_log, size)
    least, most = bias_bounds(constants, episode.direction, episode.norm[pair], size)
    below, above = pending_interval(learner.pending, pair, episode.direction)
    low = estimate - noise + least - slack + below
    high = estimate + noise + most + slack + above
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)


@lean
def vacuous_row(constants, episode, pair):
    """Nothing is known of a pair that was never played: all it can lead to is plausible. Returns the sides in all."""
    sets = episode.sets
    first = constants.next_start[pair]
    last = constants.next_start[pair + 1]
    for place in range(first, last):
        sets.state[place] = constants.next_state[place]
        sets.low[place] = 0.0
        sets.high[place] = 1.0
    sets.used[pair] = last - first
    return float(last - first)


@lean
def certain_row(constants, episode, pair):
    """A pair with a single next state leads there: nothing is to be learned."""
    place = constants.next_start[pair]
    episode.sets.state[place] = constants.next_state[place]
    episode.sets.low[place] = 1.0
    episode.sets.high[place] = 1.0
    episode.sets.used[pair] = 1


@lean
def row_intervals(constants, learner, episode, pair, slack, spread):
    """The intervals of all next states of a pair, the goal included; returns their lengths in all.

    ``slack`` and ``spread`` bound the rounding, as ``solve_context`` has them: entries of H are at most a quarter of
    those of V and were summed as often as the pair was played.
    """
    sets = episode.sets
    regression = learner.regression
    goal = len(constants.pair_start) - 1
    size = len(episode.context)
    direction = episode.direction
    noise = self_normalised_radius(constants, learner, pair, episode.norm[pair], constants.intervals.row_log, size)
    least, most = bias_bounds(constants, direction, episode.norm[pair], size)
    below, above = pending_interval(learner.pending, pair, direction)
    least += below - slack
    most += above + slack
    rounding = EPS * (regression.visits[pair] + size + 4) * spread
    steep = steepest(direction) if constants.intervals.variance else 0.0
    first = constants.next_start[pair]
    sides = 0.0
    for place in range(first, constants.next_start[pair + 1]):
        state = constants.next_state[place]
        estimate = 0.0
        if state == goal:
            for j in range(size):
                estimate += direction[j] * regression.goal_sums[pair, j]
        elif regression.seen_index[place] >= 0:
            for j in range(size):
                estimate += direction[j] * regression.next_sums[first + regression.seen_index[place], j]
        bound = noise
        if constants.intervals.variance:
            variance, level = learner.variance[place], learner.variance_log_det[place]
            bound = min(bound, bernstein_radius(constants, variance, level, direction, steep, rounding, size))
        low = min(max(estimate - bound + least, 0.0), 1.0)
        high = min(max(estimate + bound + most, 0.0), 1.0)
        if state == goal and not constants.intervals.goal:
            low = 0.0
            high = 1.0
        sets.state[place] = state
        sets.low[place] = low
        sets.high[place] = high
        sides += high - low
    sets.used[pair] = constants.next_start[pair + 1] - first
    return sides


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
def count_variance(constants, learner, episode, pair):
    """Bounds of the variance of a visit, from the intervals that it was planned with."""
    first = constants.next_start[pair]
    last = constants.next_start[pair + 1]
    add_variance(
        episode.sets.low[first:last], episode.sets.high[first:last], episode.context,
        constants.intervals.variance_log + learner.totals["restart_log"], learner.variance[first:last],
        learner.variance_log_det[first:last],
    )  # fmt: skip
