"""What one policy loses more than another at most, in the plausible models: both are played in the same model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError
from goalbound.models import BallSet, IntervalSet
from goalbound.models.validation import check_type, set_readonly
from goalbound.planning.policy_bounds import PolicyBounds, checked_sets, normalised

MOST_STATES = 200
"""With more, only the distance of the bounds is looked at: the sharper bound costs O(S^3 log S)."""
UNIT = 2.0**-50
"""More than the relative error of one term of a sum."""

Floats = NDArray[np.float64]


def policy_difference(sets: BallSet | IntervalSet, policy: PolicyBounds, baseline: PolicyBounds) -> Floats:
    """[S] from each state, at most what a policy loses more than a baseline, in any one of the plausible models.

    Args:
        sets: the plausible losses and rows of every pair.
        policy, baseline: their bounds in these sets, by :func:`goalbound.policy_bounds`.

    The least of two bounds. The distance ``policy.upper - baseline.lower`` counts twice what is uncertain about pairs
    that both play. Of intervals there is a second one. Let v, w be any values and k, m any numbers for each state (0 at
    the goal), V and W the values of both policies in a model with losses l and rows p, and e = V - v, f = W - w. As
    e = (l + p v - v) + p e along the policy, and f likewise along the baseline,

        V(s) - W(s) = v(s) - w(s) + sum over y of k(y) (l + p v - v)(y) - m(y) (l + p w - w)(y)
                      + [e(s) + sum of k(y) (p e - e)(y)] - [f(s) + sum of m(y) (p f - f)(y)].

    The first line is linear in each row and is maximised row by row; a pair that both play is one row, of weights
    k v - m w. In the brackets e and f lie between bounds, and so do their coefficients, which are 0 for k and m the
    expected visits from s in the model that v and w come from: here, one in the middle of the set. So what is left of
    the brackets is of second order in the widths. In states from which both policies are alike, e = f. The bound holds
    for all v, w, k, m, however they are rounded; what sums lose to rounding is added. Infinite where the policy may
    never arrive, and minus infinity where it surely arrives and the baseline never does.

    >>> from goalbound.models import Support
    >>> from goalbound.planning import policy_bounds
    >>> support = Support.from_pairs([{0: [1], 1: [1]}, {0: [1, 2]}])  # both actions of state 0 lead to state 1
    >>> plausible = IntervalSet(
    ...     support, [0.1, 0.3, 0.2], [0.1, 0.3, 0.2], [1.0, 1.0, 0.2, 0.2], [1.0, 1.0, 0.8, 0.8])
    >>> one, other = (policy_bounds(plausible, actions) for actions in ([0, 0], [1, 0]))
    >>> (one.upper - other.lower).round(3)[:-1], policy_difference(plausible, one, other).round(3)
    (array([0.55, 0.75]), array([-0.2,  0. ]))
    """
    support = checked_sets(sets).support
    for name, bounds in (("policy", policy), ("baseline", baseline)):
        check_type(bounds, PolicyBounds, name, "give what policy_bounds(sets, policy) returns")
        if not bounds.support.same_pairs(support):
            raise ArgumentError(f"{name} has other states or actions than sets; give its bounds in these sets")
    upper, lower = policy.upper[:-1], baseline.lower[:-1]
    with np.errstate(invalid="ignore"):
        apart = upper - lower
        apart = np.where(np.isinf(upper), np.inf, np.where(np.isinf(lower), -np.inf, np.nextafter(apart, np.inf)))
    finite = np.isfinite(policy.upper).all() and np.isfinite(baseline.upper).all()
    if isinstance(sets, IntervalSet) and finite and support.states <= MOST_STATES:
        ours, theirs = _side(sets, policy), _side(sets, baseline)
        if ours is not None and theirs is not None:
            alike = _alike(ours, theirs)
            theirs = theirs._replace(values=np.where(np.append(alike, True), ours.values, theirs.values))
            theirs = theirs._replace(least=lower - theirs.values[:-1], most=baseline.upper[:-1] - theirs.values[:-1])
            sharper = np.array([_difference(ours, theirs, alike, state) for state in range(support.states)])
            apart = np.minimum(apart, sharper)
    return set_readonly(apart)


class _Side(NamedTuple):
    """One policy in a set of intervals, its pairs in the order of the states, and its values in a model in the middle.

    Attributes:
        pairs: [S].
        low, high: [S, S + 1] the intervals of its rows.
        loss_low, loss_high: [S].
        values: [S + 1] in the model in the middle.
        visits: [S, S] expected visits in that model, of each state (column) from each state (row).
        least, most: [S] how far the values in a plausible model are from these, at least and at most.
    """

    pairs: NDArray[np.int64]
    low: Floats
    high: Floats
    loss_low: Floats
    loss_high: Floats
    values: Floats
    visits: Floats
    least: Floats
    most: Floats


def _side(sets: IntervalSet, bounds: PolicyBounds) -> _Side | None:
    """None if the model in the middle has no values."""
    plain, support = normalised(sets), sets.support
    assert isinstance(plain, IntervalSet)
    states = support.states
    pairs = np.array([support.pair(s, int(action)) for s, action in enumerate(bounds.policy)], dtype=np.int64)
    low, high = np.zeros((states, states + 1)), np.zeros((states, states + 1))
    for state, pair in enumerate(pairs):
        row = support.row(int(pair))
        low[state, support.next_state[row]], high[state, support.next_state[row]] = plain.low[row], plain.high[row]
    room, lacking = high - low, 1.0 - low.sum(axis=1)
    total = room.sum(axis=1)
    share = np.clip(np.where(total > 0.0, lacking / np.where(total > 0.0, total, 1.0), 0.0), 0.0, 1.0)
    middle = low + share[:, None] * room
    losses = 0.5 * (plain.loss_low[pairs] + plain.loss_high[pairs])
    try:
        visits: Floats = np.linalg.inv(np.eye(states) - middle[:, :-1]).astype(np.float64)
    except np.linalg.LinAlgError:
        return None
    values = np.append(visits @ losses, 0.0)
    if not (np.isfinite(visits).all() and np.isfinite(values).all()):
        return None
    return _Side(
        pairs=pairs,
        low=low,
        high=high,
        loss_low=plain.loss_low[pairs],
        loss_high=plain.loss_high[pairs],
        values=values,
        visits=visits,
        least=bounds.lower[:-1] - values[:-1],
        most=bounds.upper[:-1] - values[:-1],
    )


def _difference(ours: _Side, theirs: _Side, alike: NDArray[np.bool_], state: int) -> float:
    """The second bound from one state."""
    k, m = ours.visits[state], theirs.visits[state]
    v, w = ours.values, theirs.values
    shared = ours.pairs == theirs.pairs
    both, alone = np.where(shared, m, 0.0), np.where(shared, 0.0, m)
    constant = v[state] - w[state] - float(k @ v[:-1]) + float(m @ w[:-1])
    rows = _largest_sums(ours.low, ours.high, np.outer(k, v) - np.outer(both, w))
    rows += _largest_sums(theirs.low, theirs.high, -np.outer(alone, w))
    weights = k - both
    losses = np.maximum(weights * ours.loss_low, weights * ours.loss_high)
    losses += np.maximum(-alone * theirs.loss_low, -alone * theirs.loss_high)
    bound = constant + float(rows.sum() + losses.sum())
    bound += _remainder(ours, theirs, alike, state)
    parts = (part for side in (ours, theirs) for part in (side.values, side.least, side.most, side.loss_high))
    largest = max(float(np.abs(part).max()) for part in parts)
    terms = (len(k) + 2.0) ** 2 * (1.0 + float(np.abs(k).sum() + np.abs(m).sum()))
    return bound + UNIT * terms * largest


def _largest_sums(low: Floats, high: Floats, weights: Floats) -> Floats:
    """[S] the largest sum of q weights over rows q in the intervals that sum to 1; all are [S, S + 1].

    Where rounding leaves no such row, what is missing counts as the largest weight.
    """
    order = np.argsort(-weights, axis=1, kind="stable")
    low, high, weights = (np.take_along_axis(array, order, axis=1) for array in (low, high, weights))
    room, left = high - low, 1.0 - low.sum(axis=1, keepdims=True)
    taken = np.clip(left - (np.cumsum(room, axis=1) - room), 0.0, room)
    unfit = np.maximum(np.maximum(-left[:, 0], 1.0 - high.sum(axis=1)), 0.0)
    return np.asarray(((low + taken) * weights).sum(axis=1) + unfit * np.abs(weights).max(axis=1))


def _remainder(ours: _Side, theirs: _Side, alike: NDArray[np.bool_], state: int) -> float:
    """The largest that both brackets come to, with e, f and the rows anywhere in their bounds.

    Where both policies are ``alike`` to the goal e is f, and their coefficients are one.
    """
    k, m = ours.visits[state], theirs.visits[state]
    shared = ours.pairs == theirs.pairs
    start = np.zeros(len(k))
    start[state] = 1.0
    mine = [start - k + sums for sums in _column_sums(ours, k)]
    other = [m - start + sums for sums in _column_sums(theirs, -m)]
    joint = [
        m - k + one + two
        for one, two in zip(
            _column_sums(ours, np.where(shared, k - m, k)), _column_sums(theirs, np.where(shared, 0.0, -m)), strict=True
        )
    ]
    apart = _largest_products(mine, ours) + _largest_products(other, theirs)
    return float(np.where(alike, _largest_products(joint, ours), apart).sum())


def _column_sums(side: _Side, weights: Floats) -> tuple[Floats, Floats]:
    """[S] the least and the largest sum over y of weights(y) p(y, x), for each next state x but the goal."""
    up, down, low, high = np.maximum(weights, 0.0), np.maximum(-weights, 0.0), side.low[:, :-1], side.high[:, :-1]
    return up @ low - down @ high, up @ high - down @ low


def _largest_products(coefficients: list[Floats], side: _Side) -> Floats:
    """[S] of a coefficient and the distance of a value from those in the middle, both anywhere in their bounds."""
    return np.asarray(np.max([one * error for one in coefficients for error in (side.least, side.most)], axis=0))


def _alike(ours: _Side, theirs: _Side) -> NDArray[np.bool_]:
    """[S] the states from which both policies play the same pairs in all states that they may come to."""
    differs = ours.pairs != theirs.pairs
    leads = (ours.high[:, :-1] > 0.0) | (theirs.high[:, :-1] > 0.0)
    while True:
        before = differs | (leads & differs).any(axis=1)
        if np.array_equal(before, differs):
            return ~differs
        differs = before
