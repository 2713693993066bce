"""Certified bounds on one sub-simplex of contexts: the largest optimal loss, the longest time of an optimal policy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import engine
from goalbound.models import Support
from goalbound.planning.context_bounds.affine_bounds import (
    ROUNDING,
    CornerModels,
    Floats,
    PairSubset,
    least_decrease,
    lower_values,
    upper_values,
)
from goalbound.planning.context_bounds.context_point import ContextPoint, CornerPoints
from goalbound.planning.kernels.affine_maximum import max_allowed

MOST_POLICIES = 6
"""So many policies of the corners are tried at most."""
STEP_ROUNDS = 60
EXPECTED_REGIONS = 20
"""A search examines at least about so many sub-simplices; decides whether compiling pays."""


class UpperBound(NamedTuple):
    """An upper bound of the optimal values on a sub-simplex, and where it is attained."""

    value: float
    weights: Floats
    """[K] of the corners"""


def affine_upper_bounds(corners: CornerPoints) -> list[Floats]:
    """Upper bounds [K, S + 1] of the optimal values, affine in the context: one for each policy that gives one.

    The policies are those that are optimal at the corners.
    """
    support = corners[0].ssp.support
    policies = {corner.policy.tobytes(): corner.policy for corner in corners}
    upper_bounds = []
    for policy in list(policies.values())[:MOST_POLICIES]:
        evaluations = [corner.evaluate(policy) for corner in corners]
        if any(evaluation is None for evaluation in evaluations):
            continue
        values, steps = (np.stack(parts) for parts in zip(*evaluations, strict=True))
        upper_bound = upper_values(CornerModels.at(PairSubset.of(support, policy), corners), values, steps)
        if upper_bound is not None:
            upper_bounds.append(upper_bound)
    return upper_bounds


def max_upper_bound(upper_bounds: list[Floats]) -> UpperBound:
    """The largest optimal value that the upper bounds allow, over all contexts and states.

    A value is below each upper bound, so below the smaller of any two of them. The largest value of the smaller of two
    affine functions over a simplex is attained at a corner, or on an edge where the two are equal (a linear program
    with two inequalities and one equality has an optimal solution with at most two positive weights).
    """
    bounds = np.stack(upper_bounds)
    weights, where = np.zeros(bounds.shape[1]), np.zeros((2, 3))
    run = engine(EXPECTED_REGIONS * bounds.size)
    value = float(run(max_allowed)(bounds, where, weights))
    return UpperBound(value, weights)


def possibly_optimal_pairs(corners: CornerPoints, upper_bounds: list[Floats]) -> NDArray[np.int64]:
    """The pairs that may be optimal at some context of the sub-simplex.

    A pair is left out if its loss and what follows, taken from below, exceeds some upper bound of its state everywhere.
    """
    support = corners[0].ssp.support
    everything = np.arange(support.pairs)
    if not upper_bounds:
        return everything
    models = CornerModels.at(PairSubset.of(support, everything), corners)
    floor = _affine_lower_bound(models, corners)
    excess, error = models.excess(floor)
    excess = (excess - error) * (1.0 - 4.0 * ROUNDING)
    possible = np.ones(support.pairs, dtype=bool)
    for upper_bound in upper_bounds:
        slip = 4.0 * ROUNDING * (np.abs(upper_bound) + np.abs(floor))
        slack = (upper_bound - floor + slip)[:, models.subset.state]
        possible &= ~(excess > 0.5 * (slack[:, None, :] + slack[None, :, :])).all(axis=(0, 1))
    return np.flatnonzero(possible)


def _affine_lower_bound(models: CornerModels, corners: CornerPoints) -> Floats:
    """[K, S + 1] a lower bound of the optimal values, affine in the context.

    Losses are positive along the values themselves; along the steps of the corners' policies they need not be.
    """
    values = np.stack([corner.solution.values for corner in corners])
    found = [np.zeros_like(values), lower_values(models, values, values)]
    evaluations = [corner.evaluate(corner.policy) for corner in corners]
    if all(evaluation is not None for evaluation in evaluations):
        steps = np.stack([evaluation[1] for evaluation in evaluations if evaluation is not None])
        found.append(lower_values(models, values, values + values.max() / steps.max() * steps))
    return max((floor for floor in found if floor is not None), key=lambda floor: float(floor.sum()))


def most_optimal_steps(corners: CornerPoints, pairs: NDArray[np.int64], upper_bounds: list[Floats]) -> float:
    """The most expected steps of any policy made of these pairs that is optimal somewhere in the sub-simplex."""
    support = corners[0].ssp.support
    models = CornerModels.at(PairSubset.of(support, pairs), corners)
    bound = np.inf
    smallest = float(models.losses.min()) * (1.0 - models.margin.max())
    smallest -= len(corners[0].context) * 5e-324  # mixing may have rounded each part up to a multiple of 2^-1074
    if upper_bounds and smallest > 0.0:
        with np.errstate(over="ignore"):
            bound = float(min(upper_bound.max() for upper_bound in upper_bounds)) / smallest
    steps = []
    for corner in corners:
        longest = extreme_steps(corner, pairs, largest=True)
        if longest is None:
            return bound
        steps.append(longest)
    fall = least_decrease(models, np.stack(steps))
    if fall > 0.0:
        bound = min(bound, float(np.max(steps)) / fall * (1.0 + 4.0 * ROUNDING))
    return bound


def extreme_steps(point: ContextPoint, pairs: NDArray[np.int64], *, largest: bool) -> Floats | None:
    """[S + 1] about the most (or fewest) expected steps of the policies made of these pairs; None if not finite.

    Policy iteration. The result is not certified: the caller does that.
    """
    support = point.ssp.support
    policy = _restrict_policy(support, pairs, point.policy)
    evaluation = point.evaluate(policy)
    if evaluation is None or len(pairs) == support.states:
        return None if evaluation is None else evaluation[1]
    subset = PairSubset.of(support, pairs)
    sign = 1.0 if largest else -1.0
    starts = np.flatnonzero(np.diff(subset.state, prepend=-1))
    for _ in range(STEP_ROUNDS):
        steps = evaluation[1]
        after = np.add.reduceat(point.ssp.probabilities[subset.triples] * steps[subset.target], subset.first)
        better = np.maximum.reduceat(sign * after, starts)
        gain = better - sign * after[np.searchsorted(pairs, policy)]
        switch = gain > 1e-9 * steps[:-1]
        if not switch.any():
            break
        policy = np.where(switch, first_best(subset, sign * after, better), policy)
        evaluation = point.evaluate(policy)
        if evaluation is None:
            return None
    return evaluation[1]


def first_best(subset: PairSubset, worth: Floats, best: Floats) -> NDArray[np.int64]:
    """[S] the first pair of each state whose ``worth`` [n] is the ``best`` [S] of its state."""
    hit = np.flatnonzero(worth == best[subset.state])[::-1]
    choice = np.empty(len(best), dtype=np.int64)
    choice[subset.state[hit]] = subset.pairs[hit]
    return choice


def _restrict_policy(support: Support, pairs: NDArray[np.int64], policy: NDArray[np.int64]) -> NDArray[np.int64]:
    """The policy, with the lowest of the pairs where its own is not among them."""
    chosen = np.empty(support.states, dtype=np.int64)
    chosen[support.pair_state[pairs[::-1]]] = pairs[::-1]
    return np.where(np.isin(policy, pairs), policy, chosen)


def least_optimal_steps(point: ContextPoint) -> tuple[float, int]:
    """A certified lower bound of the expected steps of every optimal policy of a context, and its state.

    Pairs whose loss and lower values are above the upper value of their state are played by none; the fewest steps
    over what remains is a bound. Unless pairs tie it is the steps of the only optimal policy.
    """
    support, solution = point.ssp.support, point.solution
    models = CornerModels.at(PairSubset.of(support, np.arange(support.pairs)), (point,))
    excess, error = models.excess(solution.lower[None, :])
    slack = (solution.upper - solution.lower)[models.subset.state]
    slip = 4.0 * ROUNDING * solution.upper[models.subset.state]
    pairs = np.flatnonzero(~((excess - error)[0, 0] > slack + slip))
    steps = extreme_steps(point, pairs, largest=False)
    if steps is None:
        return 0.0, 0
    counted = CornerModels.at(PairSubset.of(support, pairs), (point,)).with_unit_losses()
    lower = lower_values(counted, steps[None, :], steps[None, :])
    if lower is None:
        return 0.0, 0
    state = int(np.argmax(lower[0, :-1]))
    return float(lower[0, state]), state
