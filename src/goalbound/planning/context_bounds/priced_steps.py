"""How long an optimal policy can take on a sub-simplex: steps weighed against the loss that they cost.

Let y > 0 be a price, and G_c an affine function of the context (:mod:`.affine_bounds`), 0 at the goal, with

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

import numpy as np

from goalbound.planning.context_bounds.affine_bounds import ROUNDING, CornerModels, Floats, PairSubset
from goalbound.planning.context_bounds.context_point import ContextPoint, CornerPoints
from goalbound.planning.context_bounds.region import first_best, max_upper_bound

PRICES = (1.5, 2.0, 3.0, 4.0, 8.0)
"""Prices that are tried, in expected steps per loss of the slowest and the most expensive corner."""
ROUNDS = 60


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
    support = corners[0].ssp.support
    models = CornerModels.at(PairSubset.of(support, np.arange(support.pairs)), corners)
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

    Not certified: the caller does that. Computed once for each point and price.
    """
    if price not in point.priced:
        point.priced[price] = _best_priced(point, price)
    return point.priced[price]


def _best_priced(point: ContextPoint, price: float) -> Floats | None:
    """Policy iteration, from the policy of the least loss."""
    support = point.ssp.support
    subset = PairSubset.of(support, np.arange(support.pairs))
    reward = 1.0 - price * point.ssp.losses
    policy = point.policy
    worth = None
    for _ in range(ROUNDS):
        evaluation = point.evaluate(policy)
        if evaluation is None:
            return None
        values, steps = evaluation
        worth = steps - price * values
        after = reward + np.add.reduceat(point.ssp.probabilities * worth[subset.target], subset.first)
        better = np.maximum.reduceat(after, support.pair_start[:-1])
        switch = better - after[policy] > 1e-9 * (steps + price * values)[:-1]
        if not switch.any():
            break
        policy = np.where(switch, first_best(subset, after, better), policy)
    return worth
