"""ULCVI: lower and upper values over a finite horizon (:func:`goalbound.baselines.ulcvi`)."""

from math import log, sqrt

import numpy as np

from goalbound.baselines.planning import empirical_row, update_sets
from goalbound.baselines.protocol import Room, backup, chosen_pair, make_plan, plan_holds, update_pair
from goalbound.jit.compile import lean


@lean
def set_stage_bonus(constants, learner, pair):
    """The parts of the bonus that do not depend on the values."""
    counts = learner.counts
    n = float(counts.visits[pair])
    stages = float(constants.horizon)
    possible = constants.width[pair] + 1.0
    rate = log(12.0 * len(constants.pair_state) * stages * possible * n * n / constants.delta) / n
    learner.bonus.rate[pair] = rate
    learner.bonus.flat[pair] = 0.0
    if not constants.losses_are_known:
        mean = counts.loss_sums[pair] / n
        spread = max(counts.square_sums[pair] / n - mean * mean, 0.0)
        learner.bonus.flat[pair] = constants.scale * (sqrt(2.0 * spread * rate) + 5.0 * rate)
    learner.bonus.steep[pair] = constants.scale * 62.0 * stages * stages * stages * constants.width[pair] * rate


@lean
def update_ulcvi(constants, learner, pair):
    """The empirical row and the bonus of a pair that was visited. O(the next states seen)."""
    if learner.counts.visits[pair] > 0:
        empirical_row(constants, learner, pair)
        set_stage_bonus(constants, learner, pair)


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


@lean
def plan_horizon(constants, learner, sweeps):
    """The table of all stages, by the data of now. It always comes to its end."""
    update_sets(constants, learner, learner.main)
    plan_stages(constants, learner)
    return True


@lean
def interval_goes_on(constants, learner, episode, state):
    """An interval has up to H steps."""
    return episode.progress["steps"] < constants.horizon


@lean
def pair_of_stage(constants, learner, episode, state):
    """The pair of the table at the step of the interval."""
    return int(learner.workspace.table[episode.progress["steps"], state])


@lean
def backup_of_stage(constants, learner, episode, pair):
    """At the values of the first stage."""
    values = learner.main.iteration.values
    cap = (constants.horizon - episode.progress["steps"]) * (1.0 + constants.added_loss)
    cap += 8.0 * constants.loss_bound
    return stage_backups(constants, learner, pair, values, values, cap)[0]


ROOM = Room(
    {
        update_pair: update_ulcvi,
        plan_holds: interval_goes_on,
        make_plan: plan_horizon,
        chosen_pair: pair_of_stage,
        backup: backup_of_stage,
    },
    quantity="bonuses",
    source="Cohen et al. (2021)",
    needs=("loss_bound", "time_bound", "episodes"),
    positive_losses=False,
)
