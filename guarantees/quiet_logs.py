"""Logs of five kinds in which nothing changes, as steps for a change detector."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from goalbound import LinearCSSP
from goalbound.learners.visits import StepArrays
from goalbound.problems import incident_recovery, random_cssp
from guarantees.incident_cases import recorded_log

Floats = NDArray[np.float64]


def incidents(hours: int, steps: int, seed: int) -> tuple[LinearCSSP, StepArrays]:
    """The runbook with deviations, 3 components for each knot of the hour. No minutes of a step are above 60."""
    problem = incident_recovery(hours)
    log = recorded_log(problem, steps // 2, seed=seed)
    return problem, StepArrays._make(column[:steps].copy() for column in log.arrays())


def drawn(size: int, contexts: str, losses: str, steps: int, seed: int) -> tuple[LinearCSSP, StepArrays]:
    """Visits of all pairs of a random problem: contexts of ``size`` components, losses around their means."""
    rng = np.random.default_rng(seed)
    problem = random_cssp(4, actions=3, context_size=size, successors=3, seed=seed)
    support, pairs = problem.support, rng.integers(problem.support.pairs, size=steps)
    weights = CONTEXTS[contexts](size, steps, rng)
    places = np.empty(steps, dtype=np.int64)
    for t, pair in enumerate(pairs):
        row = support.row(int(pair))
        chances = (problem.probabilities[row] @ weights[t]).cumsum()
        places[t] = row.start + np.searchsorted(chances[:-1], rng.random() * chances[-1])
    means = (problem.losses[pairs] * weights).sum(axis=1)
    return problem, StepArrays(weights, pairs, places, LOSSES[losses](means, rng))


CONTEXTS: dict[str, Callable[[int, int, np.random.Generator], Floats]] = {
    "one component at a time": lambda size, count, rng: np.eye(size)[rng.integers(size, size=count)],
    "mixed": lambda size, count, rng: rng.dirichlet(np.full(size, 0.2), size=count),
}
LOSSES: dict[str, Callable[[Floats, np.random.Generator], Floats]] = {
    "exact losses": lambda means, rng: means.copy(),
    "losses of 0 or 1": lambda means, rng: (rng.random(len(means)) < means).astype(np.float64),
    "skewed losses": lambda means, rng: np.minimum(means * rng.gamma(0.5, 2.0, size=len(means)), 1.0),
}
QUIET: dict[str, Callable[[int, int], tuple[LinearCSSP, StepArrays]]] = {
    "incidents, d = 12": partial(incidents, 4),
    "incidents, d = 36": partial(incidents, 12),
    "d = 36, one component at a time, exact losses": partial(drawn, 36, "one component at a time", "exact losses"),
    "d = 36, mixed, skewed losses": partial(drawn, 36, "mixed", "skewed losses"),
    "d = 6, mixed, losses of 0 or 1": partial(drawn, 6, "mixed", "losses of 0 or 1"),
}
"""By kind: the problem and its steps, from their number and a seed. No loss is above 1."""
CAPS = (1.0, 2.0, 5.0, 10.0)
"""Times the largest loss."""


def under_cap(steps: StepArrays, cap: float) -> StepArrays:
    """The steps with losses as shares of a cap that is so many times as large."""
    return steps._replace(losses=steps.losses / cap)
