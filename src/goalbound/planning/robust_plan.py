"""The policy that loses least in the worst of the plausible models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from goalbound.models import BallSet, IntervalSet
from goalbound.models.validation import check_fraction
from goalbound.planning.checks import EFFORT
from goalbound.planning.extended_value_iteration import extended_value_iteration, uncertainty_arrays
from goalbound.planning.kernels.robust_evaluation import optimistic_backups, pessimistic_backups
from goalbound.planning.policy_bounds import PolicyBounds, checked_sets, normalised, policy_bounds
from goalbound.planning.robust_values import PlausibleRows

MOST_POLICIES = 200
"""As many policies are tried; a handful suffices."""
BETTER = 1e-9
"""An action replaces another if it is better by this share of the value. Ties are never switched; where rounding brings
a policy back, the search ends."""
FAR = 1e3
"""What is infinite counts as so many times the largest finite value in bounds from below."""
FLOOR = 1e-6
"""In states that are not safe, losses of 0 count as this when an action is chosen."""

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def robust_plan(sets: BallSet | IntervalSet, *, tolerance: float = 1e-6) -> PolicyBounds:
    """The policy whose largest loss in the plausible models is least, with the bounds of :func:`policy_bounds`.

    A state is safe if some policy reaches the goal from it with probability 1 in every plausible model. In safe states
    the policy loses, in the worst plausible model, the least that any policy does (up to a relative 1e-9 a step); the
    upper bounds are certified for this policy. Where a state is not safe they are infinite, and it is among
    ``may_never_arrive``; there the policy plays what is best in the most optimistic model.

    Policy iteration: the worst case of a policy is evaluated by :func:`policy_bounds`, and an action is changed where
    another has a smaller pessimistic backup of the same bounds. No policy that may never arrive comes of it: along a
    set of states that can be kept to, backups of changed actions are strictly below the values, whose mean cannot fall
    where no loss is negative.

    >>> from goalbound.models import Support
    >>> plausible = IntervalSet(
    ...     Support.from_pairs([{0: [0, 1], 1: [1]}]), [0.1, 0.4], [0.1, 0.4], [0.0, 0.0, 1.0], [0.9, 1.0, 1.0])
    >>> robust_plan(plausible).policy, robust_plan(plausible).upper.round(3)  # 0.1 / 0.1 = 1 at worst, or 0.4
    (array([1]), array([0.4, 0. ]))
    """
    check_fraction(tolerance, "tolerance", "relative to the bounds")
    support = checked_sets(sets).support
    plain = normalised(sets)
    pairs, allowed = _safe_pairs(PlausibleRows(plain))
    safe = pairs >= 0
    pairs = np.where(safe, pairs, _optimistic_pairs(plain))
    bounds = policy_bounds(sets, support.pair_action[pairs], tolerance=tolerance)
    tried = {pairs.tobytes()}
    for _ in range(MOST_POLICIES):
        _, high = pair_bounds(plain, bounds.lower, bounds.upper)
        high = np.where(allowed, high, np.inf)
        least = np.minimum.reduceat(high, support.pair_start[:-1])
        better = safe & (least < high[pairs] * (1.0 - BETTER))
        first = _first_of(support.pair_state, high == least[support.pair_state], support.states)
        following = np.where(better, first, pairs)
        if following.tobytes() in tried:
            break
        tried.add(following.tobytes())
        changed = policy_bounds(sets, support.pair_action[following], tolerance=tolerance)
        if np.isinf(changed.upper[:-1][safe]).any():
            break  # rounding
        pairs, bounds = following, changed
    return bounds


def pair_bounds(sets: BallSet | IntervalSet, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """[N] bounds of what a pair loses, and its next states after it, whose losses lie between two bounds [S + 1]."""
    rows, support = PlausibleRows(sets), sets.support
    arrays = uncertainty_arrays(sets)
    run = EFFORT.engine(2 * support.triples)
    low, high, scratch = np.zeros(support.pairs), np.zeros(support.pairs), np.zeros(support.triples)
    endless = np.isinf(upper)
    worst = arrays._replace(losses=np.array(sets.loss_high))
    run(pessimistic_backups)(worst, np.where(endless, 0.0, upper), np.zeros(support.pairs), high, scratch)
    risky = rows.attainable(np.ones(len(upper), dtype=bool)) & endless[support.next_state]
    high[np.logical_or.reduceat(risky, support.next_start[:-1])] = np.inf
    reachable = np.isfinite(lower)
    far = FAR * (1.0 + float(np.max(lower[reachable])))
    run(optimistic_backups)(arrays, np.where(reachable, lower, far), np.zeros(support.pairs), low, scratch)
    low[~rows.may_stay(reachable)] = np.inf
    return low, high


def _safe_pairs(rows: PlausibleRows) -> tuple[NDArray[np.int64], Bools]:
    """[S] a pair of each safe state, by which the goal is surely reached, else -1; [N] which pairs surely stay safe.

    The largest set of states that have pairs with which it is never left, and by which, whatever the rows, the goal is
    reached: each leads, with positive probability in every plausible row, to a state from which it is.
    """
    support = rows.support
    attainable = rows.attainable(np.ones(support.states + 1, dtype=bool))
    safe = np.ones(support.states + 1, dtype=bool)
    while True:
        leaves = np.logical_or.reduceat(attainable & ~safe[support.next_state], support.next_start[:-1])
        choice = np.full(support.states, -1, dtype=np.int64)
        reached = np.append(np.zeros(support.states, dtype=bool), True)
        while True:
            surely = ~leaves & ~rows.may_stay(~reached)
            first = _first_of(support.pair_state, surely, support.states)
            new = (first >= 0) & ~reached[:-1]
            if not new.any():
                break
            choice[new] = first[new]
            reached[:-1] |= new
        if np.array_equal(reached, safe):
            return choice, ~leaves
        safe = reached


def _first_of(pair_state: NDArray[np.int32], wanted: Bools, states: int) -> NDArray[np.int64]:
    """[S] the first wanted pair [N] of each state; -1 if there is none."""
    first = np.full(states, -1, dtype=np.int64)
    pairs = np.flatnonzero(wanted)[::-1]
    first[pair_state[pairs]] = pairs
    return first


def _optimistic_pairs(sets: BallSet | IntervalSet) -> NDArray[np.int64]:
    """[S] the pairs of the policy that is best in the most optimistic model."""
    low = np.maximum(sets.loss_low, FLOOR)
    positive = replace(sets, loss_low=low, loss_high=np.maximum(sets.loss_high, low))
    policy = extended_value_iteration(positive, tolerance=1e-3, sweeps=2_000).policy
    return np.array([sets.support.pair(s, int(action)) for s, action in enumerate(policy)], dtype=np.int64)
