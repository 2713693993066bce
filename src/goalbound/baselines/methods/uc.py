"""UC-SSP: attempts that are given up when they take too long (:func:`goalbound.baselines.uc_ssp`)."""

from math import log, sqrt

import numpy as np

from goalbound.baselines.loop import backup_in_sets, note_doubling
from goalbound.baselines.planning import follow_policy, l1_ball_around_mean, mark_dirty, replan
from goalbound.baselines.protocol import Room, backup, begin_plan, note_visit, plan_holds, update_pair
from goalbound.jit.compile import lean
from goalbound.planning.kernels.value_iteration import L1_BALL, ROUNDING, inner_minimum, optimistic_row


@lean
def update_uc(constants, learner, pair):
    """The L1 ball of a pair. O(the next states seen)."""
    n = max(float(learner.counts.visits[pair]), 1.0)
    radius = constants.scale * sqrt(
        8.0 * constants.width[pair] * log(2.0 * constants.actions * n / constants.delta) / n
    )
    l1_ball_around_mean(constants, learner, pair, radius)


@lean
def note_in_both_models(constants, learner, pair, arrived):
    """The pair waits in both models."""
    mark_dirty(learner.unit, pair)
    note_doubling(constants, learner, pair, arrived)


@lean
def attempt_goes_on(constants, learner, episode, state):
    """No more than H steps were made."""
    return episode.progress["steps"] <= episode.progress["limit"]


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
    """The next attempt in an episode. Returns whether its plan came to an end."""
    if episode.progress["intervals"] == 0:
        gamma = 1.0 / sqrt(float(episode.progress["number"]))
        if not plan_attempt(constants, learner, learner.main, episode, constants.floor, gamma, sweeps):
            return False
        follow_policy(learner.main.iteration, episode)
        learner.totals["plans"] += 1
        return True
    gamma = 1.0 / sqrt(learner.totals["retries"] + 1.0)
    if not plan_attempt(constants, learner, learner.unit, episode, 1.0, gamma, sweeps):
        return False
    learner.totals["retries"] += 1
    follow_policy(learner.unit.iteration, episode)
    learner.totals["plans"] += 1
    return True


@lean
def backup_in_attempt(constants, learner, episode, pair):
    """In the model of the attempt: its own losses first, then a loss of 1 everywhere."""
    if episode.progress["intervals"] <= 1:
        return backup_in_sets(constants, learner, episode, pair)
    model = learner.unit
    least, _ = inner_minimum(model.sets, pair, model.iteration.values, model.iteration.dual[pair], np.inf)
    return model.sets.losses[pair] + least


ROOM = Room(
    {
        update_pair: update_uc,
        note_visit: note_in_both_models,
        plan_holds: attempt_goes_on,
        begin_plan: begin_attempt,
        backup: backup_in_attempt,
    },
    quantity="radii",
    source="Tarbouriech et al. (2020)",
    shape=L1_BALL,
    looks_again=True,
)
