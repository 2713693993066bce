"""Pessimism twice: the worst row of a ball by a cone program, and everything about small intervals in exact fractions.

The rows of an interval set that are corners have at most one entry that is at neither end of its interval. A linear
function is largest at a corner, and a policy does worst (and best) in a model all of whose rows are corners.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csc_array

from goalbound.models import IntervalSet
from tests.reference.exact import Value, hitting_times, total_losses
from tests.reference.projection import clarabel_answer
from tests.reference.rows import Row

Floats = NDArray[np.float64] | Sequence[float]


def ball_maximum_by_cone(centre: Floats, radius: float, values: Floats, *, stochastic: bool = False) -> float:
    """The largest q.values over q >= 0 with |q - centre| <= radius and a sum of at most 1 (``stochastic``: of 1).

    The unknown is u = (q - centre) / radius, as in :func:`tests.reference.optimism.inner_minimum_by_cone`; the value to
    1e-9 or so.
    """
    middle, worth = np.asarray(centre, dtype=np.float64), np.asarray(values, dtype=np.float64)
    m, unit = len(middle), float(np.max(worth, initial=0.0))
    if radius == 0.0 or unit == 0.0:
        return float(middle @ worth)
    radius = min(radius, 2.0)
    sums = clarabel.ZeroConeT(1) if stochastic else clarabel.NonnegativeConeT(1)
    answer = clarabel_answer(
        csc_array((m, m)), -worth / unit,
        csc_array(np.vstack((-np.eye(m), np.ones((1, m)), np.zeros((1, m)), -np.eye(m)))),
        np.concatenate((
            np.minimum(middle / radius, 2.0), [min((1.0 - middle.sum()) / radius, m + 1.0)], [1.0], np.zeros(m),
        )),
        [clarabel.NonnegativeConeT(m), sums, clarabel.SecondOrderConeT(m + 1)],
    )  # fmt: skip
    return float((middle + radius * np.array(answer.x)) @ worth)


def interval_maximum_by_program(low: Floats, high: Floats, values: Floats) -> float:
    """The largest q.values over rows q in the intervals that sum to 1, by a linear program."""
    found = linprog(
        -np.asarray(values), A_eq=np.ones((1, len(low))), b_eq=[1.0], bounds=list(zip(low, high, strict=True))
    )
    assert found.status == 0, found.message
    return float(-found.fun)


def corners(low: Sequence[Fraction], high: Sequence[Fraction]) -> list[list[Fraction]]:
    """The corners of the rows in the intervals that sum to 1, each once."""
    found = set()
    for free in range(len(low)):
        others = [(low[k], high[k]) for k in range(len(low)) if k != free]
        for ends in itertools.product(*others):
            rest = Fraction(1) - sum(ends)
            if low[free] <= rest <= high[free]:
                found.add((*ends[:free], rest, *ends[free:]))
    return [list(corner) for corner in sorted(found)]


def interval_maximum(low: Floats, high: Floats, values: Floats) -> Fraction:
    """The largest q.values over rows q in the intervals that sum to 1, exactly."""
    ends = [[Fraction(float(x)) for x in numbers] for numbers in (low, high)]
    worth = [Fraction(float(x)) for x in values]
    return max(sum(q * v for q, v in zip(corner, worth, strict=True)) for corner in corners(*ends))


def corner_models(sets: IntervalSet, pairs: Sequence[int], losses: Floats) -> Iterator[list[Row]]:
    """The chains of a policy (``pairs`` [S]) in all models whose rows are corners."""
    support = sets.support
    choices = []
    for pair in pairs:
        row = support.row(pair)
        low, high = ([Fraction(float(x)) for x in ends[row]] for ends in (sets.low, sets.high))
        following = support.next_state[row].tolist()
        loss = Fraction(float(losses[pair]))
        choices.append(
            [
                Row(0, loss, {t: q for t, q in zip(following, corner, strict=True) if q > 0})
                for corner in corners(low, high)
            ]
        )
    for chain in itertools.product(*choices):
        yield list(chain)


def arriving_losses(chain: list[Row]) -> list[Value]:
    """[S + 1] the expected total loss until the goal; infinite where it is not reached with probability one."""
    steps, losses = hitting_times(chain), total_losses(chain)
    return [math.inf if math.isinf(step) else loss for step, loss in zip(steps, losses, strict=True)]


def policy_extremes(sets: IntervalSet, pairs: Sequence[int]) -> tuple[list[Value], list[Value]]:
    """([S + 1] the least loss of a policy in any plausible model, [S + 1] the largest), by trying all corners."""
    best: list[Value] = [math.inf] * len(pairs) + [Fraction(0)]
    worst: list[Value] = [Fraction(0)] * (len(pairs) + 1)
    for chain in corner_models(sets, pairs, sets.loss_low):
        best = [min(one, other) for one, other in zip(best, arriving_losses(chain), strict=True)]
    for chain in corner_models(sets, pairs, sets.loss_high):
        worst = [max(one, other) for one, other in zip(worst, arriving_losses(chain), strict=True)]
    return best, worst


def least_worst_losses(sets: IntervalSet) -> list[Value]:
    """[S + 1] the least of what a policy loses in the worst of the plausible models, over all policies."""
    support = sets.support
    ranges = [range(int(support.pair_start[s]), int(support.pair_start[s + 1])) for s in range(support.states)]
    best: list[Value] = [math.inf] * support.states + [Fraction(0)]
    for pairs in itertools.product(*ranges):
        worst = policy_extremes(sets, pairs)[1]
        best = [min(one, other) for one, other in zip(best, worst, strict=True)]
    return best
