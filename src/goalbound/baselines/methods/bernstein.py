"""Bernstein-SSP: optimism next state by next state, in epochs (:func:`goalbound.baselines.bernstein_ssp`)."""

from math import log, sqrt

from goalbound.baselines.planning import optimistic_loss
from goalbound.baselines.protocol import Room, update_pair
from goalbound.jit.compile import lean


@lean
def update_bernstein(constants, learner, pair):
    """The most optimistic row, which does not depend on the values: what is taken goes to the goal."""
    counts, sets = learner.counts, learner.main.sets
    n = max(float(counts.visits[pair]), 1.0)
    a = log(len(constants.pair_state) * n / constants.delta) / n
    first = constants.next_start[pair]
    used = 0
    mass = 0.0
    for k in range(first, first + counts.seen[pair]):
        q = counts.seen_count[k] / n
        q -= constants.scale * (28.0 * a + 4.0 * sqrt(q * a))
        if q > 0.0:
            sets.centre[first + used] = q
            sets.state[first + used] = counts.seen_state[k]
            mass += q * q
            used += 1
    sets.used[pair] = used
    sets.mass[pair] = mass
    sets.losses[pair] = optimistic_loss(constants, counts, pair)


ROOM = Room({update_pair: update_bernstein}, quantity="radii", source="Rosenberg et al. (2020)")
