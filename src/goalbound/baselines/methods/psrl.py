"""PSRL-SSP: the best policy of a model drawn from the posterior (:func:`goalbound.baselines.psrl_ssp`)."""

from math import sqrt

import numpy as np

from goalbound.baselines.loop import has_doubled
from goalbound.baselines.protocol import Room, draw_model, note_visit
from goalbound.jit.compile import lean


@lean
def times_led(constants, counts, pair, place):
    """How often a pair led to the next state at this place."""
    if constants.next_state[place] == len(constants.pair_start) - 1:
        return counts.goals[pair]
    index = counts.seen_index[place]
    return counts.seen_count[constants.next_start[pair] + index] if index >= 0 else 0


@lean
def central_loss(constants, counts, pair):
    """The mean of the posterior of a loss: 1/2 where nothing was seen."""
    if constants.losses_are_known:
        return constants.known_losses[pair]
    return counts.loss_sums[pair] / counts.visits[pair] if counts.visits[pair] > 0 else 0.5


@lean
def set_loss(constants, learner, pair, loss):
    """A loss of the model, brought into [f, 1] and what is added to it."""
    if not constants.losses_are_known:
        loss = min(max(loss, constants.loss_floor), 1.0)
    learner.main.sets.losses[pair] = loss + constants.added_loss


@lean
def set_row(constants, learner, pair):
    """A row of the model from the weights in the workspace. All 0: the last next state gets all."""
    sets, weights = learner.main.sets, learner.workspace.row
    first = constants.next_start[pair]
    last = constants.next_start[pair + 1]
    goal = len(constants.pair_start) - 1
    total = 0.0
    for k in range(first, last):
        total += weights[k]
    if total == 0.0:
        weights[last - 1] = 1.0
        total = 1.0
    used = 0
    mass = 0.0
    for k in range(first, last):
        q = weights[k] / total
        if q > 0.0 and constants.next_state[k] != goal:
            sets.state[first + used] = constants.next_state[k]
            sets.centre[first + used] = q
            mass += q * q
            used += 1
    sets.used[pair] = used
    sets.mass[pair] = mass


@lean
def all_is_new(learner):
    """No backup of before says anything about this model."""
    learner.main.iteration.progress["residual"] = np.inf
    learner.main.dirty_count[0] = 0
    for pair in range(len(learner.visits_used)):
        learner.main.is_dirty[pair] = False
        learner.main.iteration.backup[pair] = -np.inf
        learner.visits_used[pair] = learner.counts.visits[pair]


@lean
def draw_posterior(constants, learner, rng):
    """A model from the posterior, where a new plan is due. O(M) draws, pair by pair: a normal number for its loss
    unless losses are known, then a gamma number for each possible next state, in the order of the support."""
    if learner.totals["stale"] == 0:
        return
    counts = learner.counts
    for pair in range(len(learner.visits_used)):
        loss = central_loss(constants, counts, pair)
        if not constants.losses_are_known:
            n = max(float(counts.visits[pair]), 1.0)
            loss += 0.5 * constants.scale / sqrt(n) * rng.standard_normal()
        set_loss(constants, learner, pair, loss)
        for k in range(constants.next_start[pair], constants.next_start[pair + 1]):
            learner.workspace.row[k] = rng.standard_gamma(constants.prior + times_led(constants, counts, pair, k))
        set_row(constants, learner, pair)
    all_is_new(learner)


@lean
def mean_model(constants, learner):
    """The mean of the posterior as the model. O(M)."""
    counts = learner.counts
    for pair in range(len(learner.visits_used)):
        set_loss(constants, learner, pair, central_loss(constants, counts, pair))
        for k in range(constants.next_start[pair], constants.next_start[pair + 1]):
            learner.workspace.row[k] = constants.prior + times_led(constants, counts, pair, k)
        set_row(constants, learner, pair)
    all_is_new(learner)


@lean
def note_goals(constants, learner, pair, arrived):
    """An epoch ends when the visits of a pair have doubled, or goals outnumber those of the epoch before."""
    totals = learner.totals
    if has_doubled(learner, pair):
        totals["stale"] = 1
    if arrived:
        totals["goals"] += 1
        if totals["goals"] > totals["goals_before"]:
            totals["stale"] = 1


ROOM = Room(
    {note_visit: note_goals, draw_model: draw_posterior},
    quantity="spread of the losses",
    source="Jafarnia-Jahromi et al. (2021)",
    defaults={"prior": 0.1, "value_cap": 1000.0},
    draws=True,
    mean_model=mean_model,
    looks_again=True,
)
