"""Optimistic backups and extended value iteration in the augmented problem of one context.

The plausible rows of a pair have one of three shapes; mass taken away goes to the goal, whose value is 0, if it can.

- BALL, a Euclidean ball around the estimate, cut by the sub-simplex. The most hopeful row against values v is
  q(t) = max(0, centre - t v), with t such that the ball is just left: closed form. With u = t^2, f(u) = sum of
  min(centre^2, u v^2) is concave, increasing and piecewise linear, and Newton's method for f(u) = radius^2 ends after
  finitely many steps, from anywhere. A ball of radius 0 is a plain model. Where the goal cannot follow, the ball is cut
  by the simplex instead: :func:`goalbound.kernels.stochastic_rows.least_in_simplex_ball`.
- TAKE, an L1 ball: so much mass may be taken from anywhere, and is taken where values are largest. For every level t,
  sum of centre min(v, t) - take t is a lower bound, concave in t, and the largest one is the minimum.
- BOX, an interval for each next state, the goal included; rows sum to 1. Next states below a level t get as much, those
  above as little as they may. For every t, t + sum of low (v - t)+ - high (t - v)+ is a lower bound, concave in t, and
  the largest one is the minimum.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.kernels.elimination import eliminate
from goalbound.kernels.jit import inlined, lean
from goalbound.kernels.stochastic_rows import NO_GOAL, fill_simplex_row, least_in_simplex_ball

NEWTON_STEPS = 200
"""More than any row needs; Newton's method ends by itself when the set of emptied entries stays the same."""

ROUNDS = 30
"""As many policies are evaluated, where policies are; more is rounding going round."""

ROUNDING = 1e-12
"""Room for the rounding of a backup, relative to the largest value."""

UNDERFLOW = 1e-300
"""More than a backup can lose to underflow, where rounding is not relative."""

BALL, TAKE, BOX = 0, 1, 2
"""Shapes of plausible rows: :attr:`Plausible.shape`."""

RESIDUAL, FALL = 0, 1
"""Places in :attr:`Outlook.meter`."""


class Plausible(NamedTuple):
    """The models that a context may have: rows in slots, the goal left out. S states, N pairs, M triples."""

    shape: int
    """BALL, TAKE or BOX"""
    ceiling: float
    """no value is taken to be above it; infinity where there is no such bound"""
    pair_start: NDArray[np.int64]
    """[S + 1]"""
    next_start: NDArray[np.int64]
    """[N + 1] where the slots of a pair begin"""
    used: NDArray[np.int64]
    """[N] how many slots of a pair are in use"""
    state: NDArray[np.int32]
    """[M] by slot: the next state"""
    centre: NDArray[np.float64]
    """[M] by slot: the estimated probability"""
    ball: NDArray[np.float64]
    """[N] the squared radius of the ball around the centre (BALL), or the mass that may be taken (TAKE)"""
    mass: NDArray[np.float64]
    """[N] the squared norm of the centre (BALL), or its sum (TAKE): where ``ball`` is larger, all may go to the goal;
    NO_GOAL (BALL) where nothing can: rows sum to 1"""
    losses: NDArray[np.float64]
    """[N] the most hopeful loss"""
    low: NDArray[np.float64]
    """[M] BOX: the least probability, the goal in a slot of its own; else empty"""
    high: NDArray[np.float64]
    """[M] BOX: the largest probability; else empty"""


class Outlook(NamedTuple):
    """Where value iteration stands; all of it is changed by it and may be kept for the next time."""

    values: NDArray[np.float64]
    """[S + 1] 0 at the goal, positive elsewhere"""
    policy: NDArray[np.int64]
    """[S] the pair of each state"""
    backup: NDArray[np.float64]
    """[N] a lower bound of the pair's backup when it was last looked at; -inf where that says nothing"""
    fallen: NDArray[np.float64]
    """[N] meter[FALL] then"""
    pull: NDArray[np.float64]
    """[N] the t of the last inner minimum: a start for the next"""
    meter: NDArray[np.float64]
    """[2] a bound of max |T v - v|; how far values have fallen in all, so that a backup has fallen no further"""


@inlined
def inner_minimum(plausible, pair, values, pull, enough):
    """The least sum of q v over the plausible rows q of a pair, and its t. One pass costs O(count).

    Starts at t = ``pull``. Stops early, with a lower bound, if the minimum cannot be below ``enough``.
    """
    if plausible.shape == BOX:
        return least_in_box(plausible, pair, values, pull, enough)
    if plausible.mass[pair] == NO_GOAL:
        return least_in_simplex_ball(plausible, pair, values, enough)[0], pull
    if plausible.ball[pair] >= plausible.mass[pair]:
        return 0.0, pull
    if plausible.shape == TAKE:
        return least_after_taking(plausible, pair, values, pull, enough)
    return least_in_ball(plausible, pair, values, pull, enough)


@lean
def least_after_taking(plausible, pair, values, pull, enough):
    """:func:`inner_minimum` of the shape TAKE: the level t walks from value to value until all above it is taken."""
    take = plausible.ball[pair]
    first = plausible.next_start[pair]
    last = first + plausible.used[pair]
    t = pull
    rising = False
    while True:
        worth = -take * t
        above = 0.0
        level = 0.0
        higher = np.inf
        lower = -1.0
        for k in range(first, last):
            v = values[plausible.state[k]]
            q = plausible.centre[k]
            if v > t:
                worth += q * t
                above += q
                higher = min(higher, v)
            else:
                worth += q * v
                if v == t:
                    level += q
                else:
                    lower = max(lower, v)
        if worth >= enough:
            break
        if above > take:
            rising = True
            t = higher
        elif not rising and above + level < take and lower >= 0.0:
            t = lower
        else:
            break
    return max(worth, 0.0), t


@lean
def least_in_box(plausible, pair, values, pull, enough):
    """:func:`inner_minimum` of the shape BOX: the level t walks from value to value until the row sums to 1.

    If no row of the box does, t stops at the largest or the least value.
    """
    first = plausible.next_start[pair]
    last = first + plausible.used[pair]
    t = pull
    way = 0
    while True:
        worth = t
        least = 0.0  # what a row sums to that has all it may below t, and as little as it may from t on
        most = 0.0  # all it may at t too
        higher = np.inf
        lower = -1.0
        for k in range(first, last):
            v = values[plausible.state[k]]
            if v > t:
                worth += plausible.low[k] * (v - t)
                least += plausible.low[k]
                most += plausible.low[k]
                higher = min(higher, v)
            elif v < t:
                worth -= plausible.high[k] * (t - v)
                least += plausible.high[k]
                most += plausible.high[k]
                lower = max(lower, v)
            else:
                least += plausible.low[k]
                most += plausible.high[k]
        if worth >= enough:
            break
        if most < 1.0 and way >= 0 and higher < np.inf:
            way = 1
            t = higher
        elif least > 1.0 and way <= 0 and lower >= 0.0:
            way = -1
            t = lower
        else:
            break
    return max(worth, 0.0), t


@inlined
def least_in_ball(plausible, pair, values, pull, enough):
    """:func:`inner_minimum` of the shape BALL."""
    ball = plausible.ball[pair]
    first = plausible.next_start[pair]
    last = first + plausible.used[pair]
    t = pull
    for step in range(NEWTON_STEPS):
        curve = 0.0
        emptied = 0.0
        height = 0.0
        for k in range(first, last):
            v = values[plausible.state[k]]
            q = plausible.centre[k]
            if t * v < q:
                curve += v * v
                height += q * v
            else:
                emptied += q * q
        left = ball - emptied
        if curve <= 0.0:
            if t == 0.0 or step > 0:
                return 0.0, t  # nothing is left to save: the ball reaches the goal, up to rounding
            t = 0.0  # the start was too large to tell anything
            continue
        if t > 0.0:
            # The Lagrangian at any t > 0 is a lower bound of the minimum.
            bound = height - 0.5 * (t * curve + left / t)
            if bound >= enough:
                return bound, t
        following = sqrt(left / curve) if left > 0.0 else 0.0
        if following == t or (step > 0 and following < t):
            break  # from the second step on t only grows, so falling back is rounding
        t = following
    return max(height - t * curve, 0.0), t


@inlined
def back_up(plausible, outlook, pair, enough):
    """The backup of a pair, or a lower bound of it that is at least ``enough``; remembered in the outlook."""
    loss = plausible.losses[pair]
    least, pull = inner_minimum(plausible, pair, outlook.values, outlook.pull[pair], enough - loss)
    worth = loss + least
    outlook.pull[pair] = pull
    outlook.backup[pair] = worth
    return worth


@inlined
def improve_state(plausible, outlook, s, fall):
    """Give state s its best backup; ties go to the lowest pair, whoever it was before. Returns the change of its value.

    A pair is skipped if its last backup, less what values have fallen since, cannot beat the best. ``fall`` is how far
    values have fallen in all, this sweep included; what is stored as ``fallen`` leaves this sweep out, to be safe.
    """
    incumbent = outlook.policy[s]
    chosen = incumbent
    best = back_up(plausible, outlook, incumbent, np.inf)
    outlook.fallen[incumbent] = outlook.meter[FALL]
    for pair in range(plausible.pair_start[s], plausible.pair_start[s + 1]):
        if pair == incumbent:
            continue
        bound = max(outlook.backup[pair] - (fall - outlook.fallen[pair]), plausible.losses[pair])
        if bound > best or (bound == best and pair > chosen):
            continue
        worth = back_up(plausible, outlook, pair, best if pair > chosen else np.inf)
        outlook.fallen[pair] = outlook.meter[FALL]
        if worth < best or (worth == best and pair < chosen):
            best = worth
            chosen = pair
    best = min(best, plausible.ceiling)
    outlook.policy[s] = chosen
    change = best - outlook.values[s]
    outlook.values[s] = best
    return change


@inlined
def sweep(plausible, outlook, backwards):
    """One Gauss-Seidel sweep over all states. Returns the largest change, which bounds max |T v - v| afterwards:
    a backup moves no further than the values that changed after it (rows sum to at most 1)."""
    states = len(outlook.policy)
    largest = 0.0
    lowest = 0.0
    for place in range(states):
        s = states - 1 - place if backwards else place
        change = improve_state(plausible, outlook, s, outlook.meter[FALL] - lowest)
        largest = max(largest, abs(change))
        lowest = min(lowest, change)
    outlook.meter[FALL] -= lowest
    return largest


@inlined
def iterate(plausible, outlook, tolerance, sweeps):
    """Sweep until no value changes by more than ``tolerance``, at most ``sweeps`` times. Returns the sweeps made.

    The bound of the residual is left in ``meter[RESIDUAL]``.
    """
    for made in range(sweeps):
        outlook.meter[RESIDUAL] = sweep(plausible, outlook, made % 2 == 1)
        if outlook.meter[RESIDUAL] <= tolerance:
            return made + 1
    return sweeps


@inlined
def largest_value(outlook):
    """The largest value of a state."""
    largest = 0.0
    for s in range(len(outlook.policy)):
        largest = max(largest, outlook.values[s])
    return largest


@lean
def settle(plausible, outlook, tolerance, sweeps):
    """:func:`iterate`, and once more where values fell from so high that the meter of falls, and so which pairs may be
    skipped, was rounded by more than the certificate has room for. Returns the sweeps made."""
    made = iterate(plausible, outlook, tolerance, sweeps)
    if 2.0**-53 * made * outlook.meter[FALL] > ROUNDING * largest_value(outlook):
        outlook.meter[FALL] = 0.0
        for pair in range(len(outlook.backup)):
            outlook.backup[pair] = -np.inf
        made += iterate(plausible, outlook, tolerance, max(sweeps - made, 1))
    return made


@inlined
def shortfall(residual, floor, largest):
    """The x of the certificate (1 - x) v <= v*: x = r / (r + floor), where r has room for the rounding of backups.

    If T v >= v - r and every backup pays at least ``floor``, then T((1 - x) v) >= (1 - x) T v + x floor >=
    (1 - x)(v - r) + x floor = (1 - x) v, and what is below its own backup is below the fixed point.
    """
    room = residual + ROUNDING * largest + UNDERFLOW
    return room / (room + floor)


@lean
def fill_box(plausible, pair, values, t, out_row):
    """The row of a box for the level t: what is missing to 1 goes to the next states that are worth t."""
    first = plausible.next_start[pair]
    left = 1.0
    for k in range(plausible.used[pair]):
        v = values[plausible.state[first + k]]
        out_row[k] = plausible.high[first + k] if v < t else plausible.low[first + k]
        left -= out_row[k]
    for k in range(plausible.used[pair]):
        if values[plausible.state[first + k]] == t:
            more = min(max(left, 0.0), plausible.high[first + k] - out_row[k])
            out_row[k] += more
            left -= more


@lean
def hopeful_row(plausible, pair, values, pull, out_row):
    """The most hopeful row of a pair against the values, by slot; returns what it is worth."""
    if plausible.shape == BALL and plausible.mass[pair] == NO_GOAL:
        return fill_simplex_row(plausible, pair, values, out_row)
    least, t = inner_minimum(plausible, pair, values, pull, np.inf)
    first = plausible.next_start[pair]
    if plausible.shape == BOX:
        fill_box(plausible, pair, values, t, out_row)
        return least
    whole = plausible.ball[pair] >= plausible.mass[pair]
    left = plausible.ball[pair]
    for k in range(plausible.used[pair]):  # of the shape TAKE: what lies above the level is taken whole
        v = values[plausible.state[first + k]]
        q = plausible.centre[first + k]
        out_row[k] = 0.0 if whole else max(q - t * v, 0.0)
        if plausible.shape == TAKE and not whole:
            out_row[k] = 0.0 if v > t else q
            left -= q if v > t else 0.0
    if plausible.shape == TAKE and not whole:
        for k in range(plausible.used[pair]):
            if values[plausible.state[first + k]] == t:
                taken = min(max(left, 0.0), out_row[k])
                out_row[k] -= taken
                left -= taken
    return least


@lean
def evaluate(plausible, outlook, bench, leak):
    """Give every state what the policy is worth with its most hopeful rows against the values as they are.

    A share ``leak`` of every row leads to the goal besides. From there sweeps have little left to do: policy iteration.
    Returns False, and changes nothing, if that model never arrives. O(S^3).
    """
    states = len(outlook.policy)
    for s in range(states):
        pair = outlook.policy[s]
        first = plausible.next_start[pair]
        row = bench.row[: plausible.used[pair]]
        hopeful_row(plausible, pair, outlook.values, outlook.pull[pair], row)
        total = 0.0
        staying = 0.0
        for t in range(states):
            bench.matrix[s, t] = 0.0
        for k in range(len(row)):
            t = plausible.state[first + k]
            if t == states:
                continue
            q = (1.0 - leak) * row[k]
            total += q
            if t == s:
                staying += q
            else:
                bench.matrix[s, t] += q
        moving = 1.0 - staying
        if moving <= 0.0:
            return False
        for t in range(states):
            bench.matrix[s, t] /= moving
        bench.leaving[s] = max(1.0 - total, 0.0) / moving
        if plausible.shape == BALL and plausible.mass[pair] == NO_GOAL:
            bench.leaving[s] = leak / moving  # what else is left is rounding
        bench.steps[s] = 1.0 / moving
        bench.values[s] = plausible.losses[pair] / moving
    if not eliminate(bench.matrix, bench.leaving, bench.pivot, bench.values, bench.steps):
        return False
    lowest = 0.0
    for s in range(states):
        worth = min(bench.values[s], plausible.ceiling)
        lowest = min(lowest, worth - outlook.values[s])
        outlook.values[s] = worth
    outlook.meter[FALL] -= lowest
    return True


@lean
def settle_by_policies(plausible, outlook, tolerance, sweeps, bench):
    """:func:`settle`, with the policy evaluated between the first sweeps. For plain models of few states."""
    for made in range(min(ROUNDS, sweeps)):
        outlook.meter[RESIDUAL] = sweep(plausible, outlook, made % 2 == 1)
        if outlook.meter[RESIDUAL] <= tolerance:
            return made + 1
        if made > 0 and not evaluate(plausible, outlook, bench, 0.0):
            if plausible.ceiling < np.inf:
                # Some state never arrives and climbs to the ceiling, one loss at a time: with a leak it is there now.
                least = np.inf
                for s in range(len(outlook.policy)):
                    least = min(least, plausible.losses[outlook.policy[s]])
                evaluate(plausible, outlook, bench, min(least / plausible.ceiling, 0.5))
            break
    return settle(plausible, outlook, tolerance, sweeps)
