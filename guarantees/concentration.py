"""Exact checks of the paper's concentration inequalities. They share no code with the package.

Walks of fair coins are followed exactly: the probability of each place after each step, and of ever having been above a
boundary. A probability up to a finite time is a lower bound of that at any time, so a printed inequality that it
exceeds is refuted; it does not prove a corrected one, for which the page has the proof.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, log, sqrt

import numpy as np

from guarantees.result import Check

DELTA = 0.01


def crossing_probability(boundary: Callable[[int], float], steps: int, *, step: float = 1.0) -> float:
    """The probability that a walk of +-``step`` is above ``boundary(n)`` in absolute value at some n <= ``steps``."""
    places = np.zeros(2 * steps + 3)
    middle = steps + 1
    places[middle] = 1.0
    distances = step * np.abs(np.arange(len(places)) - middle)
    crossed = 0.0
    for n in range(1, steps + 1):
        moved = np.zeros_like(places)
        moved[1:] += places[:-1] / 2.0
        moved[:-1] += places[1:] / 2.0
        above = distances > boundary(n)
        crossed += float(moved[above].sum())
        moved[above] = 0.0
        places = moved
    return crossed


def azuma(steps: int) -> Check:
    """Theorem azuma: B sqrt(n log(2 n / delta)) for all n. False for |X| <= B, true if X has range B."""
    printed = crossing_probability(lambda n: sqrt(n * log(2 * n / DELTA)), steps)
    ranged = crossing_probability(lambda n: sqrt(n * log(2 * n / DELTA)), steps, step=0.5)
    doubled = crossing_probability(lambda n: 2.0 * sqrt(n * log(2 * n / DELTA)), steps)
    return Check(
        "azuma: too small for steps of +-B, enough for steps of range B, enough for +-B if doubled",
        printed > DELTA >= max(ranged, doubled),
        f"delta = {DELTA:g}: passed with probability {printed:.3f}, {ranged:.2g}, {doubled:.2g} within {steps:,} steps",
    )


def confidence_ellipsoid(steps: int) -> Check:
    """Theorem confidenceEllipsoid at d = 1, theta = 0, X = 1, coin noise, lambda = 5: log(1 / delta) must be doubled.

    The estimate is S / (n + lambda), so its distance in the norm of V is |S| / sqrt(n + lambda).
    """
    lam = 5.0
    grown = [log(1.0 + n / lam) for n in range(steps + 1)]
    printed = crossing_probability(lambda n: sqrt((n + lam) * (grown[n] + log(1.0 / DELTA))), steps)
    corrected = crossing_probability(lambda n: sqrt((n + lam) * (grown[n] + 2.0 * log(1.0 / DELTA))), steps)
    return Check(
        "confidence-ellipsoid: at d = 1 the printed radius is too small, with 2 log(1 / delta) it is enough",
        printed > DELTA >= corrected,
        f"delta = {DELTA:g}: left with probability {printed:.3f} and {corrected:.2g} within {steps:,} steps",
    )


def loss_tail() -> Check:
    """Lemma proper-not-run-log: P(loss > m) <= 2 exp(-m / (4 v)). False for small v, true for v >= 1.2944.

    A step that costs 1 with probability v, else 0, and ends: P(loss > 0.9) = v. For larger v the proof needs
    log(2) / (2 v + 1) >= 1 / (4 v). The paper uses v = 4 B >= 4.
    """
    small = 0.05
    printed = 2.0 * exp(-0.9 / (4.0 * small))
    least = 1.0 / (4.0 * log(2.0) - 2.0)
    large = all((1.0 - 1.0 / v) ** m <= 2.0 * exp(-m / (4.0 * v)) for v in (1.3, 4.0, 20.0) for m in range(200))
    return Check(
        "loss-tail: refuted for v = 0.05, proven from v = 1.2944 on",
        small > printed and log(2.0) / (2.0 * least + 1.0) >= 1.0 / (4.0 * least) - 1e-12 and large and least < 4.0,
        f"P(loss > 0.9) = {small:g} where {printed:.3f} is claimed; v must be at least {least:.4f}",
    )


def interval_tail() -> Check:
    """Lemmas interval-cost-bound and hpe-interval-loss-aux: the constants 3, 16 and 48 fit for all B >= 1, m >= 1."""
    first = 2.0 * exp(1.0 / 16.0)
    total = sum(3.0 * (1.0 / (4.0 * m)) ** 3 for m in range(1, 100_000))  # times delta^3
    return Check(
        "interval-loss: 2 exp(1 / 16 B) < 3, and 3 (delta / 4 m)^3 summed over m is at most delta / 4",
        first < 3.0 and total <= 0.25, f"{first:.3f}; {total:.4f} delta^3",
    )  # fmt: skip


def noise(cases: int) -> Check:
    """Lemma cost-bound-regret: the noise of losses is missing; the event bounds it, as sum c = 1. Exact in fractions.

    sum of eta = 1^T (V (theta-hat - theta) + lambda theta), and ||1||_V^2 = tau + lambda d.
    """
    rng = np.random.default_rng(0)
    held = True
    for _ in range(cases):
        size, visits, lam = int(rng.integers(1, 4)), int(rng.integers(1, 8)), Fraction(int(rng.integers(1, 4)))
        contexts = [_context(rng, size) for _ in range(visits)]
        truth = [Fraction(int(rng.integers(0, 11)), 10) for _ in range(size)]
        losses = [Fraction(int(rng.integers(0, 2))) for _ in range(visits)]
        gram = [[sum((c[i] * c[j] for c in contexts), lam * (i == j)) for j in range(size)] for i in range(size)]
        sums = [sum((c[i] * x for c, x in zip(contexts, losses, strict=True)), Fraction(0)) for i in range(size)]
        estimate = solve(gram, sums)
        error = [a - b for a, b in zip(estimate, truth, strict=True)]
        identity = sum(gram[i][j] * error[j] for i in range(size) for j in range(size)) + lam * sum(truth)
        total = sum(losses) - sum(sum(a * b for a, b in zip(c, truth, strict=True)) for c in contexts)
        norm = sum(gram[i][j] for i in range(size) for j in range(size))
        held &= identity == total and norm == visits + lam * size
    return Check(
        "loss-noise: the sum of the noise is 1^T (V (L-hat - L) + lambda L), and ||1||_V^2 = tau + lambda d",
        held, f"exact in {cases} random regressions",
    )  # fmt: skip


def vector_noise(cases: int) -> Check:
    """A remark of the page: e_s' - P c is sub-Gaussian with variance 1/2 in every direction (the goal is the 0)."""
    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(cases):
        states = int(rng.integers(1, 6))
        p = rng.dirichlet(np.full(states + 1, 0.5))
        u = np.append(rng.normal(size=states) * 10.0 ** rng.uniform(-1, 1), 0.0)
        exponent = log(float(p @ np.exp(u - u.max()))) + float(u.max() - p @ u)
        worst = max(worst, exponent / (float(u @ u) / 4.0))
    return Check(
        "radius: log E exp <u, noise> <= |u|^2 / 4, so that the vector of next states needs no union bound",
        0.0 < worst <= 1.0 + 1e-9, f"at most {worst:.3f} of it in {cases} random cases",
    )  # fmt: skip


def solve(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Gauss and Jordan in fractions."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for i in range(size):
        pivot = next(r for r in range(i, size) if rows[r][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for r in range(size):
            if r != i:
                rows[r] = [x - rows[r][i] * y for x, y in zip(rows[r], rows[i], strict=True)]
    return [row[-1] for row in rows]


def _context(rng: np.random.Generator, size: int) -> list[Fraction]:
    parts = [Fraction(int(x)) for x in rng.integers(0, 5, size)]
    parts[int(rng.integers(size))] += 1
    return [part / sum(parts) for part in parts]
