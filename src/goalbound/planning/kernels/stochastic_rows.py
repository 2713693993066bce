"""Pairs that cannot lead to the goal: their rows are stochastic, not sub-stochastic, over the declared next states.

All next states of such a pair are in use from the beginning, in the order of the support: what a row lacks cannot go to
the goal, so it must go to one of them, seen or not.
"""

from math import sqrt

import numpy as np

from goalbound.jit.compile import lean

NO_GOAL = np.inf
"""The ``mass`` of a plausible row that cannot lead to the goal: no ball is so large that all may go there."""

TO_BEST = -1.0
"""The ``mass`` of a plausible row of which ``ball`` leads to the best next state, and the centre has the rest of 1."""


@lean
def cannot_reach_goal(constants, pair):
    """Whether the goal is not among the next states of a pair; it would stand last."""
    return constants.next_state[constants.next_start[pair + 1] - 1] != len(constants.pair_start) - 1


@lean
def min_over_simplex_ball(sets, pair, values, cutoff):
    """The least sum of p v over p >= 0 with sum 1 and |p - centre|^2 <= ball. Returns it, and t, w and v0 of its p.

    With v0 the least value, d = v - v0, and A the entries that are left (n of them, a the mean of their d), the others
    having mass E and squares F: the minimum over all p with sum 1, |p - centre|^2 <= ball and p = 0 outside A, signs
    not looked at, is centre - t d + w with w = t a + E / n and t^2 sum_A (d - a)^2 = ball - F - E^2 / n. Start with
    all entries, drop those that are not positive, and again, until none is. Let A hold all entries A* that are positive
    at the optimum; then

    - the minimum for A is a lower bound, as the optimum is one of its p: one may stop early;
    - its t is not above the t* of the optimum. At t*, p for A is no nearer to the centre than the optimum, which is
      its projection on the simplex: a projection takes it no further from the centre brought to the sum 1 on A, which
      is in the simplex;
    - dropping raises t and lowers w / t. So an entry that was dropped fails the test q - t d + w > 0 ever after, at t*
      too: the test itself tells what is left, and A* is part of it.

    So there are at most as many rounds as entries, and the last p has no wrong sign: it is the optimum. The entries at
    v0 are never dropped, so that sum_A (d - a)^2 is not small against d^2; rounding is then that of a sum of p v.
    O(count) for each round; two or three do as a rule. Stops early, with a lower bound, if that is at least ``cutoff``.
    """
    first = sets.next_start[pair]
    last = first + sets.used[pair]
    ball = sets.ball[pair]
    v0, reach, shared = least_value(sets, first, last, values)
    if ball >= reach:
        return v0, np.inf, shared, v0
    t = 0.0
    w = 1.0
    bound = 0.0
    left = 0
    for _ in range(first, last):
        n = 0
        total = 0.0
        height = 0.0
        emptied = 0.0
        squares = 0.0
        for k in range(first, last):
            d = values[sets.state[k]] - v0
            q = sets.centre[k]
            if q - t * d + w > 0.0:
                n += 1
                total += d
                height += q * d
            else:
                emptied += q
                squares += q * q
        if n == left or n == 0:
            break
        if ball <= 0.0:
            return v0 + height, 0.0, 0.0, v0
        left = n
        mean = total / n
        curve = 0.0
        for k in range(first, last):
            d = values[sets.state[k]] - v0
            if sets.centre[k] - t * d + w > 0.0:
                curve += (d - mean) * (d - mean)
        if curve <= 0.0:  # what is left is worth v0
            return v0, np.inf, shared, v0
        t = max(t, sqrt(max(ball - squares - emptied * emptied / n, 0.0) / curve))
        w = t * mean + emptied / n
        bound = max(bound, height + emptied * mean - t * curve)
        if v0 + bound >= cutoff:
            break
    return v0 + bound, t, w, v0


@lean
def min_with_free_mass(sets, pair, values):
    """The least sum of p v where ``ball`` may go to any next state: it goes to the first of the least value. Returns
    it, and where that is, by seen index. O(count)."""
    first = sets.next_start[pair]
    best = first
    worth = 0.0
    for k in range(first, first + sets.used[pair]):
        worth += sets.centre[k] * values[sets.state[k]]
        if values[sets.state[k]] < values[sets.state[best]]:
            best = k
    return worth + sets.ball[pair] * values[sets.state[best]], best - first


@lean
def free_mass_row(sets, pair, values, out_row):
    """The row of :func:`min_with_free_mass`, by seen index; returns what it is worth."""
    least, best = min_with_free_mass(sets, pair, values)
    first = sets.next_start[pair]
    for k in range(sets.used[pair]):
        out_row[k] = sets.centre[first + k] + (sets.ball[pair] if k == best else 0.0)
    return least


@lean
def least_value(sets, first, last, values):
    """The least value v0 of the next states; how far the centre is, squared, from the nearest row that leads only to
    next states worth v0; and what that row adds to each of them."""
    v0 = np.inf
    n = 0
    others = 0.0
    squares = 0.0
    for k in range(first, last):
        v0 = min(v0, values[sets.state[k]])
    for k in range(first, last):
        q = sets.centre[k]
        if values[sets.state[k]] == v0:
            n += 1
        else:
            others += q
            squares += q * q
    n = max(n, 1)
    return v0, squares + others * others / n, others / n


@lean
def simplex_ball_row(sets, pair, values, out_row):
    """The row of :func:`min_over_simplex_ball`, by seen index; returns what it is worth."""
    least, t, w, v0 = min_over_simplex_ball(sets, pair, values, np.inf)
    first = sets.next_start[pair]
    for k in range(sets.used[pair]):
        d = values[sets.state[first + k]] - v0
        q = sets.centre[first + k] + w
        out_row[k] = q if d == 0.0 else max(q - t * d, 0.0)
    return least
