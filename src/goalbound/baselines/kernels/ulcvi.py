"""The planner of ULCVI: backwards through the stages of an interval, with lower and upper values."""

from math import sqrt

import numpy as np

from goalbound.jit.compile import lean


@lean
def stage_backups(constants, learner, pair, lower, upper, cap):
    """Q_low and Q_up of a pair against the values of the next stage."""
    sets, bonus = learner.main.sets, learner.bonus
    if learner.visits_used[pair] == 0 or bonus.steep[pair] >= cap:  # both are at their ends whatever the rest is
        return 0.0, cap
    low = 0.0
    high = 0.0
    square = 0.0
    first = sets.next_start[pair]
    for k in range(first, first + sets.used[pair]):
        q = sets.centre[k]
        v = lower[sets.state[k]]
        low += q * v
        square += q * v * v
        high += q * upper[sets.state[k]]
    variance = max(square - low * low, 0.0)
    wide = constants.scale * sqrt(2.0 * variance * bonus.rate[pair]) + bonus.steep[pair]
    wide += (high - low) / (16.0 * constants.horizon)
    wide += bonus.flat[pair]
    loss = sets.losses[pair]
    return max(loss + low - wide, 0.0), min(loss + high + wide, cap)


@lean
def plan_stage(constants, learner, stage, now):
    """Values and pairs of one stage (0 is the first) from the values in half ``now`` of the workspace to the other."""
    workspace, counts = learner.workspace, learner.counts
    lower, upper = workspace.values[now], workspace.upper[now]
    cap = (constants.horizon - stage) * (1.0 + constants.added_loss) + 8.0 * constants.loss_bound
    for s in range(len(constants.pair_start) - 1):
        best = np.inf
        highest = cap
        chosen = constants.pair_start[s]
        for pair in range(constants.pair_start[s], constants.pair_start[s + 1]):
            low, high = stage_backups(constants, learner, pair, lower, upper, cap)
            if low < best or (low == best and counts.visits[pair] < counts.visits[chosen]):
                best = low
                highest = high
                chosen = pair
        workspace.values[1 - now, s] = best
        workspace.upper[1 - now, s] = highest
        workspace.table[stage, s] = chosen


@lean
def plan_stages(constants, learner):
    """Fill the table for all stages; the values and pairs of the first stage go to the planning state too."""
    workspace, iteration = learner.workspace, learner.main.iteration
    states = len(iteration.policy)
    for s in range(states):
        workspace.values[0, s] = 8.0 * constants.loss_bound
        workspace.upper[0, s] = 8.0 * constants.loss_bound
    now = 0
    for stage in range(constants.horizon - 1, -1, -1):
        plan_stage(constants, learner, stage, now)
        now = 1 - now
    learner.totals["sweeps"] += constants.horizon
    for s in range(states):
        iteration.values[s] = workspace.values[now, s]
        iteration.policy[s] = workspace.table[0, s]
