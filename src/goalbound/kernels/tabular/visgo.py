"""VISGO, the planner of EB-SSP: value iteration with a bonus that depends on the values, in a skewed model."""

from math import sqrt

import numpy as np

from goalbound.kernels.jit import inlined, lean
from goalbound.kernels.optimism import largest_value
from goalbound.kernels.tabular.layout import SWEEPS, TRIGGERS

FINEST = 1e-9
"""The precision is not finer than this share of B."""


@inlined
def skewed_worth(rules, learned, pair, values, largest, bound):
    """max(0, l + P~ v - b(v)) of a pair that was visited. O(the next states seen), or O(1) where the bonus is large."""
    plausible, bonus = learned.main.plausible, learned.bonus
    loss = plausible.losses[pair]
    rate = bonus.rate[pair]
    rest = bonus.flat[pair] + bound * bonus.steep[pair]
    if rules.scale * (36.0 * bound * rate + rest) > 1.000001 * (loss + largest):
        return 0.0
    mean = 0.0
    square = 0.0
    first = plausible.next_start[pair]
    for k in range(first, first + plausible.used[pair]):
        part = plausible.centre[k] * values[plausible.state[k]]
        mean += part
        square += part * values[plausible.state[k]]
    n = float(learned.looked[pair])
    mean *= n / (n + 1.0)
    square *= n / (n + 1.0)
    variance = max(square - mean * mean, 0.0)
    wide = max(6.0 * sqrt(variance * rate), 36.0 * bound * rate)
    return max(loss + mean - rules.scale * (wide + rest), 0.0)


@inlined
def skewed_sweep(rules, learned, after, largest):
    """One Jacobi sweep from the values of the outlook to ``after``; returns the largest change.

    Ties go to the pair with the fewest visits, then to the lowest.
    """
    outlook = learned.main.outlook
    bound = learned.bound[0]
    change = 0.0
    for s in range(len(outlook.policy)):
        best = np.inf
        chosen = rules.pair_start[s]
        for pair in range(rules.pair_start[s], rules.pair_start[s + 1]):
            worth = 0.0
            if learned.looked[pair] > 0:
                worth = skewed_worth(rules, learned, pair, outlook.values, largest, bound)
            fewer = learned.counts.visits[pair] < learned.counts.visits[chosen]
            if worth < best or (worth == best and fewer):
                best = worth
                chosen = pair
        after[s] = best
        outlook.policy[s] = chosen
        change = max(change, abs(best - outlook.values[s]))
    return change


@lean
def iterate_skewed(rules, learned, precision, sweeps):
    """Jacobi iteration from 0 until no value changes by more than the precision. Returns whether it came to its end."""
    outlook = learned.main.outlook
    after = learned.room.values[0]
    states = len(outlook.policy)
    for s in range(states):
        outlook.values[s] = 0.0
    largest = 0.0
    for _ in range(sweeps):
        learned.tally[SWEEPS] += 1
        change = skewed_sweep(rules, learned, after, largest)
        for s in range(states):
            outlook.values[s] = after[s]
        if change <= precision:
            return True
        largest = largest_value(outlook)
    return False


@lean
def plan_skewed(rules, learned, sweeps):
    """A plan of EB-SSP under a bound B that it does not contradict. Returns whether it came to its end."""
    while True:
        bound = learned.bound[0]
        precision = max(0.5 ** learned.tally[TRIGGERS] / len(rules.pair_state), FINEST * bound)
        if not iterate_skewed(rules, learned, precision, sweeps):
            return False
        largest = largest_value(learned.main.outlook)
        if not rules.doubling or largest <= bound:
            return True
        while learned.bound[0] < largest:
            learned.bound[0] *= 2.0
