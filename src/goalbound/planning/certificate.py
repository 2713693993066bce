"""Bounds that do not depend on how the values were found: one sweep over all pairs, every rounding error included.

For a reduced problem, values v and any shape h > 0:

- if w = v - x h satisfies w <= loss + P w for every pair, then w is at most the value of every proper policy (apply
  the inequality along the policy: what is left of w dies out because the policy ends);
- if u = v + y h >= 0 satisfies u >= loss + P u for the pairs of a proper policy, then u is at least its value.

For h = v a backup pays its loss, so losses that are all positive suffice. Where losses are zero or tiny, h = v + f g is
used, with g the expected number of moves to the goal: it falls by one with every move of the policy. Pairs that tie
with the policy's at no loss must make it fall as well; the policy that g counts is switched to them until they do.

The last resort for small problems on which float64 is not enough is policy iteration in exact rationals. From a proper
policy of a reduced problem, strict improvements end at the optimal values: there are finitely many policies, each is
better than the one before, and none is improper.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from goalbound.models.arrays import Rows
from goalbound.planning.chain import ROUNDING, PolicyEvaluator
from goalbound.planning.kernels import bellman

TIE_ROUNDS = 12
Moves = dict[int, Fraction]


@dataclass(frozen=True, eq=False)
class Certificate:
    """Bounds [Q + 1] of the optimal values of a reduced problem."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    @classmethod
    def trivial(cls, policy: NDArray[np.int64]) -> Certificate:
        """The trivial bounds: values lie between 0 and infinity (0 where the policy leaves a state out)."""
        upper = np.append(np.where(policy >= 0, np.inf, 0.0), 0.0)
        return cls(np.zeros(len(upper)), upper)

    @cached_property
    def width(self) -> float:
        """The largest relative distance between the bounds; infinite if one of them is missing."""
        if not np.isfinite(self.upper).all():
            return np.inf
        positive = self.upper > 0.0
        width = float(np.max((self.upper[positive] - self.lower[positive]) / self.upper[positive], initial=0.0))
        return width if width >= 0.0 else np.inf


def certify(
    state: PolicyEvaluator, usable: NDArray[np.bool_], policy: NDArray[np.int64], tolerance: float, *, cut: float = 0.0
) -> Certificate:
    """The best bounds found around the values of ``state``, which holds ``policy``; [0, infinity) if none.

    Tries the shape that costs nothing first, and others only while the bounds are wider than ``tolerance``. That the
    chain held by the solver is proper is checked here too. With ``cut`` the lower bounds are that much lower, and
    nothing needs to be shown for states whose value is below it: for problems with values so different in size that the
    smallest drown.
    """
    states = len(policy)
    active = policy >= 0
    best = Certificate.trivial(policy)
    values, solver = state.values, state.solver
    if not solver.reaches_goal()[active].all():
        return best
    if (values[:-1][active] > 0.0).all():
        if state.smallest > 0.0:
            best = _tightest(best, state, usable, policy, values, cut)
        if best.width > tolerance:
            best = _tightest(best, state, usable, policy, _concave(values), cut)
    counted = policy.copy()
    for _ in range(TIE_ROUNDS if best.width > tolerance else 0):
        moves, _ = solver.solve(np.ones(states), np.ones(states), 0.1)
        shape = values.copy()
        shape[:-1] += state.floor * np.maximum(moves, 1.0)
        best = _tightest(best, state, usable, policy, shape, cut)
        switched = state.run(bellman.raise_ties)(
            state.rows, usable, counted, values, state.low, shape, 0.1 * state.floor
        )
        if best.width <= tolerance or not switched:
            break
        solver.set_policy(counted)
        if not solver.reaches_goal()[active].all():
            break
    solver.set_policy(policy)
    return best


def _concave(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """v (2 + log(max v / v)): increasing and concave in v, and never more than a few dozen times v."""
    shape = values.copy()
    positive = shape > 0.0
    shape[positive] *= 2.0 + np.log(shape.max() / shape[positive])
    return shape


def _tightest(
    best: Certificate,
    state: PolicyEvaluator,
    usable: NDArray[np.bool_],
    policy: NDArray[np.int64],
    shape: NDArray[np.float64],
    cut: float,
) -> Certificate:
    """The bounds of this shape where they are closer than the best so far."""
    if not np.isfinite(shape).all():
        return best
    least_x, greatest_x, least_y, greatest_y, infeasible = state.run(bellman.certify)(
        state.rows, usable, policy, state.values, state.low, shape, cut
    )
    low = state.low if len(state.low) else np.zeros_like(state.values)
    lower, upper = best.lower, best.upper
    if not infeasible and least_x <= greatest_x:
        slip = 4.0 * ROUNDING * (state.values + np.abs(low) + least_x * shape + cut)
        lower = np.maximum(lower, np.nextafter(state.values - least_x * shape + low - cut - slip, -np.inf))
    if least_y <= greatest_y and np.isfinite(least_y):
        slip = 4.0 * ROUNDING * (state.values + np.abs(low) + least_y * shape)
        upper = np.minimum(upper, np.nextafter(state.values + least_y * shape + low + slip, np.inf))
    left_out = np.append(policy < 0, True)
    lower[left_out] = upper[left_out] = 0.0
    found = Certificate(lower, upper)
    return found if found.width < np.inf else best


def solve_in_rationals(rows: Rows, usable: NDArray[np.bool_], policy: NDArray[np.int64]) -> Certificate:
    """Bounds [Q + 1] one rounding apart; ``policy[Q]`` (proper, -1 for states left out) becomes the best one.

    Ties go to the lowest pair. Time grows with the cube of the states and with the length of the numbers.
    """
    states = len(policy)
    values = [Fraction(0)] * (states + 1)
    pairs = {
        s: [(i, *_rational_pair(rows, s, i)) for i in range(rows.pair_start[s], rows.pair_start[s + 1]) if usable[i]]
        for s in np.flatnonzero(policy >= 0).tolist()
    }
    while True:
        chain = {s: next((loss, moves) for i, loss, moves in pairs[s] if i == policy[s]) for s in pairs}
        for s, value in _solve_chain(chain, states).items():
            values[s] = value
        switched = False
        for s, choices in pairs.items():
            best = min(
                (loss + sum(p * (values[t] - values[s]) for t, p in moves.items())) / sum(moves.values())
                for _, loss, moves in choices
            )
            tied = [
                i
                for i, loss, moves in choices
                if loss + sum(p * (values[t] - values[s]) for t, p in moves.items()) == best * sum(moves.values())
            ]
            if best < 0 or tied[0] < policy[s]:
                switched = switched or best < 0
                policy[s] = tied[0]
        if not switched:
            lower = np.array([_rounded(value, down=True) for value in values])
            upper = np.array([_rounded(value, down=False) for value in values])
            return Certificate(lower, upper)


def _rational_pair(rows: Rows, state: int, pair: int) -> tuple[Fraction, Moves]:
    """The loss times the sum of the row, and the probabilities of the moves to other states or the goal."""
    moves: Moves = {}
    total = Fraction(0)
    for k in range(rows.next_start[pair], rows.next_start[pair + 1]):
        p = Fraction(float(rows.probabilities[k]))
        total += p
        t = int(rows.next_state[k])
        if t != state and p > 0:
            moves[t] = moves.get(t, Fraction(0)) + p
    return total * Fraction(float(rows.losses[pair])), moves


def _solve_chain(chain: dict[int, tuple[Fraction, Moves]], goal: int) -> dict[int, Fraction]:
    """v with sum(p) v(s) = loss + sum of p v(t), by eliminating one state after the other."""
    rest = {s: (loss, dict(moves)) for s, (loss, moves) in chain.items()}
    order = []
    for s in sorted(chain):
        loss, moves = rest.pop(s)
        out = sum(moves.values())
        for t, (other, towards) in rest.items():
            p = towards.pop(s, None)
            if p is None:
                continue
            share = p / out
            for u, q in moves.items():
                if u != t:
                    towards[u] = towards.get(u, Fraction(0)) + share * q
            rest[t] = (other + share * loss, towards)
        order.append((s, loss, moves, out))
    values = {goal: Fraction(0)}
    for s, loss, moves, out in reversed(order):
        values[s] = (loss + sum(p * values[t] for t, p in moves.items())) / out
    return values


def _rounded(value: Fraction, *, down: bool) -> float:
    """The nearest float that is not above (not below) a fraction."""
    try:
        near = float(value)
    except OverflowError:
        return np.finfo(np.float64).max if down else np.inf
    if down:
        return near if Fraction(near) <= value else float(np.nextafter(near, -np.inf))
    return near if Fraction(near) >= value else float(np.nextafter(near, np.inf))
