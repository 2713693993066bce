"""Naive twins of the kernels for many contexts: one context at a time, in fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from goalbound.models import LinearCSSP
from goalbound.models.arrays import Rows
from tests.reference import exact
from tests.reference.kernels import change, exactly, gain, pairs_of, states_of

INFINITE = Fraction(10) ** 400
"""stands for a bound that does not exist"""


def mixed(components: NDArray[np.float64], context: Sequence[float]) -> list[float]:
    """``components[d, n]`` mixed, from left to right in floats, and no more than 1."""
    out = []
    for column in components.T.tolist():
        total = column[0] * context[0]
        for number, weight in zip(column[1:], context[1:], strict=True):
            total = total + number * weight
        out.append(min(total, 1.0))
    return out


def bounds(rows: Rows, values: NDArray[np.float64], policy: Sequence[int]) -> tuple[Fraction, Fraction]:
    """The least x and y >= 0 with (1 - x) v below all backups of itself, (1 + y) v above those of the policy's pairs.

    Each is a linear inequality in x or y for each pair: loss + change - x * change >= 0, loss + change + y * change
    <= 0, where change = P v - v(s) and rows are as stored, so that the loss counts times their sum.
    """
    v = exactly(values)
    x = y = Fraction(0)
    for pair in pairs_of(rows):
        missing, falling = gain(pair, v), -change(pair, v)
        if missing < 0:
            x = max(x, -missing / falling if falling > 0 else INFINITE)
        if missing > 0 and policy[pair.state] == pair.number:
            y = max(y, missing / falling if falling > 0 else INFINITE)
    return x, y


def best_pairs(rows: Rows, values: NDArray[np.float64]) -> list[int]:
    """The pair of the smallest backup in each state; of several the lowest."""
    v = exactly(values)
    pairs = pairs_of(rows)
    found = []
    for state in range(states_of(rows)):
        own = [pair for pair in pairs if pair.state == state]
        found.append(min(own, key=lambda pair: (gain(pair, v), pair.number)).number)
    return found


def optimal_values(problem: LinearCSSP, contexts: NDArray[np.float64]) -> list[list[exact.Value]]:
    """[K, S + 1] the optimal values, exactly."""
    return [exact.optimal_values(problem.at(context)) for context in contexts]
