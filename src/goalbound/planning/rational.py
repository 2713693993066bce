"""Policy iteration in exact rationals: the last resort for small problems on which float64 is not enough.

From a proper policy of a reduced problem, exact policy iteration with strict improvements ends at the optimal values:
there are finitely many policies, each is better than the one before, and none is improper.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from goalbound.kernels.layout import Rows
from goalbound.planning.certificate import Certificate, width_of

Moves = dict[int, Fraction]


def solve_in_rationals(rows: Rows, usable: NDArray[np.bool_], policy: NDArray[np.int64]) -> Certificate:
    """Bounds [Q + 1] one rounding apart; ``policy[Q]`` (proper, -1 for states left out) becomes the best one.

    Ties go to the lowest pair. Time grows with the cube of the states and with the length of the numbers.
    """
    states = len(policy)
    values = [Fraction(0)] * (states + 1)
    pairs = {
        s: [(i, *_pair(rows, s, i)) for i in range(rows.pair_start[s], rows.pair_start[s + 1]) if usable[i]]
        for s in np.flatnonzero(policy >= 0).tolist()
    }
    while True:
        chain = {s: next((loss, moves) for i, loss, moves in pairs[s] if i == policy[s]) for s in pairs}
        for s, value in _solve(chain, states).items():
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
            return Certificate(lower, upper, width_of(lower, upper))


def _pair(rows: Rows, state: int, pair: int) -> tuple[Fraction, Moves]:
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


def _solve(chain: dict[int, tuple[Fraction, Moves]], goal: int) -> dict[int, Fraction]:
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
