"""Boxes: an interval for the loss and for each next state of a pair under a context. The sharp widths.

With x = V^-1 c, y the outcomes (0 or 1) of a next state, p its true coefficients and S = sum of c (y - p c):

    p c = x sum(c y)  -  x S  +  lambda x p

The first part is the ridge estimate. The second is noise: |x S| <= R w sqrt(log det(V / lambda) + 2 log(1 / failure))
with w the norm of c in V^-1 (the determinant bound), and also at most what the variance allows (:func:`by_variance`).
The third is the bias: coefficients lie in [0, 1], so it is at least lambda times the sum of the negative entries of x,
and at most lambda times that of the positive ones. An x that is not quite V^-1 c adds r p with r = c - V x
(:func:`goalbound.kernels.gram.solve_context`), and outcomes that are missing add what they may have been
(:mod:`goalbound.kernels.pending`).
"""

from math import erf, log, sqrt

from goalbound.kernels.gram import EPS
from goalbound.kernels.jit import inlined, lean
from goalbound.kernels.pending import pending_interval

REACH = 1.0
"""b: exponents of the mixture stay within it."""
CURVE = 0.7182818284590451
"""kappa = (e^b - 1 - b) / b^2: exp(x) <= 1 + x + kappa x^2 for x <= b."""
RIDGE = 4.0
"""rho: what is added to the sums of variances."""
CUT = -log(erf(0.5 * REACH * sqrt(CURVE * RIDGE)))
"""What cutting the Gaussian mixture costs in each dimension."""
SUMMED = 1e-6
"""More than what rounding can take from :func:`variance_level`, up to 1e9 visits."""


@inlined
def noise_bound(rules, learned, pair, norm, failure_log, size):
    """How large the noise of an estimate can be, by the determinant of the Gram matrix."""
    volume = learned.volume[pair]
    if not rules.box.determinant:
        volume = size * log(1.0 + learned.memory.visits[pair] / (rules.regularization * size))
    return rules.box.noise * norm * sqrt(volume + 2.0 * (failure_log + learned.restart_log[0]))


@inlined
def bias_bounds(rules, direction, norm, size):
    """The least and the largest bias of an estimate, for coefficients in [0, 1]."""
    if not rules.box.entrywise:
        most = sqrt(rules.regularization * size) * norm
        return -most, most
    least = 0.0
    most = 0.0
    for j in range(size):
        least += min(direction[j], 0.0)
        most += max(direction[j], 0.0)
    return rules.regularization * least, rules.regularization * most


@lean
def by_variance(rules, variance, level, direction, rounding, size):
    """How large the noise of a next state can be, by its variance.

    With H the sum of c c^T times bounds of the variance, plus rho: for every vector z of entries up to b / 2,
    z S <= kappa |z|_H^2 + L with L = log det(H / rho) / 2 + CUT d + log(1 / failure). For z = s x that is
    x S <= kappa s |x|_H^2 + L / s, and the best s is sqrt(L / kappa) / |x|_H, or as large as it may be.
    ``level`` is L; ``rounding`` bounds that of |x|_H^2.
    """
    square = rounding
    largest = 0.0
    for r in range(size):
        part = 0.0
        for c in range(r):
            part += variance[r, c] * direction[c]
        square += direction[r] * (2.0 * part + (variance[r, r] + RIDGE) * direction[r])
        largest = max(largest, abs(direction[r]))
    bend = CURVE * square
    steep = 0.5 * REACH / largest
    if level <= bend * steep * steep:
        return rules.box.scale * 2.0 * sqrt(bend * level)
    return rules.box.scale * (steep * bend + level / steep)


@inlined
def box_loss(rules, learned, view, pair, slack):
    """The interval of the loss of a pair, cut to [0, 1]. ``slack``: of rounding, as ``solve_context`` has it."""
    size = len(view.context)
    estimate = 0.0
    for j in range(size):
        estimate += view.direction[j] * learned.memory.loss_sums[pair, j]
    noise = noise_bound(rules, learned, pair, view.norm[pair], rules.box.loss_log, size)
    least, most = bias_bounds(rules, view.direction, view.norm[pair], size)
    below, above = pending_interval(learned.pending, pair, view.direction)
    low = estimate - noise + least - slack + below
    high = estimate + noise + most + slack + above
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)


@inlined
def open_row(rules, view, pair):
    """Nothing is known of a pair that was never played: all it can lead to is plausible. Returns the sides in all."""
    plausible = view.plausible
    first = rules.next_start[pair]
    last = rules.next_start[pair + 1]
    for place in range(first, last):
        plausible.state[place] = rules.next_state[place]
        plausible.low[place] = 0.0
        plausible.high[place] = 1.0
    plausible.used[pair] = last - first
    return float(last - first)


@inlined
def certain_row(rules, view, pair):
    """A pair with a single next state leads there: nothing is to be learned."""
    place = rules.next_start[pair]
    view.plausible.state[place] = rules.next_state[place]
    view.plausible.low[place] = 1.0
    view.plausible.high[place] = 1.0
    view.plausible.used[pair] = 1


@inlined
def box_row(rules, learned, view, pair, slack, spread):
    """The intervals of all next states of a pair, the goal included; returns their lengths in all.

    ``slack`` and ``spread`` bound the rounding, as ``solve_context`` has them: entries of H are at most a quarter of
    those of V and were summed as often as the pair was played.
    """
    plausible = view.plausible
    memory = learned.memory
    goal = len(rules.pair_start) - 1
    size = len(view.context)
    direction = view.direction
    noise = noise_bound(rules, learned, pair, view.norm[pair], rules.box.row_log, size)
    least, most = bias_bounds(rules, direction, view.norm[pair], size)
    below, above = pending_interval(learned.pending, pair, direction)
    least += below - slack
    most += above + slack
    rounding = EPS * (memory.visits[pair] + size + 4) * spread
    first = rules.next_start[pair]
    sides = 0.0
    for place in range(first, rules.next_start[pair + 1]):
        state = rules.next_state[place]
        estimate = 0.0
        if state == goal:
            for j in range(size):
                estimate += direction[j] * memory.goal_sums[pair, j]
        elif memory.slot[place] >= 0:
            for j in range(size):
                estimate += direction[j] * memory.next_sums[first + memory.slot[place], j]
        bound = noise
        if rules.box.variance:
            variance, level = learned.variance[place], learned.level[place]
            bound = min(bound, by_variance(rules, variance, level, direction, rounding, size))
        low = min(max(estimate - bound + least, 0.0), 1.0)
        high = min(max(estimate + bound + most, 0.0), 1.0)
        if state == goal and not rules.box.goal:
            low = 0.0
            high = 1.0
        plausible.state[place] = state
        plausible.low[place] = low
        plausible.high[place] = high
        sides += high - low
    plausible.used[pair] = rules.next_start[pair + 1] - first
    return sides


@lean
def add_variance(low, high, context, failure_log, variance, level):
    """Before a step of a pair is learned from: bounds of the variance of each of its m next states are added.

    ``low`` and ``high`` [m] are their intervals now, ``variance`` [m, d, d] and ``level`` [m] are brought up to date.
    """
    size = len(context)
    for k in range(len(low)):
        mean = min(max(0.5, low[k]), high[k])
        bound = mean * (1.0 - mean)
        trace = 0.0
        for r in range(size):
            for c in range(size):
                variance[k, r, c] += bound * context[r] * context[c]
            trace += variance[k, r, r]
        level[k] = variance_level(trace, size, failure_log)


@inlined
def variance_level(trace, size, failure_log):
    """The L of :func:`by_variance`; the determinant is bounded by the trace."""
    return 0.5 * size * log(1.0 + trace / (RIDGE * size)) + CUT * size + failure_log + SUMMED
