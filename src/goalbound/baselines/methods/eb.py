"""EB-SSP: value iteration with a bonus that depends on the values (VISGO), in a skewed model
(:func:`goalbound.baselines.eb_ssp`)."""

from math import log, sqrt

import numpy as np

from goalbound.baselines.planning import empirical_row, mean_loss
from goalbound.baselines.protocol import Room, backup, make_plan, note_visit, update_pair
from goalbound.jit.compile import lean
from goalbound.planning.kernels.value_iteration import MOST_DOUBLINGS, doubled_beyond, largest_value

FINEST = 1e-9
"""The precision is not finer than this share of B."""


@lean
def set_visgo_bonus(constants, learner, pair):
    """The parts of the bonus that do not depend on the values; the scale is not in them."""
    n = float(learner.counts.visits[pair])
    possible = constants.width[pair] + 1.0
    iota = log(12.0 * len(constants.pair_state) * possible * n * n / constants.delta)
    learner.bonus.rate[pair] = iota / n
    learner.bonus.flat[pair] = 0.0
    if not constants.losses_are_known:
        learner.bonus.flat[pair] = 2.0 * sqrt(2.0) * sqrt(mean_loss(constants, learner.counts, pair) * iota / n)
    learner.bonus.steep[pair] = 2.0 * sqrt(2.0) * sqrt(possible * iota) / n


@lean
def update_eb(constants, learner, pair):
    """The empirical row and the bonus of a pair that was visited. O(the next states seen)."""
    if learner.counts.visits[pair] > 0:
        empirical_row(constants, learner, pair)
        set_visgo_bonus(constants, learner, pair)


@lean
def note_powers_of_two(constants, learner, pair, arrived):
    """The data of a pair is renewed when its visits reach 1, 2, 4, 8, ..."""
    n = learner.counts.visits[pair]
    if (n & (n - 1)) == 0:
        update_eb(constants, learner, pair)
        learner.visits_used[pair] = n
        learner.totals["triggers"] += 1
        learner.totals["stale"] = 1


@lean
def eb_backup(constants, learner, pair, values, largest, bound):
    """max(0, l + P~ v - b(v)) of a pair that was visited. O(the next states seen), or O(1) where the bonus is large."""
    sets, bonus = learner.main.sets, learner.bonus
    loss = sets.losses[pair]
    rate = bonus.rate[pair]
    rest = bonus.flat[pair] + bound * bonus.steep[pair]
    if constants.scale * (36.0 * bound * rate + rest) > 1.000001 * (loss + largest):
        return 0.0
    mean = 0.0
    square = 0.0
    first = sets.next_start[pair]
    for k in range(first, first + sets.used[pair]):
        part = sets.centre[k] * values[sets.state[k]]
        mean += part
        square += part * values[sets.state[k]]
    n = float(learner.visits_used[pair])
    mean *= n / (n + 1.0)
    square *= n / (n + 1.0)
    variance = max(square - mean * mean, 0.0)
    wide = max(6.0 * sqrt(variance * rate), 36.0 * bound * rate)
    return max(loss + mean - constants.scale * (wide + rest), 0.0)


@lean
def eb_sweep(constants, learner, after, largest):
    """One Jacobi sweep from the values of the planning state to ``after``; returns the largest change.

    Ties go to the pair with the fewest visits, then to the lowest.
    """
    iteration = learner.main.iteration
    bound = learner.totals["loss_bound"]
    change = 0.0
    for s in range(len(iteration.policy)):
        best = np.inf
        chosen = constants.pair_start[s]
        for pair in range(constants.pair_start[s], constants.pair_start[s + 1]):
            worth = 0.0
            if learner.visits_used[pair] > 0:
                worth = eb_backup(constants, learner, pair, iteration.values, largest, bound)
            fewer = learner.counts.visits[pair] < learner.counts.visits[chosen]
            if worth < best or (worth == best and fewer):
                best = worth
                chosen = pair
        after[s] = best
        iteration.policy[s] = chosen
        change = max(change, abs(best - iteration.values[s]))
    return change


@lean
def iterate_eb(constants, learner, precision, sweeps):
    """Jacobi iteration from 0 until no value changes by more than the precision. Returns whether it came to its end."""
    iteration = learner.main.iteration
    after = learner.workspace.values[0]
    states = len(iteration.policy)
    for s in range(states):
        iteration.values[s] = 0.0
    largest = 0.0
    for _ in range(sweeps):
        learner.totals["sweeps"] += 1
        change = eb_sweep(constants, learner, after, largest)
        for s in range(states):
            iteration.values[s] = after[s]
        if change <= precision:
            return True
        largest = largest_value(iteration)
    return False


@lean
def plan_eb_ssp(constants, learner, sweeps):
    """A plan of EB-SSP under a bound B that it does not contradict. Returns whether it came to its end."""
    for _ in range(MOST_DOUBLINGS):
        bound = learner.totals["loss_bound"]
        precision = max(0.5 ** learner.totals["triggers"] / len(constants.pair_state), FINEST * bound)
        if not iterate_eb(constants, learner, precision, sweeps):
            return False
        largest = largest_value(learner.main.iteration)
        if not constants.doubling or not largest > bound:
            return True
        learner.totals["loss_bound"] = doubled_beyond(bound, largest)
    return False


@lean
def backup_with_bonus(constants, learner, episode, pair):
    """0 for a pair that was never looked at."""
    if learner.visits_used[pair] == 0:
        return 0.0
    iteration = learner.main.iteration
    return eb_backup(constants, learner, pair, iteration.values, largest_value(iteration), learner.totals["loss_bound"])


ROOM = Room(
    {update_pair: update_eb, note_visit: note_powers_of_two, make_plan: plan_eb_ssp, backup: backup_with_bonus},
    quantity="bonuses",
    source="Tarbouriech et al. (2021)",
    defaults={"loss_bound": None},
    positive_losses=False,
)
