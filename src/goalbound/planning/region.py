"""What is certified on one sub-simplex of contexts: the largest optimal loss, the longest time of an optimal policy."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.models import Support
from goalbound.planning.affine import ROUNDING, Cut, Floats, Mixed, least_fall, lower_values, upper_values
from goalbound.planning.context_point import ContextPoint, Corners

MOST_POLICIES = 6
"""So many policies of the corners are tried at most."""
STEP_ROUNDS = 60


class Peak(NamedTuple):
    """An upper bound of the optimal values on a sub-simplex, and where it is attained."""

    value: float
    weights: Floats
    """[K] of the corners"""


def loss_ceilings(corners: Corners) -> list[Floats]:
    """Upper bounds [K, S + 1] of the optimal values, affine in the context: one for each policy that gives one.

    The policies are those that are optimal at the corners.
    """
    support = corners[0].ssp.support
    policies = {corner.policy.tobytes(): corner.policy for corner in corners}
    ceilings = []
    for policy in list(policies.values())[:MOST_POLICIES]:
        worths = [corner.worth(policy) for corner in corners]
        if any(worth is None for worth in worths):
            continue
        values, steps = (np.stack(parts) for parts in zip(*worths, strict=True))
        ceiling = upper_values(Mixed.at(Cut.of(support, policy), corners), values, steps)
        if ceiling is not None:
            ceilings.append(ceiling)
    return ceilings


def highest(ceilings: list[Floats]) -> Peak:
    """The largest optimal value that the ceilings allow, over all contexts and states.

    A state is below each ceiling, so below the smaller of any two of them. The largest value of the smaller of two
    affine functions over a simplex is attained at a corner, or on an edge where the two are equal (a linear program
    with two inequalities and one equality has an optimal solution with at most two positive weights).
    """
    count, states = len(ceilings[0]), ceilings[0].shape[1] - 1
    lowest = np.full(states, np.inf)
    weights = np.zeros((states, count))
    for first, second in itertools.combinations_with_replacement(ceilings, 2):
        value, where = _meeting(first[:, :-1], second[:, :-1])
        smaller = value < lowest
        lowest[smaller] = value[smaller]
        weights[smaller] = where[smaller]
    state = int(np.argmax(lowest))
    return Peak(float(lowest[state]), weights[state])


def _meeting(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """[S] the largest value over the simplex of the smaller of two affine functions [K, S], and [S, K] its weights."""
    count, states = first.shape
    smaller = np.minimum(first, second)
    corner = np.argmax(smaller, axis=0)
    every = np.arange(states)
    value = smaller[corner, every]
    weights = np.zeros((states, count))
    weights[every, corner] = 1.0
    if first is second:
        return value, weights
    gap = first - second
    for j, k in itertools.combinations(range(count), 2):
        cross = np.flatnonzero((np.minimum(gap[j], gap[k]) < 0.0) & (np.maximum(gap[j], gap[k]) > 0.0))
        share = gap[j, cross] / (gap[j, cross] - gap[k, cross])
        height = np.maximum(  # equal but for rounding; the larger is the safe one
            first[j, cross] + share * (first[k, cross] - first[j, cross]),
            second[j, cross] + share * (second[k, cross] - second[j, cross]),
        )
        largest = np.abs(np.stack((first[j], first[k], second[j], second[k]))[:, cross]).max(axis=0, initial=0.0)
        height += 16.0 * ROUNDING * largest
        better = height > value[cross]
        at, share = cross[better], share[better]
        value[at] = height[better]
        weights[at] = 0.0
        weights[at, j] = 1.0 - share
        weights[at, k] = share
    return value, weights


def possible_pairs(corners: Corners, ceilings: list[Floats]) -> NDArray[np.int64]:
    """The pairs that may be optimal at some context of the sub-simplex.

    A pair is left out if its loss and what follows, taken from below, is above some ceiling of its state everywhere.
    """
    support = corners[0].ssp.support
    everything = np.arange(support.pairs)
    if not ceilings:
        return everything
    mixed = Mixed.at(Cut.of(support, everything), corners)
    floor = _loss_floor(mixed, corners)
    excess, error = mixed.excess(floor)
    excess = (excess - error) * (1.0 - 4.0 * ROUNDING)
    possible = np.ones(support.pairs, dtype=bool)
    for ceiling in ceilings:
        slip = 4.0 * ROUNDING * (np.abs(ceiling) + np.abs(floor))
        room = (ceiling - floor + slip)[:, mixed.cut.state]
        possible &= ~(excess > 0.5 * (room[:, None, :] + room[None, :, :])).all(axis=(0, 1))
    return np.flatnonzero(possible)


def _loss_floor(mixed: Mixed, corners: Corners) -> Floats:
    """[K, S + 1] a lower bound of the optimal values, affine in the context.

    Losses are positive along the values themselves; along the steps of the corners' policies they need not be.
    """
    values = np.stack([corner.solution.values for corner in corners])
    found = [np.zeros_like(values), lower_values(mixed, values, values)]
    worths = [corner.worth(corner.policy) for corner in corners]
    if all(worth is not None for worth in worths):
        steps = np.stack([worth[1] for worth in worths if worth is not None])
        found.append(lower_values(mixed, values, values + values.max() / steps.max() * steps))
    return max((floor for floor in found if floor is not None), key=lambda floor: float(floor.sum()))


def longest_time(corners: Corners, pairs: NDArray[np.int64], ceilings: list[Floats]) -> float:
    """The most expected steps of any policy made of these pairs that is optimal somewhere in the sub-simplex."""
    support = corners[0].ssp.support
    mixed = Mixed.at(Cut.of(support, pairs), corners)
    bound = np.inf
    smallest = float(mixed.losses.min()) * (1.0 - mixed.margin.max())
    smallest -= len(corners[0].context) * 5e-324  # mixing may have rounded each part up to a multiple of 2^-1074
    if ceilings and smallest > 0.0:
        with np.errstate(over="ignore"):
            bound = float(min(ceiling.max() for ceiling in ceilings)) / smallest
    steps = []
    for corner in corners:
        longest = extreme_steps(corner, pairs, largest=True)
        if longest is None:
            return bound
        steps.append(longest)
    fall = least_fall(mixed, np.stack(steps))
    if fall > 0.0:
        bound = min(bound, float(np.max(steps)) / fall * (1.0 + 4.0 * ROUNDING))
    return bound


def extreme_steps(point: ContextPoint, pairs: NDArray[np.int64], *, largest: bool) -> Floats | None:
    """[S + 1] about the most (or fewest) expected steps of the policies made of these pairs; None if not finite.

    Policy iteration. What it finds is not certified: the caller does that.
    """
    support = point.ssp.support
    policy = _within(support, pairs, point.policy)
    worth = point.worth(policy)
    if worth is None or len(pairs) == support.states:
        return None if worth is None else worth[1]
    cut = Cut.of(support, pairs)
    sign = 1.0 if largest else -1.0
    starts = np.flatnonzero(np.diff(cut.state, prepend=-1))
    for _ in range(STEP_ROUNDS):
        steps = worth[1]
        after = np.add.reduceat(point.ssp.probabilities[cut.triples] * steps[cut.there], cut.first)
        better = np.maximum.reduceat(sign * after, starts)
        gain = better - sign * after[np.searchsorted(pairs, policy)]
        switch = gain > 1e-9 * steps[:-1]
        if not switch.any():
            break
        hit = np.flatnonzero(sign * after == better[cut.state])
        choice = np.empty_like(policy)
        choice[cut.state[hit[::-1]]] = pairs[hit[::-1]]
        policy = np.where(switch, choice, policy)
        worth = point.worth(policy)
        if worth is None:
            return None
    return worth[1]


def _within(support: Support, pairs: NDArray[np.int64], policy: NDArray[np.int64]) -> NDArray[np.int64]:
    """The policy, with the lowest of the pairs where its own is not among them."""
    chosen = np.empty(support.states, dtype=np.int64)
    chosen[support.pair_state[pairs[::-1]]] = pairs[::-1]
    return np.where(np.isin(policy, pairs), policy, chosen)


def point_time(point: ContextPoint) -> tuple[float, int]:
    """A certified lower bound of the expected steps of every optimal policy of a context, and its state.

    Pairs whose loss and lower values are above the upper value of their state are played by none; the fewest steps
    over what remains is a bound. Unless pairs tie it is the steps of the only optimal policy.
    """
    support, solution = point.ssp.support, point.solution
    mixed = Mixed.at(Cut.of(support, np.arange(support.pairs)), (point,))
    excess, error = mixed.excess(solution.lower[None, :])
    room = (solution.upper - solution.lower)[mixed.cut.state]
    slip = 4.0 * ROUNDING * solution.upper[mixed.cut.state]
    pairs = np.flatnonzero(~((excess - error)[0, 0] > room + slip))
    steps = extreme_steps(point, pairs, largest=False)
    if steps is None:
        return 0.0, 0
    counted = Mixed.at(Cut.of(support, pairs), (point,)).counting_steps()
    lower = lower_values(counted, steps[None, :], steps[None, :])
    if lower is None:
        return 0.0, 0
    state = int(np.argmax(lower[0, :-1]))
    return float(lower[0, state]), state
