"""What the data of a pair looks like, and extended value iteration that computes again only what changed."""

from math import log, sqrt

import numpy as np

from goalbound.baselines.protocol import update_pair
from goalbound.jit.compile import lean
from goalbound.planning.kernels.value_iteration import (
    ROUNDING,
    improve_state,
    largest_value,
    policy_iteration,
    value_iteration,
)


@lean
def record(constants, counts, pair, place, loss):
    """Enter a step: its pair, the place of its next state among the M triples, its loss. O(1)."""
    counts.visits[pair] += 1
    counts.loss_sums[pair] += loss
    counts.square_sums[pair] += loss * loss
    following = constants.next_state[place]
    if following == len(constants.pair_start) - 1:
        counts.goals[pair] += 1
        return
    index = counts.seen_index[place]
    if index < 0:
        index = counts.seen[pair]
        counts.seen_index[place] = index
        counts.seen_state[constants.next_start[pair] + index] = following
        counts.seen[pair] += 1
    counts.seen_count[constants.next_start[pair] + index] += 1


@lean
def mean_loss(constants, counts, pair):
    """l^ of a pair that was visited: the mean, or the loss itself where it is known."""
    if constants.losses_are_known:
        return constants.known_losses[pair]
    return counts.loss_sums[pair] / counts.visits[pair]


@lean
def optimistic_loss(constants, counts, pair):
    """The least plausible loss (UC-SSP, Hoeffding-SSP, Bernstein-SSP), what is added included."""
    if constants.losses_are_known:
        return constants.known_losses[pair] + constants.added_loss
    n = float(counts.visits[pair])
    if n == 0.0:
        return constants.floor
    radius = constants.scale * sqrt(log(4.0 * len(constants.pair_state) * n * n / constants.delta) / (2.0 * n))
    return max(constants.floor, min(1.0, mean_loss(constants, counts, pair) - radius) + constants.added_loss)


@lean
def l1_ball_around_mean(constants, learner, pair, radius):
    """An L1 ball of this radius around the empirical row (UC-SSP, Hoeffding-SSP)."""
    counts, sets = learner.counts, learner.main.sets
    n = max(float(counts.visits[pair]), 1.0)
    first = constants.next_start[pair]
    mass = 0.0
    for k in range(first, first + counts.seen[pair]):
        q = counts.seen_count[k] / n
        sets.centre[k] = q
        sets.state[k] = counts.seen_state[k]
        mass += q
    sets.used[pair] = counts.seen[pair]
    sets.mass[pair] = mass
    sets.ball[pair] = 0.5 * radius
    sets.losses[pair] = optimistic_loss(constants, counts, pair)


@lean
def empirical_row(constants, learner, pair):
    """The empirical row and loss of a pair that was visited (EB-SSP, ULCVI)."""
    counts, sets = learner.counts, learner.main.sets
    first = constants.next_start[pair]
    n = float(counts.visits[pair])
    for k in range(first, first + counts.seen[pair]):
        sets.centre[k] = counts.seen_count[k] / n
        sets.state[k] = counts.seen_state[k]
    sets.used[pair] = counts.seen[pair]
    sets.losses[pair] = mean_loss(constants, counts, pair) + constants.added_loss


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
        learner.visits_used[pair] = learner.counts.visits[pair]
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
def follow_policy(iteration, episode):
    """The episode keeps its own copy: others may plan meanwhile."""
    for s in range(len(episode.policy)):
        episode.policy[s] = iteration.policy[s]
