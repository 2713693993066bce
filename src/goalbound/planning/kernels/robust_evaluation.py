"""Robust backups: the largest sum of q v over the plausible rows q of a pair, as a bound that is never too small.

Values are not negative, and 0 at the goal. Every bound below is one of the dual problem: it holds for any multiplier,
so that stopping early or rounding a multiplier makes it larger, never wrong. What the sums themselves lose to rounding
is added. At the multiplier of the optimum the bound is the maximum.

- INTERVAL_SET: for every level t, sum of q v = t + sum of q (v - t) <= t + sum of high (v - t)+ - low (t - v)+, as rows
  sum to 1. Convex in t and piecewise linear, so the least bound is at one of the values.
- L2_BALL: for every w, not negative where the goal may follow, and every vector e >= v - w,
  sum of q v <= w + sum of q (v - w) <= w + sum of q e <= w + sum of centre e + radius |e|. The first step needs rows
  that sum to at most 1 (to 1, where w may be negative), the second q >= 0, the third Cauchy and Schwarz. The best row
  is q = max(0, centre + t (v - w)) with t >= 0, and e = max(v - w, -centre / t) belongs to it.
"""

from math import sqrt

import numpy as np

from goalbound.jit.compile import lean
from goalbound.planning.kernels.stochastic_rows import NO_GOAL
from goalbound.planning.kernels.value_iteration import INTERVAL_SET, ROUNDING, UNDERFLOW, optimistic_row

UNIT = 2.0**-53
"""The largest relative error of one operation."""
SMALL = 2.0**-470
"""Squares of smaller numbers have fewer digits, or none."""


@lean
def inner_maximum(sets, pair, values, dual):
    """A bound from above of the sum of q v over the plausible rows q of a pair, tight but for rounding; its t, and
    what the row of a ball adds.

    Starts at t = ``dual`` where rows are in intervals. One pass costs O(count).
    """
    if sets.shape == INTERVAL_SET:
        bound, t = max_over_intervals(sets, pair, values, dual, 0.0)
        return bound, t, 0.0
    return max_over_ball(sets, pair, values)


@lean
def max_over_intervals(sets, pair, values, dual, turn):
    """:func:`inner_maximum` of the shape INTERVAL_SET, and its level. Where ``turn`` is above 0, of turn - v instead
    of v: as rows sum to 1, turn minus that is a bound from below of the minimum.

    The next level is the mean of the values that the optimum may still be at: each pass rules out at least one, and
    half of them as a rule. Where the ends of the intervals leave no row, by rounding, what is missing to a row counts
    as the largest value.
    """
    first = sets.next_start[pair]
    last = first + sets.used[pair]
    t = dual
    below = -np.inf
    above = np.inf
    best = np.inf
    level = t
    for _ in range(last - first + 2):  # a pass at the start, and one more for each value, ruled out at the latest there
        worth = t
        size = abs(t)
        least = 0.0  # what a row sums to that has all it may above t, and as little as it may elsewhere
        most = 0.0  # all it may at t too
        low_total = 0.0
        high_total = 0.0
        largest = 0.0
        higher = 0
        higher_sum = 0.0
        higher_least = np.inf
        higher_most = -np.inf
        lower = 0
        lower_sum = 0.0
        lower_least = np.inf
        lower_most = -np.inf
        for k in range(first, last):
            v = values[sets.state[k]]
            if turn > 0.0:
                v = turn - v
            low = sets.low[k]
            high = sets.high[k]
            low_total += low
            high_total += high
            largest = max(largest, v)
            if v > t:
                worth += high * (v - t)
                size += high * (v - t)
                least += high
                most += high
                if v < above:
                    higher += 1
                    higher_sum += v
                    higher_least = min(higher_least, v)
                    higher_most = max(higher_most, v)
            elif v < t:
                worth -= low * (t - v)
                size += low * (t - v)
                least += low
                most += low
                if v > below:
                    lower += 1
                    lower_sum += v
                    lower_least = min(lower_least, v)
                    lower_most = max(lower_most, v)
            else:
                least += low
                most += high
        worth += 2.0 * (last - first + 8) * UNIT * (size + turn)
        worth += max(low_total - 1.0, 1.0 - high_total, 0.0) * largest
        if worth < best:
            best = worth
            level = t
        if least > 1.0 and higher > 0:
            below = t
            t = min(max(higher_sum / higher, higher_least), higher_most)
        elif most < 1.0 and lower > 0:
            above = t
            t = min(max(lower_sum / lower, lower_least), lower_most)
        else:
            break
    return max(best, 0.0), level


@lean
def max_over_ball(sets, pair, values):
    """:func:`inner_maximum` of the shape L2_BALL, with t and what is added, by which its row is
    max(0, centre - t d + added) with d = largest - v: w = largest - added / t would lose the row where values tie up to
    rounding, as t is then as large as 1 / rounding. t is infinite where the ball reaches a row that leads only to the
    largest value.

    Where the row that Cauchy and Schwarz give, centre + radius v / |v|, sums to at most 1, it is the best one. Else the
    best row leaves nothing to the goal. Of rows that sum to 1 the centre, brought to that sum alike in all entries, is
    the nearest one, so they are rows of a simplex around it in a smaller ball: the maximum is the minimum of
    :func:`goalbound.planning.kernels.stochastic_rows.min_over_simplex_ball` for the values turned round.
    """
    first = sets.next_start[pair]
    last = first + sets.used[pair]
    count = last - first
    ball = sets.ball[pair]
    radius = sqrt(ball)
    stochastic = sets.mass[pair] == NO_GOAL
    total = 0.0
    height = 0.0
    square = 0.0
    climb = 0.0
    largest = 0.0
    for k in range(first, last):
        v = values[sets.state[k]]
        total += sets.centre[k]
        height += sets.centre[k] * v
        square += v * v
        climb += v
        largest = max(largest, v)
    if largest <= 0.0:
        return 0.0, 0.0, 0.0
    slack = 4.0 * (count + 8) * UNIT
    norm = sqrt(square)
    if norm < SMALL:  # squares lose digits, or all of them
        norm = max(sqrt(count) * largest, UNDERFLOW)
    lack = max(1.0 - total, 0.0)
    if ball <= 0.0:
        height += lack * largest if stochastic else 0.0
        return height + slack * height, 0.0, 0.0
    plain = height + radius * norm
    plain += slack * plain
    if not stochastic and total + radius / norm * climb <= 1.0:
        t = radius / norm
        return min(plain, largest), t, t * largest
    t, added = simplex_multipliers(sets, pair, values, largest, lack)
    if t == np.inf:
        return largest, t, added
    if t <= 0.0:
        return min(plain, largest), 0.0, 0.0
    w = largest - added / t
    if not stochastic:
        w = max(w, 0.0)
    worth = 0.0
    size = 0.0
    square = 0.0
    for k in range(first, last):
        e = max(values[sets.state[k]] - w, -sets.centre[k] / t)
        worth += sets.centre[k] * e
        size += sets.centre[k] * abs(e)
        square += e * e
    bound = w + worth + radius * sqrt(square)
    bound += slack * (abs(w) + size + radius * sqrt(square) + largest)
    return min(bound, plain, largest), t, added


@lean
def simplex_multipliers(sets, pair, values, largest, lack):
    """The t of the best row that sums to 1, max(0, centre - t d + added) with d = largest - v, and what is added.

    ``lack`` is what the centre lacks to 1. t is infinite where the ball reaches a row that leads only to the largest
    value. Entries that are not positive are dropped and the rest is solved again, until none is dropped: see
    :func:`goalbound.planning.kernels.stochastic_rows.min_over_simplex_ball`, which has the proof.
    """
    first = sets.next_start[pair]
    last = first + sets.used[pair]
    share = lack / (last - first)
    ball = max(sets.ball[pair] - lack * share, 0.0)
    n = 0
    others = 0.0
    squares = 0.0
    for k in range(first, last):
        q = sets.centre[k] + share
        if values[sets.state[k]] == largest:
            n += 1
        else:
            others += q
            squares += q * q
    if ball >= squares + others * others / n:
        return np.inf, share + others / n
    t = 0.0
    added = 1.0
    left = 0
    for _ in range(first, last):
        n = 0
        total = 0.0
        emptied = 0.0
        squares = 0.0
        for k in range(first, last):
            d = largest - values[sets.state[k]]
            q = sets.centre[k] + share
            if q - t * d + added > 0.0:
                n += 1
                total += d
            else:
                emptied += q
                squares += q * q
        if n == left or n == 0:
            break
        left = n
        mean = total / n
        curve = 0.0
        for k in range(first, last):
            d = largest - values[sets.state[k]]
            if sets.centre[k] + share - t * d + added > 0.0:
                curve += (d - mean) * (d - mean)
        if curve <= 0.0:
            break
        t = max(t, sqrt(max(ball - squares - emptied * emptied / n, 0.0) / curve))
        added = t * mean + emptied / n
    return t, share + added


@lean
def turned(value, turn):
    """A value, or turn minus it where ``turn`` is above 0."""
    return turn - value if turn > 0.0 else value


@lean
def interval_row(sets, pair, values, t, turn, out_row):
    """The row of the level t of :func:`max_over_intervals`: what is missing to 1 goes to the next states at t.

    Up to rounding t is as good as the best level, but it may lie beside it: where values tie up to rounding, or where t
    is that of other values. So what is still missing goes to the largest values below t, and what is too much is taken
    back from the least ones above it.
    """
    first = sets.next_start[pair]
    left = 1.0
    for k in range(sets.used[pair]):
        v = turned(values[sets.state[first + k]], turn)
        out_row[k] = sets.high[first + k] if v > t else sets.low[first + k]
        left -= out_row[k]
    left = share_out(sets, pair, values, t, turn, left, out_row)
    while left > 0.0:
        level = -np.inf
        for k in range(sets.used[pair]):
            v = turned(values[sets.state[first + k]], turn)
            if v < t and out_row[k] < sets.high[first + k]:
                level = max(level, v)
        if level == -np.inf:
            return
        t = level
        left = share_out(sets, pair, values, t, turn, left, out_row)
    while left < 0.0:
        level = np.inf
        for k in range(sets.used[pair]):
            v = turned(values[sets.state[first + k]], turn)
            if v > t and out_row[k] > sets.low[first + k]:
                level = min(level, v)
        if level == np.inf:
            return
        t = level
        for k in range(sets.used[pair]):
            if turned(values[sets.state[first + k]], turn) == t:
                less = min(max(-left, 0.0), out_row[k] - sets.low[first + k])
                out_row[k] -= less
                left += less


@lean
def share_out(sets, pair, values, t, turn, left, out_row):
    """Give the next states that are worth t what they may still have of ``left``. Returns what is left then."""
    first = sets.next_start[pair]
    for k in range(sets.used[pair]):
        if turned(values[sets.state[first + k]], turn) == t:
            more = min(max(left, 0.0), sets.high[first + k] - out_row[k])
            out_row[k] += more
            left -= more
    return left


@lean
def pessimistic_row(sets, pair, values, t, added, out_row):
    """The row that belongs to what :func:`inner_maximum` returns, by seen index; up to rounding it is plausible."""
    if sets.shape == INTERVAL_SET:
        interval_row(sets, pair, values, t, 0.0, out_row)
        return
    first = sets.next_start[pair]
    count = sets.used[pair]
    largest = 0.0
    for k in range(count):
        largest = max(largest, values[sets.state[first + k]])
    for k in range(count):
        v = values[sets.state[first + k]]
        q = sets.centre[first + k]
        if t == np.inf:
            out_row[k] = q + added if v == largest else 0.0
        else:
            out_row[k] = max(q - t * (largest - v) + added, 0.0)


@lean
def pessimistic_backups(sets, values, duals, out_worth, out_rows):
    """[N] the loss of every pair plus its :func:`inner_maximum`, and [M] the rows that belong to them.

    ``duals`` [N] are where the level of each pair begins, and are left at the level found. Losses are those of
    ``sets``: the largest plausible ones.
    """
    for pair in range(len(sets.losses)):
        bound, t, added = inner_maximum(sets, pair, values, duals[pair])
        worth = sets.losses[pair] + bound
        out_worth[pair] = worth + 2.0 * UNIT * worth
        if sets.shape == INTERVAL_SET:
            duals[pair] = t
        first = sets.next_start[pair]
        pessimistic_row(sets, pair, values, t, added, out_rows[first : first + sets.used[pair]])


@lean
def optimistic_backups(sets, values, duals, out_worth, out_rows):
    """The same for the least sums of q v: [N] bounds from below of the backups, rounding included, and [M] the rows.

    Losses are the least plausible ones. Of intervals the level is searched as for the maximum, which takes few passes
    from anywhere; :func:`goalbound.planning.kernels.value_iteration.inner_minimum` walks from value to value.
    """
    largest = 0.0
    for s in range(len(values)):
        largest = max(largest, values[s])
    for pair in range(len(sets.losses)):
        first = sets.next_start[pair]
        row = out_rows[first : first + sets.used[pair]]
        if sets.shape == INTERVAL_SET and largest > 0.0:
            bound, t = max_over_intervals(sets, pair, values, duals[pair], largest)
            interval_row(sets, pair, values, t, largest, row)
            least = max(largest - bound, 0.0)
            duals[pair] = t
        else:
            least = optimistic_row(sets, pair, values, 0.0, row)
        out_worth[pair] = max(sets.losses[pair] + least - ROUNDING * largest - UNDERFLOW, sets.losses[pair])
