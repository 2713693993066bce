"""A naive twin of the change detector: every sum over every start, from the list of all visits, by dense solves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Visit(NamedTuple):
    """A visit of one pair with m next states: the context, which of them followed, and the loss."""

    context: Floats
    follower: int
    loss: float


def outcomes(visit: Visit, m: int) -> list[float]:
    """The m next states, each followed (1) or not (0); then the loss."""
    return [float(k == visit.follower) for k in range(m)] + [visit.loss]


def forecasts(before: Sequence[Visit], context: Floats, m: int) -> tuple[Floats, float]:
    """[m + 1] the means of the next states and of the loss by what was seen before, and the leverage.

    Ridge regression around next states that are alike and the mean loss of all visits: deviations of the d coefficients
    from their average cost their squares, and the average counts as one visit under equal weights. Pulled to these
    means by the leverage.
    """
    d = len(context)
    assumed = np.array([1.0 / m] * m + [sum(one.loss for one in before) / max(len(before), 1)])
    gram = sum((np.outer(row, row) for row in np.eye(d) - 1.0 / d), np.full((d, d), 1.0 / d**2))
    sums = np.outer(assumed, gram @ np.ones(d))
    for one in before:
        gram = gram + np.outer(one.context, one.context)
        sums = sums + np.outer(outcomes(one, m), one.context)
    leverage = float(context @ np.linalg.solve(gram, context))
    estimate = np.clip(sums @ np.linalg.solve(gram, context), 0.0, 1.0)
    return (estimate + leverage * assumed) / (1.0 + leverage), leverage


def evidence(outcome: float, forecast: float, leverage: float, ratio: float, caution: float) -> float:
    """The likelihood ratio against a forecast that is moved towards the alternative."""
    spread = caution * math.sqrt(forecast * (1.0 - forecast) * leverage / (1.0 + leverage))
    moved = min(1.0, forecast + spread) if ratio > 1.0 else max(0.0, forecast - spread)
    return (outcome * ratio + (1.0 - outcome)) / (moved * ratio + (1.0 - moved))


def all_evidence(
    visits: Sequence[Visit], m: int, ratios: Sequence[float], *, caution: float, most_leverage: float
) -> tuple[Floats, list[int]]:
    """[n, m + 1, F] the evidence of the visits of which earlier ones say enough, and which of all visits they are."""
    found, tested = [], []
    for t, visit in enumerate(visits):
        means, leverage = forecasts(visits[:t], visit.context, m)
        if leverage <= most_leverage:
            row = [
                [evidence(outcome, means[k], leverage, ratio, caution) for ratio in ratios]
                for k, outcome in enumerate(outcomes(visit, m))
            ]
            found.append(row)
            tested.append(t)
    return np.array(found), tested


def shiryaev_roberts(e: Floats) -> float:
    """The sum over all starts of the product of e [n] from there to the end."""
    return sum(float(np.prod(e[start:])) for start in range(len(e)))


def cusum(e: Floats) -> tuple[float, int]:
    """The largest sum of log e [n] over a nonempty end, and where that begins (the first of those that are largest)."""
    best, begin = -math.inf, 0
    for start in range(len(e)):
        total = float(np.log(e[start:]).sum())
        if total > best:
            best, begin = total, start
    return best, begin
