"""Extended value iteration that computes again only what changed.

The planner of UC-SSP, Hoeffding-SSP, Bernstein-SSP and PSRL-SSP.
"""

from math import sqrt

import numpy as np

from goalbound.kernels.jit import inlined, lean
from goalbound.kernels.optimism import (
    FALL,
    RESIDUAL,
    ROUNDING,
    hopeful_row,
    improve_state,
    largest_value,
    settle,
    settle_by_policies,
)
from goalbound.kernels.tabular.layout import INTERVALS, LIMIT, NUMBER, RETRIES, STEPS, SWEEPS
from goalbound.kernels.tabular.looks import look_at


@inlined
def wait(front, pair):
    """The data of a pair has changed: it is to be looked at before the next plan."""
    if not front.is_waiting[pair]:
        front.is_waiting[pair] = True
        front.waiting[front.length[0]] = pair
        front.length[0] += 1


@lean
def refresh(rules, learned, front):
    """Look at the pairs that wait. Values of their states are brought up to date if that is less than a sweep."""
    outlook = front.outlook
    count = front.length[0]
    front.length[0] = 0
    for place in range(count):
        pair = front.waiting[place]
        front.is_waiting[pair] = False
        look_at(rules, learned, pair)
        outlook.backup[pair] = -np.inf
    if count > len(outlook.policy):
        outlook.meter[RESIDUAL] = np.inf
    if outlook.meter[RESIDUAL] == np.inf:
        return
    for place in range(count):
        # Only backups of these states changed; the residuals of the others grow by no more than the changes.
        state = rules.pair_state[front.waiting[place]]
        change = improve_state(front.plausible, outlook, state, outlook.meter[FALL])
        outlook.meter[RESIDUAL] += abs(change)
        outlook.meter[FALL] -= min(change, 0.0)


@lean
def replan(rules, learned, front, tolerance, sweeps):
    """Values with max |T v - v| <= tolerance, from the last ones on. Returns whether value iteration came to its end.

    No backup is exact beyond rounding, so neither is what is asked of it.
    """
    refresh(rules, learned, front)
    outlook = front.outlook
    if outlook.meter[RESIDUAL] <= tolerance:
        return True
    asked = max(tolerance, ROUNDING * largest_value(outlook))
    bench = learned.room.bench
    if len(bench.leaving) > 0:
        learned.tally[SWEEPS] += settle_by_policies(front.plausible, outlook, 0.5 * asked, sweeps, bench)
    else:
        learned.tally[SWEEPS] += settle(front.plausible, outlook, 0.5 * asked, sweeps)
    return outlook.meter[RESIDUAL] <= max(tolerance, ROUNDING * largest_value(outlook))


@lean
def attempt_length(learned, front, gamma, most):
    """H = min{h > 1: |Q^(h - 1)| <= gamma} for the optimistic rows Q of the policy on the states, |Q^i| = max Q^i 1.

    0 if it is above ``most``. O(S) rows for each power.
    """
    plausible, outlook, room = front.plausible, front.outlook, learned.room
    states = len(outlook.policy)
    for s in range(states):
        pair = outlook.policy[s]
        first = plausible.next_start[pair]
        row = room.row[first : first + plausible.used[pair]]
        hopeful_row(plausible, pair, outlook.values, outlook.pull[pair], row)
        room.values[1, s] = 1.0
    for power in range(1, most):
        before, after = power % 2, (power + 1) % 2
        largest = 0.0
        for s in range(states):
            pair = outlook.policy[s]
            first = plausible.next_start[pair]
            stays = 0.0
            for k in range(first, first + plausible.used[pair]):
                stays += room.row[k] * room.values[before, plausible.state[k]]
            room.values[after, s] = stays
            largest = max(largest, stays)
        if largest <= gamma * (1.0 + ROUNDING):
            return power + 1
    return 0


@lean
def plan_attempt(rules, learned, front, walk, least, gamma, sweeps):
    """Plan an attempt of UC-SSP and set its length; ``least`` is the least loss. Returns whether all came to an end."""
    if not replan(rules, learned, front, least / (2.0 * (learned.tally[STEPS] + 1.0)), sweeps):
        return False
    walk.tally[LIMIT] = attempt_length(learned, front, gamma, sweeps)
    return walk.tally[LIMIT] > 0


@lean
def begin_attempt(rules, learned, walk, sweeps):
    """The next attempt of UC-SSP in an episode. Returns whether its plan came to an end."""
    if walk.tally[INTERVALS] == 0:
        gamma = 1.0 / sqrt(float(walk.tally[NUMBER]))
        if not plan_attempt(rules, learned, learned.main, walk, rules.floor, gamma, sweeps):
            return False
        follow_policy(learned.main.outlook, walk)
        return True
    gamma = 1.0 / sqrt(learned.tally[RETRIES] + 1.0)
    if not plan_attempt(rules, learned, learned.unit, walk, 1.0, gamma, sweeps):
        return False
    learned.tally[RETRIES] += 1
    follow_policy(learned.unit.outlook, walk)
    return True


@inlined
def follow_policy(outlook, walk):
    """The episode keeps its own copy: others may plan meanwhile."""
    for s in range(len(walk.policy)):
        walk.policy[s] = outlook.policy[s]
