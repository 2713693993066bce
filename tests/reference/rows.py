"""A problem as plain Python: what the witnesses read, each number an exact fraction."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from goalbound.models import SSP


class Row(NamedTuple):
    """One pair: its action, its loss, and the next states it can really lead to (probability above zero)."""

    action: int
    loss: Fraction
    to: dict[int, Fraction]


def rows_of(ssp: SSP) -> list[list[Row]]:
    """The rows of each state, in the order of the pairs. The numbers are the stored floats, without rounding;
    each row is divided by its exact sum, so it is a distribution to the last bit."""
    support = ssp.support
    states: list[list[Row]] = []
    for state in range(support.states):
        rows = []
        for pair in range(int(support.pair_start[state]), int(support.pair_start[state + 1])):
            triples = range(int(support.next_start[pair]), int(support.next_start[pair + 1]))
            weights = {int(support.next_state[t]): Fraction(float(ssp.probabilities[t])) for t in triples}
            total = sum(weights.values())
            to = {following: weight / total for following, weight in weights.items() if weight > 0}
            rows.append(Row(int(support.pair_action[pair]), Fraction(float(ssp.losses[pair])), to))
        states.append(rows)
    return states


def played(rows: list[list[Row]], policy: list[int]) -> list[Row]:
    """The row of each state under a policy of action numbers."""
    return [next(row for row in rows[state] if row.action == action) for state, action in enumerate(policy)]
