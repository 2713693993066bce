"""Exact answers in fractions: a policy's values, the best of all policies by trying each, policy iteration.

Values are Fractions, or ``math.inf``. Both compare exactly with floats.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

from goalbound.models import SSP
from tests.reference import graph
from tests.reference.rows import Row, played, rows_of

Value = Fraction | float


def total_losses(chain: list[Row]) -> list[Value]:
    """[S + 1] the expected total loss of a chain; inf where it pays for ever with positive probability."""
    paying = graph.paying_states(chain)
    return _totals(chain, [row.loss for row in chain], paying)


def hitting_times(chain: list[Row]) -> list[Value]:
    """[S + 1] the expected number of steps to the goal; inf where it is not reached with probability 1."""
    unsure = set(range(len(chain))) - graph.sure_states(chain)
    return _totals(chain, [Fraction(1)] * len(chain), unsure)


def _totals(chain: list[Row], gains: list[Fraction], infinite: set[int]) -> list[Value]:
    goal = len(chain)
    # a state that never gains again has total 0; it must not enter the equations, which it would make singular
    idle = {s for s in range(goal) if all(t == goal or gains[t] == 0 for t in graph.reachable(chain, s))}
    known: dict[int, Value] = {
        goal: Fraction(0),
        **dict.fromkeys(idle, Fraction(0)),
        **dict.fromkeys(infinite, math.inf),
    }
    open_states = [s for s in range(goal) if s not in known]
    matrix, right = {}, {}
    for state in open_states:  # (1 - P) v = gain over the open states; they cannot lead to an infinite one
        matrix[state] = {t: -p for t, p in chain[state].to.items() if t not in known}
        matrix[state][state] = matrix[state].get(state, Fraction(0)) + 1
        right[state] = gains[state]
    known.update(solve_exactly(matrix, right))
    return [known[s] for s in range(goal + 1)]


def solve_exactly(matrix: dict[int, dict[int, Fraction]], right: dict[int, Fraction]) -> dict[int, Fraction]:
    """The solution of a square system by elimination, without rounding; rows and columns bear the same names."""
    left = {i: dict(row) for i, row in matrix.items()}
    right = dict(right)
    order: list[tuple[int, int]] = []
    waiting = list(left)
    while waiting:
        row = waiting.pop()
        column = next(j for j, value in left[row].items() if value != 0)
        order.append((row, column))
        for other in waiting:
            factor = left[other].pop(column, Fraction(0)) / left[row][column]
            if factor:
                for j, value in left[row].items():
                    if j != column:
                        left[other][j] = left[other].get(j, Fraction(0)) - factor * value
                right[other] -= factor * right[row]
    found: dict[int, Fraction] = {}
    for row, column in reversed(order):
        rest = sum((v * found[j] for j, v in left[row].items() if j != column and v), Fraction(0))
        found[column] = (right[row] - rest) / left[row][column]
    return found


def best_of_all_policies(ssp: SSP) -> list[Value]:
    """[S + 1] the least expected total loss over all policies that reach the goal surely from the state, found by
    trying every deterministic policy; inf where there is none. For a handful of states."""
    rows = rows_of(ssp)
    best: list[Value] = [math.inf] * len(rows) + [Fraction(0)]
    for choice in itertools.product(*rows):
        chain = list(choice)
        sure = graph.sure_states(chain)
        if sure:
            inside = [row if s in sure else Row(row.action, row.loss, {s: Fraction(1)}) for s, row in enumerate(chain)]
            values = total_losses(inside)
            for state in sure:
                best[state] = min(best[state], values[state])
    return best


def optimal_values(ssp: SSP) -> list[Value]:
    """[S + 1] the same by exact policy iteration: fast enough for some dozen states.

    It starts from a proper policy and changes an action only where that is strictly better. No round can become
    improper: in a closed round of the new policy, with weights w of its stationary law, w (l + P v - v) = w l >= 0,
    while each entry l + P v - v is <= 0 and < 0 where the action changed. So nothing changed in it, and the old
    policy would have been improper too. At the end v <= l + P v for every pair, hence v is no more than the value
    of any proper policy (iterate: P^n v -> 0), and it is the value of one.
    """
    rows = rows_of(ssp)
    goal = len(rows)
    policy = graph.proper_policy(ssp)
    allowed = policy.keys() | {goal}
    stuck = Row(-1, Fraction(1), {})
    while True:
        chain = [
            next(row for row in rows[s] if row.action == policy[s])
            if s in policy
            else stuck._replace(to={s: Fraction(1)})
            for s in range(goal)
        ]
        values = total_losses(chain)
        changed = False
        for state in policy:
            for row in rows[state]:
                if row.to.keys() <= allowed:
                    value = row.loss + sum(p * values[t] for t, p in row.to.items())
                    if value < values[state]:
                        policy[state], changed = row.action, True
                        break
        if not changed:
            return values


def policy_losses(ssp: SSP, policy: list[int]) -> list[Value]:
    """[S + 1] the expected total loss of a policy of action numbers."""
    return total_losses(played(rows_of(ssp), policy))


def policy_steps(ssp: SSP, policy: list[int]) -> list[Value]:
    """[S + 1] the expected number of steps of a policy to the goal."""
    return hitting_times(played(rows_of(ssp), policy))
