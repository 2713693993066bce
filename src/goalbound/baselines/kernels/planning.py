"""Extended value iteration that computes again only what changed.

The planner of UC-SSP, Hoeffding-SSP, Bernstein-SSP and PSRL-SSP.
"""

from math import sqrt

import numpy as np

from goalbound.baselines.kernels.confidence import update_pair
from goalbound.jit.compile import lean
from goalbound.planning.kernels.value_iteration import (
    ROUNDING,
    improve_state,
    largest_value,
    optimistic_row,
    policy_iteration,
    value_iteration,
)


@lean
def mark_dirty(model, pair):
    """The data of a pair has changed: it is to be looked at before the next plan."""
    if not model.is_dirty[pair]:
        model.is_dirty[pair] = True
        model.dirty[model.dirty_count[0]] = pair
        model.dirty_count[0] += 1


@lean
def update_sets(constants, learner, model):
    """Update the pairs that changed. Values of their states are brought up to date if that is less than a sweep."""
    iteration = model.iteration
    count = model.dirty_count[0]
    model.dirty_count[0] = 0
    for place in range(count):
        pair = model.dirty[place]
        model.is_dirty[pair] = False
        update_pair(constants, learner, pair)
        iteration.backup[pair] = -np.inf
    if count > len(iteration.policy):
        iteration.progress["residual"] = np.inf
    if iteration.progress["residual"] == np.inf:
        return
    for place in range(count):
        # Only backups of these states changed; the residuals of the others grow by no more than the changes.
        state = constants.pair_state[model.dirty[place]]
        change = improve_state(model.sets, iteration, state, iteration.progress["total_decrease"])
        iteration.progress["residual"] += abs(change)
        iteration.progress["total_decrease"] -= min(change, 0.0)


@lean
def replan(constants, learner, model, tolerance, sweeps):
    """Values with max |T v - v| <= tolerance, from the last ones on. Returns whether value iteration came to its end.

    No backup is exact beyond rounding, so neither is what is asked of it.
    """
    update_sets(constants, learner, model)
    iteration = model.iteration
    if iteration.progress["residual"] <= tolerance:
        return True
    asked = max(tolerance, ROUNDING * largest_value(iteration))
    workspace = learner.workspace.workspace
    if constants.policy_iteration:
        learner.totals["sweeps"] += policy_iteration(model.sets, iteration, 0.5 * asked, sweeps, workspace)
    else:
        learner.totals["sweeps"] += value_iteration(model.sets, iteration, 0.5 * asked, sweeps)
    return iteration.progress["residual"] <= max(tolerance, ROUNDING * largest_value(iteration))


@lean
def attempt_length(learner, model, gamma, most):
    """H = min{h > 1: |Q^(h - 1)| <= gamma} for the optimistic rows Q of the policy on the states, |Q^i| = max Q^i 1.

    0 if it is above ``most``. O(S) rows for each power.
    """
    sets, iteration, workspace = model.sets, model.iteration, learner.workspace
    states = len(iteration.policy)
    for s in range(states):
        pair = iteration.policy[s]
        first = sets.next_start[pair]
        row = workspace.row[first : first + sets.used[pair]]
        optimistic_row(sets, pair, iteration.values, iteration.dual[pair], row)
        workspace.values[1, s] = 1.0
    for power in range(1, most):
        before, after = power % 2, (power + 1) % 2
        largest = 0.0
        for s in range(states):
            pair = iteration.policy[s]
            first = sets.next_start[pair]
            stays = 0.0
            for k in range(first, first + sets.used[pair]):
                stays += workspace.row[k] * workspace.values[before, sets.state[k]]
            workspace.values[after, s] = stays
            largest = max(largest, stays)
        if largest <= gamma * (1.0 + ROUNDING):
            return power + 1
    return 0


@lean
def plan_attempt(constants, learner, model, episode, least, gamma, sweeps):
    """Plan an attempt of UC-SSP and set its length; ``least`` is the least loss. Returns whether all came to an end."""
    if not replan(constants, learner, model, least / (2.0 * (learner.totals["steps"] + 1.0)), sweeps):
        return False
    episode.progress["limit"] = attempt_length(learner, model, gamma, sweeps)
    return episode.progress["limit"] > 0


@lean
def begin_attempt(constants, learner, episode, sweeps):
    """The next attempt of UC-SSP in an episode. Returns whether its plan came to an end."""
    if episode.progress["intervals"] == 0:
        gamma = 1.0 / sqrt(float(episode.progress["number"]))
        if not plan_attempt(constants, learner, learner.main, episode, constants.floor, gamma, sweeps):
            return False
        follow_policy(learner.main.iteration, episode)
        return True
    gamma = 1.0 / sqrt(learner.totals["retries"] + 1.0)
    if not plan_attempt(constants, learner, learner.unit, episode, 1.0, gamma, sweeps):
        return False
    learner.totals["retries"] += 1
    follow_policy(learner.unit.iteration, episode)
    return True


@lean
def follow_policy(iteration, episode):
    """The episode keeps its own copy: others may plan meanwhile."""
    for s in range(len(episode.policy)):
        episode.policy[s] = iteration.policy[s]
