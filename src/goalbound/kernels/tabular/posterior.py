"""The model of an epoch of PSRL-SSP: drawn from the posterior, or its mean."""

from math import sqrt

import numpy as np

from goalbound.kernels.jit import inlined, lean
from goalbound.kernels.optimism import RESIDUAL


@inlined
def times_led(rules, counts, pair, place):
    """How often a pair led to the next state at this place."""
    if rules.next_state[place] == len(rules.pair_start) - 1:
        return counts.goals[pair]
    slot = counts.slot[place]
    return counts.slot_count[rules.next_start[pair] + slot] if slot >= 0 else 0


@inlined
def central_loss(rules, counts, pair):
    """The mean of the posterior of a loss: 1/2 where nothing was seen."""
    if rules.losses_are_known:
        return rules.known_losses[pair]
    return counts.loss_sums[pair] / counts.visits[pair] if counts.visits[pair] > 0 else 0.5


@inlined
def set_loss(rules, learned, pair, loss):
    """A loss of the model, brought into [f, 1] and what is added to it."""
    if not rules.losses_are_known:
        loss = min(max(loss, rules.loss_floor), 1.0)
    learned.main.plausible.losses[pair] = loss + rules.added_loss


@inlined
def set_row(rules, learned, pair):
    """A row of the model from the weights in the room. All 0: the last next state gets all."""
    plausible, weights = learned.main.plausible, learned.room.row
    first = rules.next_start[pair]
    last = rules.next_start[pair + 1]
    goal = len(rules.pair_start) - 1
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
        if q > 0.0 and rules.next_state[k] != goal:
            plausible.state[first + used] = rules.next_state[k]
            plausible.centre[first + used] = q
            mass += q * q
            used += 1
    plausible.used[pair] = used
    plausible.mass[pair] = mass


@inlined
def all_is_new(learned):
    """No backup of before says anything about this model."""
    learned.main.outlook.meter[RESIDUAL] = np.inf
    learned.main.length[0] = 0
    for pair in range(len(learned.looked)):
        learned.main.is_waiting[pair] = False
        learned.main.outlook.backup[pair] = -np.inf
        learned.looked[pair] = learned.counts.visits[pair]


@lean
def draw_model(rules, learned, rng):
    """A model from the posterior. Draws, pair by pair: a normal number for its loss unless losses are known, then a
    gamma number for each possible next state, in the order of the support. O(M)."""
    counts = learned.counts
    for pair in range(len(learned.looked)):
        loss = central_loss(rules, counts, pair)
        if not rules.losses_are_known:
            n = max(float(counts.visits[pair]), 1.0)
            loss += 0.5 * rules.scale / sqrt(n) * rng.standard_normal()
        set_loss(rules, learned, pair, loss)
        for k in range(rules.next_start[pair], rules.next_start[pair + 1]):
            learned.room.row[k] = rng.standard_gamma(rules.prior + times_led(rules, counts, pair, k))
        set_row(rules, learned, pair)
    all_is_new(learned)


@lean
def mean_model(rules, learned):
    """The mean of the posterior as the model. O(M)."""
    counts = learned.counts
    for pair in range(len(learned.looked)):
        set_loss(rules, learned, pair, central_loss(rules, counts, pair))
        for k in range(rules.next_start[pair], rules.next_start[pair + 1]):
            learned.room.row[k] = rules.prior + times_led(rules, counts, pair, k)
        set_row(rules, learned, pair)
    all_is_new(learned)
