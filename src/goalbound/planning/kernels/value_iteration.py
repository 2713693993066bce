"""Optimistic backups and extended value iteration in the augmented problem of one context.

The plausible rows of a pair have one of three shapes; mass taken away goes to the goal, whose value is 0, if it can.

- L2_BALL, a Euclidean ball around the estimate, cut by the sub-simplex. The most optimistic row against values v is
  q(t) = max(0, centre - t v), with t such that the ball is just left: closed form. With u = t^2, f(u) = sum of
  min(centre^2, u v^2) is concave, increasing and piecewise linear, and Newton's method for f(u) = radius^2 ends after
  finitely many steps, from anywhere. A ball of radius 0 is a plain model. Where the goal cannot follow, the ball is cut
  by the simplex instead: :func:`goalbound.planning.kernels.stochastic_rows.min_over_simplex_ball`.
- L1_BALL, an L1 ball: so much mass may be taken from anywhere, and is taken where values are largest. For every level
  t, sum of centre min(v, t) - take t is a lower bound, concave in t, and the largest one is the minimum.
- INTERVAL_SET, an interval for each next state, the goal included; rows sum to 1. Next states below a level t get as
  much, those above as little as they may. For every t, t + sum of low (v - t)+ - high (t - v)+ is a lower bound,
  concave in t, and the largest one is the minimum.
"""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import Slot, lean
from goalbound.jit.records import new_record, record_type
from goalbound.jit.struct import Struct
from goalbound.planning.kernels.elimination import eliminate
from goalbound.planning.kernels.stochastic_rows import (
    NO_GOAL,
    TO_BEST,
    free_mass_row,
    min_over_simplex_ball,
    min_with_free_mass,
    simplex_ball_row,
)

NEWTON_STEPS = 200
"""More than any row needs; Newton's method ends by itself when the set of emptied entries stays the same."""

ROUNDS = 30
"""As many policies are evaluated, where policies are; more is rounding going round."""

MOST_DOUBLINGS = 2200
"""More than there are powers of two among the floats."""

ROUNDING = 1e-12
"""A bound of the rounding of a backup, relative to the largest value."""

UNDERFLOW = 1e-300
"""More than a backup can lose to underflow, where rounding is not relative."""

L2_BALL, L1_BALL, INTERVAL_SET = 0, 1, 2
"""Shapes of plausible rows: :attr:`UncertaintySet.shape`."""

ITERATION_PROGRESS = record_type(reals=("residual", "total_decrease"))
"""Fields of :attr:`ValueIterationState.progress`: a bound of max |T v - v|; how far values have fallen in all, so that
a backup has fallen no further."""


class UncertaintySet(Struct):
    """The models that a context may have: rows by seen index, the goal left out. S states, N pairs, M triples."""

    _indices = ("next_start", "used", "state", "level")
    _unsaved = ("pair_start", "next_start", "level")

    shape: int
    """L2_BALL, L1_BALL or INTERVAL_SET"""
    ceiling: float
    """no value is taken to be above it; infinity where there is no such bound"""
    pair_start: NDArray[np.int64]
    """[S + 1]"""
    next_start: NDArray[np.int64]
    """[N + 1] where the entries of a pair begin"""
    used: NDArray[np.int64]
    """[N] how many entries of a pair are in use"""
    state: NDArray[np.int32]
    """[M] by seen index: the next state"""
    centre: NDArray[np.float64]
    """[M] by seen index: the estimated probability"""
    ball: NDArray[np.float64]
    """[N] the squared radius of the ball around the centre (L2_BALL), or the mass that may be taken (L1_BALL)"""
    mass: NDArray[np.float64]
    """[N] the squared norm of the centre (L2_BALL), or its sum (L1_BALL): where ``ball`` is larger, all may go to the
    goal; NO_GOAL (L2_BALL) where nothing can: rows sum to 1; TO_BEST (L2_BALL): likewise, and ``ball`` is no radius but
    the mass that leads to the best next state"""
    losses: NDArray[np.float64]
    """[N] the most optimistic loss"""
    low: NDArray[np.float64]
    """[M] INTERVAL_SET: the least probability, the goal has an entry of its own; else empty"""
    high: NDArray[np.float64]
    """[M] INTERVAL_SET: the largest probability; else empty"""
    level: NDArray[np.int64]
    """[N] INTERVAL_SET: the next state that was worth the level t of the last minimum; where to begin, and changes no
    result. Else empty"""


class ValueIterationState(Struct):
    """Where value iteration stands; all of it is changed by it and may be kept for the next time."""

    values: NDArray[np.float64]
    """[S + 1] 0 at the goal, positive elsewhere"""
    policy: NDArray[np.int64]
    """[S] the pair of each state"""
    backup: NDArray[np.float64]
    """[N] a lower bound of the pair's backup when it was last looked at; -inf where that says nothing"""
    total_decrease: NDArray[np.float64]
    """[N] progress["total_decrease"] then"""
    dual: NDArray[np.float64]
    """[N] the t of the last inner minimum: a start for the next"""
    progress: np.void
    """fields: ITERATION_PROGRESS"""


def new_value_iteration_state(states: int, pairs: int) -> ValueIterationState:
    """Value iteration that has not begun."""
    progress = new_record(ITERATION_PROGRESS)
    progress["residual"] = np.inf
    return ValueIterationState(
        values=np.zeros(states + 1),
        policy=np.zeros(states, dtype=np.int64),
        backup=np.full(pairs, -np.inf),
        total_decrease=np.zeros(pairs),
        dual=np.zeros(pairs),
        progress=progress,
    )


def new_uncertainty_set(
    pair_start: NDArray[np.int64],
    next_start: NDArray[np.int64],
    *,
    shape: int,
    ceiling: float,
) -> UncertaintySet:
    """Nothing was seen: all mass may go to the goal."""
    pairs, triples = len(next_start) - 1, int(next_start[-1])
    return UncertaintySet(
        shape=shape,
        ceiling=ceiling,
        pair_start=pair_start,
        next_start=next_start,
        used=np.zeros(pairs, dtype=np.int64),
        state=np.zeros(triples, dtype=np.int32),
        centre=np.zeros(triples),
        ball=np.zeros(pairs),
        mass=np.zeros(pairs),
        losses=np.zeros(pairs),
        low=np.zeros(triples if shape == INTERVAL_SET else 0),
        high=np.zeros(triples if shape == INTERVAL_SET else 0),
        level=np.zeros(pairs if shape == INTERVAL_SET else 0, dtype=np.int64),
    )


@lean
def inner_minimum(sets, pair, values, dual, cutoff):
    """The least sum of q v over the plausible rows q of a pair, and its t. One pass costs O(count).

    Starts at t = ``dual``. Stops early, with a lower bound, if the minimum cannot be below ``cutoff``.
    """
    if sets.shape == INTERVAL_SET:
        return min_over_intervals(sets, pair, values, dual, cutoff)
    if sets.shape == L1_BALL:
        return min_over_l1_rows(sets, pair, values, dual, cutoff)
    return min_over_l2_rows(sets, pair, values, dual, cutoff)


minimum_of_shape = Slot("minimum_of_shape", inner_minimum)
"""Programs whose sets have one shape fill it from :data:`MINIMA`: shorter loops with the same bits."""


@lean
def min_over_l1_rows(sets, pair, values, dual, cutoff):
    """:func:`inner_minimum` of the shape L1_BALL."""
    if sets.ball[pair] >= sets.mass[pair]:
        return 0.0, dual
    return min_over_l1_ball(sets, pair, values, dual, cutoff)


@lean
def min_over_l2_rows(sets, pair, values, dual, cutoff):
    """:func:`inner_minimum` of the shape L2_BALL: sub-stochastic rows, stochastic ones, and those of TO_BEST."""
    if sets.mass[pair] == NO_GOAL:
        return min_over_simplex_ball(sets, pair, values, cutoff)[0], dual
    if sets.mass[pair] == TO_BEST:
        return min_with_free_mass(sets, pair, values)[0], dual
    if sets.ball[pair] >= sets.mass[pair]:
        return 0.0, dual
    return min_over_l2_ball(sets, pair, values, dual, cutoff)


@lean
def min_over_l1_ball(sets, pair, values, dual, cutoff):
    """The least sum where not all mass may be taken: the level t walks until all above it is taken."""
    take = sets.ball[pair]
    first = sets.next_start[pair]
    last = first + sets.used[pair]
    t = dual
    rising = False
    while True:
        worth = -take * t
        above = 0.0
        level = 0.0
        higher = np.inf
        lower = -1.0
        for k in range(first, last):
            v = values[sets.state[k]]
            q = sets.centre[k]
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
        if worth >= cutoff:
            break
        if above > take and higher < np.inf:
            rising = True
            t = higher
        elif not rising and above + level < take and lower >= 0.0:
            t = lower
        else:
            break
    return max(worth, 0.0), t


@lean
def min_over_intervals(sets, pair, values, dual, cutoff):
    """:func:`inner_minimum` of the shape INTERVAL_SET.

    Values change from sweep to sweep, and the next state that is worth the level mostly stays the same: so the walk
    begins at what that state is worth now. Where a row sums to less than 1 without what it may have at t, and to more
    with it, every walk ends at t, and the start changes no bit; else the walk begins at ``dual``, as it does where less
    than the minimum is asked for.
    """
    start = values[sets.level[pair]]
    if cutoff == np.inf and start != dual:
        worth, t, least, most = walk_levels(sets, pair, values, start, cutoff)
        if least < 1.0 and most > 1.0:
            if t != start:
                remember_level(sets, pair, values, t)
            return max(worth, 0.0), t
    worth, t, _, _ = walk_levels(sets, pair, values, dual, cutoff)
    if t != start:
        remember_level(sets, pair, values, t)
    return max(worth, 0.0), t


@lean
def walk_levels(sets, pair, values, t, cutoff):
    """The level t walks from value to value until the row sums to 1, or until the bound is at least ``cutoff``.

    If no row fits, t stops at the largest or the least value. Returns the lower bound at t, t, and what a row sums to
    that has all it may below t, and from t on as little as it may, or all it may at t too.
    """
    first = sets.next_start[pair]
    last = first + sets.used[pair]
    way = 0
    while True:
        worth = t
        least = 0.0
        most = 0.0
        for k in range(first, last):  # without branches: which next states are above t is as good as random
            v = values[sets.state[k]]
            low = sets.low[k]
            high = sets.high[k]
            below = high if v < t else low
            up_to = high if v <= t else low
            worth += up_to * (v - t)
            least += below
            most += up_to
        following = t
        if worth >= cutoff:
            break
        if most < 1.0 and way >= 0:
            way = 1
            following = next_higher(sets, values, first, last, t)
        elif least > 1.0 and way <= 0:
            way = -1
            following = next_lower(sets, values, first, last, t)
        if not (following > t or following < t):
            break
        t = following
    return worth, t, least, most


@lean
def next_higher(sets, values, first, last, t):
    """The least value above t of the next states from ``first`` on, before ``last``; t if there is none."""
    found = np.inf
    for k in range(first, last):
        v = values[sets.state[k]]
        found = min(found, v if v > t else np.inf)
    return found if found < np.inf else t


@lean
def next_lower(sets, values, first, last, t):
    """The largest value below t of the next states from ``first`` on, before ``last``; t if there is none."""
    found = -1.0
    for k in range(first, last):
        v = values[sets.state[k]]
        found = max(found, v if v < t else -1.0)
    return found if found >= 0.0 else t


@lean
def remember_level(sets, pair, values, t):
    """The first next state that is worth t, if there is one."""
    first = sets.next_start[pair]
    for k in range(first, first + sets.used[pair]):
        if values[sets.state[k]] == t:
            sets.level[pair] = sets.state[k]
            return


@lean
def min_over_l2_ball(sets, pair, values, dual, cutoff):
    """The least sum where the ball does not reach the goal, by Newton's method."""
    ball = sets.ball[pair]
    first = sets.next_start[pair]
    last = first + sets.used[pair]
    t = dual
    for step in range(NEWTON_STEPS):
        curve = 0.0
        emptied = 0.0
        height = 0.0
        for k in range(first, last):
            v = values[sets.state[k]]
            q = sets.centre[k]
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
            if bound >= cutoff:
                return bound, t
        following = sqrt(left / curve) if left > 0.0 else 0.0
        if following == t or (step > 0 and following < t):
            break  # from the second step on t only grows, so falling back is rounding
        t = following
    return max(height - t * curve, 0.0), t


MINIMA = {L2_BALL: min_over_l2_rows, L1_BALL: min_over_l1_rows, INTERVAL_SET: min_over_intervals}
"""The inner minimum of each shape."""


@lean
def back_up(sets, iteration, pair, cutoff):
    """The backup of a pair, or a lower bound of it that is at least ``cutoff``; kept in the iteration state."""
    loss = sets.losses[pair]
    least, dual = minimum_of_shape(sets, pair, iteration.values, iteration.dual[pair], cutoff - loss)
    worth = loss + least
    iteration.dual[pair] = dual
    iteration.backup[pair] = worth
    return worth


@lean
def improve_state(sets, iteration, s, fall):
    """Give state s its best backup; ties go to the lowest pair, whoever it was before. Returns the change of its value.

    A pair is skipped if its last backup, less what values have fallen since, cannot beat the best. ``fall`` is how far
    values have fallen in all, this sweep included; ``total_decrease`` of a pair leaves this sweep out, to be safe.
    """
    incumbent = iteration.policy[s]
    chosen = incumbent
    best = back_up(sets, iteration, incumbent, np.inf)
    iteration.total_decrease[incumbent] = iteration.progress["total_decrease"]
    for pair in range(sets.pair_start[s], sets.pair_start[s + 1]):
        if pair == incumbent:
            continue
        bound = max(iteration.backup[pair] - (fall - iteration.total_decrease[pair]), sets.losses[pair])
        if bound > best or (bound == best and pair > chosen):
            continue
        worth = back_up(sets, iteration, pair, best if pair > chosen else np.inf)
        iteration.total_decrease[pair] = iteration.progress["total_decrease"]
        if worth < best or (worth == best and pair < chosen):
            best = worth
            chosen = pair
    best = min(best, sets.ceiling)
    iteration.policy[s] = chosen
    change = best - iteration.values[s]
    iteration.values[s] = best
    return change


@lean
def sweep(sets, iteration, backwards):
    """One Gauss-Seidel sweep over all states. Returns the largest change, which bounds max |T v - v| afterwards:
    a backup moves no further than the values that changed after it (rows sum to at most 1)."""
    states = len(iteration.policy)
    largest = 0.0
    lowest = 0.0
    for place in range(states):
        s = states - 1 - place if backwards else place
        change = improve_state(sets, iteration, s, iteration.progress["total_decrease"] - lowest)
        largest = max(largest, abs(change))
        lowest = min(lowest, change)
    iteration.progress["total_decrease"] -= lowest
    return largest


@lean
def iterate(sets, iteration, tolerance, sweeps):
    """Sweep until no value changes by more than ``tolerance``, at most ``sweeps`` times. Returns the sweeps made.

    The bound of the residual is left in ``progress["residual"]``.
    """
    for made in range(sweeps):
        iteration.progress["residual"] = sweep(sets, iteration, made % 2 == 1)
        if iteration.progress["residual"] <= tolerance:
            return made + 1
    return sweeps


@lean
def largest_value(iteration):
    """The largest value of a state."""
    largest = 0.0
    for s in range(len(iteration.policy)):
        largest = max(largest, iteration.values[s])
    return largest


@lean
def doubled_beyond(bound, value):
    """A bound, doubled until it is not below the value."""
    for _ in range(MOST_DOUBLINGS):
        if not bound < value:
            break
        bound *= 2.0
    return bound


@lean
def repeat_where_rounded(sets, iteration, tolerance, sweeps, made):
    """:func:`iterate` once more where values fell from so high that the total decrease, and so which pairs may be
    skipped, was rounded by more than the certificate has room for. Returns the sweeps made, ``made`` before."""
    if 2.0**-53 * made * iteration.progress["total_decrease"] > ROUNDING * largest_value(iteration):
        iteration.progress["total_decrease"] = 0.0
        for pair in range(len(iteration.backup)):
            iteration.backup[pair] = -np.inf
        made += iterate(sets, iteration, tolerance, max(sweeps - made, 1))
    return made


@lean
def value_iteration(sets, iteration, tolerance, sweeps):
    """:func:`iterate`, and once more where rounding asks for it. Returns the sweeps made."""
    made = iterate(sets, iteration, tolerance, sweeps)
    return repeat_where_rounded(sets, iteration, tolerance, sweeps, made)


@lean
def relative_slack(residual, floor, largest):
    """The x of the certificate (1 - x) v <= v*: x = r / (r + floor), where r has room for the rounding of backups.

    If T v >= v - r and every backup pays at least ``floor``, then T((1 - x) v) >= (1 - x) T v + x floor >=
    (1 - x)(v - r) + x floor = (1 - x) v, and what is below its own backup is below the fixed point.
    """
    slack = residual + ROUNDING * largest + UNDERFLOW
    return slack / (slack + floor)


@lean
def intervals_row(sets, pair, values, t, out_row):
    """The row of an interval set for the level t: what is missing to 1 goes to the next states that are worth t."""
    first = sets.next_start[pair]
    left = 1.0
    for k in range(sets.used[pair]):
        v = values[sets.state[first + k]]
        out_row[k] = sets.high[first + k] if v < t else sets.low[first + k]
        left -= out_row[k]
    for k in range(sets.used[pair]):
        if values[sets.state[first + k]] == t:
            more = min(max(left, 0.0), sets.high[first + k] - out_row[k])
            out_row[k] += more
            left -= more


@lean
def optimistic_row(sets, pair, values, dual, out_row):
    """The most optimistic row of a pair against the values, by seen index; returns what it is worth."""
    if sets.shape == L2_BALL and sets.mass[pair] == NO_GOAL:
        return simplex_ball_row(sets, pair, values, out_row)
    if sets.shape == L2_BALL and sets.mass[pair] == TO_BEST:
        return free_mass_row(sets, pair, values, out_row)
    least, t = inner_minimum(sets, pair, values, dual, np.inf)
    first = sets.next_start[pair]
    if sets.shape == INTERVAL_SET:
        intervals_row(sets, pair, values, t, out_row)
        return least
    whole = sets.ball[pair] >= sets.mass[pair]
    left = sets.ball[pair]
    for k in range(sets.used[pair]):  # of the shape L1_BALL: what lies above the level is taken whole
        v = values[sets.state[first + k]]
        q = sets.centre[first + k]
        out_row[k] = 0.0 if whole else max(q - t * v, 0.0)
        if sets.shape == L1_BALL and not whole:
            out_row[k] = 0.0 if v > t else q
            left -= q if v > t else 0.0
    if sets.shape == L1_BALL and not whole:
        for k in range(sets.used[pair]):
            if values[sets.state[first + k]] == t:
                taken = min(max(left, 0.0), out_row[k])
                out_row[k] -= taken
                left -= taken
    return least


@lean
def optimistic_rows(sets, iteration, out_rows):
    """The most optimistic row of every pair against the values, by seen index: ``out_rows`` [M]. O(M) and more."""
    for pair in range(len(sets.used)):
        row = out_rows[sets.next_start[pair] : sets.next_start[pair + 1]]
        optimistic_row(sets, pair, iteration.values, iteration.dual[pair], row)


@lean
def policy_row(sets, iteration, s, leak, row):
    """The most optimistic row of the policy in state s against the values, by seen index, without the goal and without
    staying: into ``row``. A share ``leak`` leads to the goal besides. Returns the probabilities of moving at all and of
    moving to the goal."""
    states = len(iteration.policy)
    pair = iteration.policy[s]
    first = sets.next_start[pair]
    optimistic_row(sets, pair, iteration.values, iteration.dual[pair], row[: sets.used[pair]])
    total = 0.0
    staying = 0.0
    for k in range(sets.used[pair]):
        t = sets.state[first + k]
        q = 0.0 if t == states else (1.0 - leak) * row[k]
        total += q
        if t == s:
            staying += q
            q = 0.0
        row[k] = q
    if sets.shape == L2_BALL and (sets.mass[pair] == NO_GOAL or sets.mass[pair] == TO_BEST):
        return 1.0 - staying, leak  # what else is left is rounding
    return 1.0 - staying, max(1.0 - total, 0.0)


@lean
def evaluate(sets, iteration, workspace, leak):
    """Give every state what the policy is worth with its most optimistic rows against the values as they are.

    A share ``leak`` of every row leads to the goal besides. From there sweeps have little left to do: policy iteration.
    Returns False, and changes nothing, if that model never arrives. O(S^3).
    """
    states = len(iteration.policy)
    for s in range(states):
        pair = iteration.policy[s]
        first = sets.next_start[pair]
        moving, leaving = policy_row(sets, iteration, s, leak, workspace.row)
        if moving <= 0.0:
            return False
        for t in range(states):
            workspace.matrix[s, t] = 0.0
        for k in range(sets.used[pair]):
            if sets.state[first + k] < states:
                workspace.matrix[s, sets.state[first + k]] = workspace.row[k] / moving
        workspace.leaving[s] = leaving / moving
        workspace.values[s] = sets.losses[pair] / moving
    if not eliminate(workspace.matrix, workspace.leaving, workspace.pivot, workspace.values, workspace.steps, False):
        return False
    lowest = 0.0
    for s in range(states):
        worth = min(workspace.values[s], sets.ceiling)
        lowest = min(lowest, worth - iteration.values[s])
        iteration.values[s] = worth
    iteration.progress["total_decrease"] -= lowest
    return True


@lean
def policy_iteration(sets, iteration, tolerance, sweeps, workspace):
    """:func:`value_iteration`, with the policy evaluated between the first sweeps. For plain models of few states."""
    for made in range(min(ROUNDS, sweeps)):
        iteration.progress["residual"] = sweep(sets, iteration, made % 2 == 1)
        if iteration.progress["residual"] <= tolerance:
            return repeat_where_rounded(sets, iteration, tolerance, sweeps, made + 1)
        if made > 0 and not evaluate(sets, iteration, workspace, 0.0):
            if sets.ceiling < np.inf:
                # Some state never arrives and climbs to the ceiling, one loss at a time: with a leak it is there now.
                least = np.inf
                for s in range(len(iteration.policy)):
                    least = min(least, sets.losses[iteration.policy[s]])
                evaluate(sets, iteration, workspace, min(least / sets.ceiling, 0.5))
            break
    return value_iteration(sets, iteration, tolerance, sweeps)
