"""Certified bounds on one sub-simplex of contexts: the largest optimal loss, the longest time of an optimal policy.

**Affine bounds** have an error of second order in the size of the sub-simplex. Let c = sum of w_k c_k (w_k >= 0, sum 1)
be a context of the sub-simplex with corners c_1 ... c_K, and let V_c be the affine function sum of w_k V_k of vectors
V_k[S + 1], 0 at the goal. For a pair of state s,

    loss_c + P_c V_c - V_c(s) = sum over j, k of w_j w_k E_jk,
    E_jk = (loss_j + loss_k) / 2 + (P_j V_k - V_k(s) + P_k V_j - V_j(s)) / 2,

because everything is linear in c and the weights sum to 1. So if every E_jk <= 0 (or >= 0), the left side is <= 0
(or >= 0) at every context of the sub-simplex: finitely many numbers prove an inequality at all contexts.

- *Falls*: if for the pairs of a policy every -E_jk, with losses left out, is >= f > 0 for a shape H >= 0, then H_c
  falls by f on average with each step, so at every context the policy is proper and takes at most H_c / f steps.
- *Upper*: if moreover V + y H has E_jk <= 0 for those pairs, it is at least the policy's value, hence v*, everywhere.
- *Lower*: if V - x H has E_jk >= 0 for all pairs, it is at most the value of every proper policy, everywhere.

With V_k the values of one policy at c_k, E_kk = 0 and E_jk = (P_j - P_k)(V_k - V_j) / 2, the product of two small
differences. Rounding is counted against us: each E_jk comes with a bound of its error, which also covers the mixing
of the components and the division of each row by its exact sum.

**Prices** bound how long an optimal policy can take: steps are weighed against the loss that they cost. Let y > 0 be a
price, and G_c an affine function of the context, 0 at the goal, with

    f - y loss_c + P_c G_c - G_c(s) <= 0        for all pairs, at all contexts c of the sub-simplex.

Summed along a proper policy that takes T steps and loses v in expectation from s, that is f T - y v <= G_c(s). The loss
of an optimal policy is v* <= U for every upper bound U of the optimal values, so it takes

    T <= (G_c(s) + y U_c(s)) / f

steps. G_c is about the most that steps less y times the loss can be, so f is about 1. Every detour of an optimal policy
is paid out of the same small difference between U and v*: that is why this bound is far smaller than what policies take
whose pairs may be optimal one by one. A low price makes that difference count less; too low a one lets a policy go
round for ever. G_c depends on the corners and the price alone, so that sub-simplices share it.
"""

from __future__ import annotations

from functools import cached_property
from itertools import combinations
from typing import NamedTuple
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import engine
from goalbound.models import SSP, LinearCSSP, Support
from goalbound.planning.checks import pairs_of
from goalbound.planning.evaluation import evaluate
from goalbound.planning.kernels import elimination
from goalbound.planning.kernels.affine_maximum import max_allowed
from goalbound.planning.reduction import entries_of, rows_of
from goalbound.planning.solution import Solution
from goalbound.planning.solve import solve

Floats = NDArray[np.float64]
ValuesAndSteps = tuple[Floats, Floats]
"""[S + 1] the values and [S + 1] the expected steps of a policy"""

ROUNDING = 2.0**-53
VALUE_TOLERANCE = 1e-9
MOST_ELIMINATED = 400
"""Up to this many states a policy's chain is eliminated directly."""
EXPECTED_EVALUATIONS, EXPECTED_REGIONS = 100, 20
"""A policy is evaluated, and regions are examined, at least about so often in one search; decides whether compiling
pays."""
MOST_POLICIES = 6
"""So many policies of the corners are tried at most."""
ROUNDS = 60
"""Of policy iteration for the most or fewest steps, or the best priced ones."""
PRICES = (1.5, 2.0, 3.0, 4.0, 8.0)
"""Prices that are tried, in expected steps per loss of the slowest and the most expensive corner."""


class ContextPoint:
    """A context, solved on first use; evaluations of policies are cached."""

    def __init__(self, problem: LinearCSSP, context: Floats) -> None:
        self.context = context.copy()
        self.context.flags.writeable = False
        self.ssp: SSP = problem.at(context)
        self._evaluations: dict[bytes, ValuesAndSteps | None] = {}
        self.priced: dict[float, Floats | None] = {}

    @cached_property
    def solution(self) -> Solution:
        """The optimal values here, certified."""
        return solve(self.ssp, tolerance=VALUE_TOLERANCE)

    @cached_property
    def policy(self) -> NDArray[np.int64]:
        """[S] the pairs of an optimal policy (up to the tolerance of its values)."""
        return pairs_of(self.ssp, self.solution.policy)

    def evaluate(self, policy: NDArray[np.int64]) -> ValuesAndSteps | None:
        """The values and steps of a policy (pairs [S]) here; None if it is not proper or they are not finite."""
        key = policy.tobytes()
        if key not in self._evaluations:
            self._evaluations[key] = _evaluate(self.ssp, policy)
        return self._evaluations[key]


def _evaluate(ssp: SSP, policy: NDArray[np.int64]) -> ValuesAndSteps | None:
    states = ssp.support.states
    if states > MOST_ELIMINATED:
        found = evaluate(ssp, ssp.support.pair_action[policy].astype(np.int64))
        values, steps = found.values, found.hitting_times
    else:
        values, steps = np.empty(states + 1), np.empty(states + 1)
        scratch = np.empty((states, states)), np.empty(states), np.empty(states)
        run = engine(EXPECTED_EVALUATIONS * states**3)
        with np.errstate(over="ignore", invalid="ignore"):
            if not run(elimination.evaluate_policy)(rows_of(ssp), policy, *scratch, values, steps):
                return None
    return (values, steps) if np.isfinite(values).all() and np.isfinite(steps).all() else None


CornerPoints = tuple[ContextPoint, ...]
"""The vertices of a sub-simplex of contexts."""


class ContextPoints:
    """The points of one problem; sub-simplices that meet in a context share its point."""

    def __init__(self, problem: LinearCSSP) -> None:
        self.problem = problem
        self._points: WeakValueDictionary[bytes, ContextPoint] = WeakValueDictionary()

    def at(self, context: Floats) -> ContextPoint:
        """The point of this context."""
        key = context.tobytes()
        point = self._points.get(key)
        if point is None:
            point = ContextPoint(self.problem, context)
            self._points[key] = point
        return point


def simplex_landmarks(size: int, *, most: int = 100) -> Floats:
    """[K, d] the corners, the centre and the middles of the edges, in this order; at most so many.

    >>> simplex_landmarks(2)
    array([[1. , 0. ],
           [0. , 1. ],
           [0.5, 0.5],
           [0.5, 0.5]])
    """
    corners = np.eye(size)
    if size == 1:
        return corners
    middles = [(corners[i] + corners[j]) / 2.0 for i, j in combinations(range(size), 2)]
    return np.array([*corners, corners.mean(axis=0), *middles][:most])


class PairSubset(NamedTuple):
    """Some pairs (n, in increasing order) of a support and their triples (m)."""

    pairs: NDArray[np.int64]
    """[n]"""
    state: NDArray[np.int64]
    """[n] the state of each pair"""
    first: NDArray[np.int64]
    """[n] where the triples of each pair begin among the m"""
    triples: NDArray[np.int64]
    """[m] their numbers in the support"""
    source: NDArray[np.int64]
    """[m] the state of each triple"""
    target: NDArray[np.int32]
    """[m] its next state"""

    @classmethod
    def of(cls, support: Support, pairs: NDArray[np.int64]) -> PairSubset:
        """The subset of these pairs."""
        triples, lengths = entries_of(support.next_start, pairs)
        first = np.cumsum(lengths) - lengths
        state = support.pair_state[pairs].astype(np.int64)
        return cls(pairs, state, first, triples, np.repeat(state, lengths), support.next_state[triples])


class CornerModels(NamedTuple):
    """The losses and probabilities of a subset at the K corners of a sub-simplex."""

    subset: PairSubset
    losses: Floats
    """[K, n]"""
    probabilities: Floats
    """[K, m]"""
    margin: Floats
    """[n] relative error of a sum over the triples of a pair"""

    @classmethod
    def at(cls, corners: CornerPoints, pairs: NDArray[np.int64] | None = None) -> CornerModels:
        """These pairs, or all, at these corners."""
        support = corners[0].ssp.support
        subset = PairSubset.of(support, np.arange(support.pairs) if pairs is None else pairs)
        lengths = np.diff(np.append(subset.first, len(subset.triples)))
        # The sum itself, a row that misses 1 by (length + 4) roundings of 2^-52, and that row's division by its sum; d
        # for the mixing at each corner.
        margin = (4.0 * lengths + 2.0 * len(corners[0].context) + 32.0) * ROUNDING
        losses = np.stack([corner.ssp.losses[subset.pairs] for corner in corners])
        return cls(subset, losses, np.stack([corner.ssp.probabilities[subset.triples] for corner in corners]), margin)

    def with_unit_losses(self) -> CornerModels:
        """The same with loss 1 everywhere: values are then expected steps."""
        return self._replace(losses=np.ones_like(self.losses))

    def change(self, values: Floats) -> tuple[Floats, Floats]:
        """[K, K, n] (P_j V_k - V_k(s) + P_k V_j - V_j(s)) / 2 for V = values[K, S + 1], and a bound of its error."""
        moves = values[:, self.subset.target] - values[:, self.subset.source]
        terms = self.probabilities[:, None, :] * moves[None, :, :]
        change = np.add.reduceat(terms, self.subset.first, axis=2)
        size = np.add.reduceat(np.abs(terms, out=terms), self.subset.first, axis=2)
        underflow = 1e-300 if values.any() else 0.0
        return _symmetric(change), self.margin * _symmetric(size) + underflow

    def excess(self, values: Floats) -> tuple[Floats, Floats]:
        """[K, K, n] E_jk of the module's docstring, and a bound of its error."""
        change, error = self.change(values)
        loss = 0.5 * (self.losses[:, None, :] + self.losses[None, :, :])
        return loss + change, error + self.margin * loss


def _symmetric(values: Floats) -> Floats:
    return 0.5 * (values + values.transpose(1, 0, 2))


def least_decrease(models: CornerModels, shape: Floats) -> float:
    """By how much ``shape[K, S + 1]`` falls at least with each step, at every context; at most 0 if it may not fall."""
    change, error = models.change(shape)
    return float(np.min(-change - error))


def upper_values(models: CornerModels, values: Floats, shape: Floats) -> Floats | None:
    """[K, S + 1] the least ``values + y shape`` (y >= 0) bounding the policy of the subset, None if none is found."""
    change, error = models.change(shape)
    falls = -change - error
    if not (falls > 0.0).all():
        return None
    excess, error = models.excess(values)
    with np.errstate(over="ignore"):
        needed = float(np.max((excess + error) / falls, initial=0.0)) * (1.0 + 8.0 * ROUNDING)
        if not np.isfinite(needed):
            return None
        out = values + needed * shape
        out = out + 4.0 * ROUNDING * (np.abs(values) + needed * np.abs(shape))
    return out if np.isfinite(out).all() else None


def lower_values(models: CornerModels, values: Floats, shape: Floats) -> Floats | None:
    """[K, S + 1] the largest ``values - x shape`` (x >= 0) below the proper policies of the subset, None if none is."""
    change, error = models.change(shape)
    falls = -change - error
    excess, error = models.excess(values)
    excess = excess - error
    short = excess < 0.0
    if (short & (falls <= 0.0)).any():
        return None
    rising = ~short & (falls < 0.0)
    with np.errstate(over="ignore"):
        least = float(np.max(-excess[short] / falls[short], initial=0.0)) * (1.0 + 8.0 * ROUNDING)
        greatest = float(np.min(excess[rising] / -falls[rising], initial=np.inf)) * (1.0 - 8.0 * ROUNDING)
        if not np.isfinite(least) or least > greatest:
            return None
        out = values - least * shape
        out = out - 4.0 * ROUNDING * (np.abs(values) + least * np.abs(shape))
    return out if np.isfinite(out).all() else None


class UpperBound(NamedTuple):
    """An upper bound of the optimal values on a sub-simplex, and where it is attained."""

    value: float
    weights: Floats
    """[K] of the corners"""


def affine_upper_bounds(corners: CornerPoints) -> list[Floats]:
    """Upper bounds [K, S + 1] of the optimal values, affine in the context: one for each policy that gives one.

    The policies are those that are optimal at the corners.
    """
    policies = {corner.policy.tobytes(): corner.policy for corner in corners}
    upper_bounds = []
    for policy in list(policies.values())[:MOST_POLICIES]:
        evaluations = [corner.evaluate(policy) for corner in corners]
        if any(evaluation is None for evaluation in evaluations):
            continue
        values, steps = (np.stack(parts) for parts in zip(*evaluations, strict=True))
        upper_bound = upper_values(CornerModels.at(corners, policy), values, steps)
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
    pairs = corners[0].ssp.support.pairs
    if not upper_bounds:
        return np.arange(pairs)
    models = CornerModels.at(corners)
    floor = _affine_lower_bound(models, corners)
    excess, error = models.excess(floor)
    excess = (excess - error) * (1.0 - 4.0 * ROUNDING)
    possible = np.ones(pairs, dtype=bool)
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
    models = CornerModels.at(corners, pairs)
    bound = np.inf
    smallest = float(models.losses.min()) * (1.0 - models.margin.max())
    smallest -= len(corners[0].context) * 5e-324  # mixing may have rounded each part up to a multiple of 2^-1074
    if upper_bounds and smallest > 0.0:
        with np.errstate(over="ignore"):
            bound = float(min(upper_bound.max() for upper_bound in upper_bounds)) / smallest
    steps = []
    for corner in corners:
        longest = best_worth(corner, pairs)
        if longest is None:
            return bound
        steps.append(longest)
    fall = least_decrease(models, np.stack(steps))
    if fall > 0.0:
        bound = min(bound, float(np.max(steps)) / fall * (1.0 + 4.0 * ROUNDING))
    return bound


def best_worth(
    point: ContextPoint, pairs: NDArray[np.int64], *, sign: float = 1.0, price: float = 0.0
) -> Floats | None:
    """[S + 1] about the most that ``sign`` times the expected steps less ``price`` times the loss are, over the
    policies made of these pairs; None if not finite.

    Policy iteration, from the policy of the least loss. The result is not certified: the caller does that.
    """
    subset, losses = PairSubset.of(point.ssp.support, pairs), point.ssp.losses[pairs]
    starts = np.flatnonzero(np.diff(subset.state, prepend=-1))
    reward = 1.0 - price * losses if price > 0.0 else np.zeros(len(pairs))
    policy = np.where(np.isin(point.policy, pairs), point.policy, pairs[starts])
    worth = None
    for _ in range(ROUNDS):
        evaluation = point.evaluate(policy)
        if evaluation is None:
            return None
        values, steps = evaluation
        worth = sign * steps - price * values
        after = reward + np.add.reduceat(point.ssp.probabilities[subset.triples] * worth[subset.target], subset.first)
        better = np.maximum.reduceat(after, starts)
        switch = better - after[np.searchsorted(pairs, policy)] > 1e-9 * (steps + price * values)[:-1]
        if not switch.any():
            break
        hit = np.flatnonzero(after == better[subset.state])[::-1]
        first = np.empty_like(policy)
        first[subset.state[hit]] = pairs[hit]
        policy = np.where(switch, first, policy)
    return worth


def least_optimal_steps(point: ContextPoint) -> tuple[float, int]:
    """A certified lower bound of the expected steps of every optimal policy of a context, and its state.

    Pairs whose loss and lower values are above the upper value of their state are played by none; the fewest steps
    over what remains is a bound. Unless pairs tie it is the steps of the only optimal policy.
    """
    solution = point.solution
    models = CornerModels.at((point,))
    excess, error = models.excess(solution.lower[None, :])
    slack = (solution.upper - solution.lower)[models.subset.state]
    slip = 4.0 * ROUNDING * solution.upper[models.subset.state]
    pairs = np.flatnonzero(~((excess - error)[0, 0] > slack + slip))
    fewest = best_worth(point, pairs, sign=-1.0)
    if fewest is None:
        return 0.0, 0
    steps = -fewest
    counted = CornerModels.at((point,), pairs).with_unit_losses()
    lower = lower_values(counted, steps[None, :], steps[None, :])
    if lower is None:
        return 0.0, 0
    state = int(np.argmax(lower[0, :-1]))
    return float(lower[0, state]), state


def prices_for(corners: CornerPoints) -> tuple[float, ...]:
    """The prices to try in a search that begins with these corners; none where no policy is finite or has a loss."""
    evaluations = [corner.evaluate(corner.policy) for corner in corners]
    found = [evaluation for evaluation in evaluations if evaluation is not None]
    largest = max((float(values.max()) for values, _ in found), default=0.0)
    longest = max((float(steps.max()) for _, steps in found), default=0.0)
    if not largest > 0.0 or not np.isfinite(PRICES[-1] * longest / largest):
        return ()
    return tuple(multiple * longest / largest for multiple in PRICES)


def most_priced_steps(corners: CornerPoints, upper_bounds: list[Floats], prices: tuple[float, ...]) -> float:
    """The most expected steps of a policy that is optimal somewhere in the sub-simplex, by the best of the prices;
    infinite where none gives a bound."""
    bound = np.inf
    if not upper_bounds or not prices:
        return bound
    models = CornerModels.at(corners)
    for price in prices:
        found = _bound_at(price, models, corners, upper_bounds)
        if found > bound:
            break  # the best price lies behind us
        bound = found
    return bound


def _bound_at(price: float, models: CornerModels, corners: CornerPoints, upper_bounds: list[Floats]) -> float:
    parts = []
    for corner in corners:
        part = priced_steps(corner, price)
        if part is None:
            return np.inf
        parts.append(part)
    worth = np.stack(parts)
    change, error = models.change(worth)
    loss = 0.5 * (models.losses[:, None, :] + models.losses[None, :, :])
    with np.errstate(over="ignore", invalid="ignore"):
        falls = price * loss * (1.0 - models.margin) - change - error
        falls -= 8.0 * ROUNDING * (price * loss + np.abs(change))
        fall = float(np.min(falls)) * (1.0 - 4.0 * ROUNDING)
        if not fall > 0.0:
            return np.inf
        sums = [worth + price * one + 8.0 * ROUNDING * (np.abs(worth) + price * one) for one in upper_bounds]
        bound = max_upper_bound(sums).value / fall * (1.0 + 4.0 * ROUNDING)
    return bound if np.isfinite(bound) else np.inf


def priced_steps(point: ContextPoint, price: float) -> Floats | None:
    """[S + 1] about the most that expected steps less ``price`` times the loss are; None where that is not finite.

    Computed once for each point and price.
    """
    if price not in point.priced:
        point.priced[price] = best_worth(point, np.arange(point.ssp.support.pairs), price=price)
    return point.priced[price]
