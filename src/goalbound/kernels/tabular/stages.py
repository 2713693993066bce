"""The planner of ULCVI: backwards through the stages of an interval, with lower and upper values."""

from math import sqrt

import numpy as np

from goalbound.kernels.jit import inlined, lean
from goalbound.kernels.tabular.layout import SWEEPS


@inlined
def stage_worths(rules, learned, pair, lower, upper, cap):
    """Q_low and Q_up of a pair against the values of the next stage."""
    plausible, bonus = learned.main.plausible, learned.bonus
    if learned.looked[pair] == 0 or bonus.steep[pair] >= cap:  # both are at their ends whatever the rest is
        return 0.0, cap
    low = 0.0
    high = 0.0
    square = 0.0
    first = plausible.next_start[pair]
    for k in range(first, first + plausible.used[pair]):
        q = plausible.centre[k]
        v = lower[plausible.state[k]]
        low += q * v
        square += q * v * v
        high += q * upper[plausible.state[k]]
    variance = max(square - low * low, 0.0)
    wide = rules.scale * sqrt(2.0 * variance * bonus.rate[pair]) + bonus.steep[pair]
    wide += (high - low) / (16.0 * rules.horizon)
    wide += bonus.flat[pair]
    loss = plausible.losses[pair]
    return max(loss + low - wide, 0.0), min(loss + high + wide, cap)


@lean
def plan_stage(rules, learned, stage, now):
    """Values and pairs of one stage (0 is the first) from the values in half ``now`` of the room to the other half."""
    room, counts = learned.room, learned.counts
    lower, upper = room.values[now], room.upper[now]
    cap = (rules.horizon - stage) * (1.0 + rules.added_loss) + 8.0 * rules.loss_bound
    for s in range(len(rules.pair_start) - 1):
        best = np.inf
        highest = cap
        chosen = rules.pair_start[s]
        for pair in range(rules.pair_start[s], rules.pair_start[s + 1]):
            low, high = stage_worths(rules, learned, pair, lower, upper, cap)
            if low < best or (low == best and counts.visits[pair] < counts.visits[chosen]):
                best = low
                highest = high
                chosen = pair
        room.values[1 - now, s] = best
        room.upper[1 - now, s] = highest
        room.table[stage, s] = chosen


@lean
def plan_stages(rules, learned):
    """Fill the table for all stages; the values and pairs of the first stage go to the outlook too."""
    room, outlook = learned.room, learned.main.outlook
    states = len(outlook.policy)
    for s in range(states):
        room.values[0, s] = 8.0 * rules.loss_bound
        room.upper[0, s] = 8.0 * rules.loss_bound
    now = 0
    for stage in range(rules.horizon - 1, -1, -1):
        plan_stage(rules, learned, stage, now)
        now = 1 - now
    learned.tally[SWEEPS] += rules.horizon
    for s in range(states):
        outlook.values[s] = room.values[now, s]
        outlook.policy[s] = room.table[0, s]
