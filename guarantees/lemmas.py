"""Exact checks of the paper's lemmas on plans, widths and rates. They share no code with the package."""

from __future__ import annotations

from fractions import Fraction
from math import log, sqrt

import numpy as np

from guarantees.concentration import solve
from guarantees.result import Check

Exponents = dict[str, Fraction]
DELTA = 0.1


def close_models(cases: int) -> Check:
    """Lemma close-mdps-proper, exact: V <= 4 V~ in fractions, with the largest V~ for B, which need not be B*.

    Only V~ <= B is used, so a B that was found by doubling does as well: its first trigger is enough.
    """
    rng = np.random.default_rng(0)
    held, largest = True, Fraction(0)
    for _ in range(cases):
        states = int(rng.integers(1, 4))
        rows = [_row(rng, states) for _ in range(states)]
        losses = [Fraction(int(rng.integers(1, 11)), 10) for _ in range(states)]
        values = _evaluate(rows, losses)
        bound = max(values)
        true_rows, true_losses = [], []
        for s in range(states):
            # |l~ - l| <= l / 4 holds for l between 4/5 and 4/3 of l~; the larger is the worse
            loss = losses[s] * [Fraction(4, 5), Fraction(1), Fraction(4, 3)][int(rng.integers(3))]
            spare = 1 - sum(rows[s])
            moved = min(spare, loss / (2 * bound))  # from the goal to a state: an l1 distance over S of as much
            row = list(rows[s])
            row[int(rng.integers(states))] += moved
            true_rows.append(row)
            true_losses.append(loss)
        true_values = _evaluate(true_rows, true_losses)
        held &= all(v <= 4 * w for v, w in zip(true_values, values, strict=True))
        largest = max(largest, *(v / w for v, w in zip(true_values, values, strict=True)))
    return Check(
        "close-models: the true value of a plan is at most 4 times the optimistic one",
        held and largest > 1, f"exact in {cases} random plans, at most {float(largest):.2f} times",
    )  # fmt: skip


def known_pairs() -> Check:
    """Lemmas known-state-*, for P~ and l~ in place of P-hat and l-hat: twice the radius is still small enough."""
    dynamics, losses = Fraction(2, 10), Fraction(2, 10)  # of l_min / B, and of l_min
    kept = 1 - losses - dynamics
    return Check(
        "known-pairs: the optimistic model is within l / 5 B and l / 5, so a plan loses at most 5/3 of its value",
        dynamics <= Fraction(1, 2) and losses <= Fraction(1, 4) and 1 / kept == Fraction(5, 3),
        f"2/10 <= 1/2, 2/10 <= 1/4; V~ >= {kept} l + P V~",
    )


def known_test() -> Check:
    """No pair is known for ever: another context, or a late interval, makes it unknown. d = 2, B = l_min = 1, S = 1."""
    visits = 10_000
    rho = sqrt(2.0 * log(8 * (1 + visits) / DELTA)) + 1.0
    seen, other = 1.0 / sqrt(1 + visits), 1.0  # the widths of e1, under which it was visited, and of e2
    thresholds = [1.0 / (10.0 * max(rho, sqrt(log(4.0 / DELTA) + log_m))) for log_m in (log(visits), 101.0)]
    return Check(
        "known-test: what is known under one context is unknown under another, and again if it rests for long",
        seen < thresholds[0] <= other and seen >= thresholds[1],
        f"width {seen:.4f} and {other:g} against {thresholds[0]:.4f}; {thresholds[1]:.4f} at interval exp(101)",
    )


def potential(cases: int) -> Check:
    """Lemma aux-bound-2B-known: factor 1 fails at the first visit, 1 / log 2 is right and cannot be smaller."""
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(cases):
        size, visits = int(rng.integers(1, 5)), int(rng.integers(1, 60))
        gram, total = np.eye(size), 0.0
        for _ in range(visits):
            context = rng.dirichlet(np.full(size, 0.3))
            total += float(context @ np.linalg.solve(gram, context))
            gram += np.outer(context, context)
        worst = max(worst, total / (size * log(1.0 + visits / size)))
    first = 1.0 / log(2.0)  # d = 1, one visit: w^2 = 1, and log(1 + 1)
    return Check(
        "potential: the sum of n w^2 exceeds d log(1 + tau / d), and never 1 / log 2 = 1.443 times it",
        1.0 < worst <= first + 1e-12,
        f"1 > log 2 = {log(2.0):.3f} at the first visit (d = 1); at most {worst:.3f} times it",
    )


def sum_of_widths() -> Check:
    """Lemma decomposition-aux inherits the factor: T = 1, d = 1 gives 1 <= sqrt(log 2)."""
    printed, corrected = sqrt(log(2.0)), sqrt(log(2.0) / log(2.0))
    return Check(
        "sum-of-widths: the printed bound fails at T = 1; with 1 / log 2 under the root it is attained there",
        printed < 1.0 <= corrected, f"1 against {printed:.3f} as printed, {corrected:g} corrected",
    )  # fmt: skip


def unknown_visits() -> Check:
    """Lemma bound-2B-known on one state, one action, d = 1 that always reaches the goal: S = A = B = l_min = 1."""
    visits, rho = 0, 0.0
    while True:
        rho = sqrt(log(8 * (1 + visits) / DELTA)) + 1.0
        threshold = 1.0 / (10.0 * max(rho, sqrt(log(4 * (visits + 1) / DELTA))))
        if 1.0 / sqrt(1 + visits) < threshold:
            break
        visits += 1
    printed = 8.0 * log(1 + visits) * rho**2
    own = 32.0 * log(1 + visits) * rho**2
    corrected = log(1 + visits) / log(1.0 + threshold**2)
    return Check(
        "unknown-visits: a pair is unknown more often than printed; d log(1 + tau / d) / log(1 + a^2) holds",
        printed < visits <= corrected,
        f"{visits:,} visits, {printed:,.0f} as printed (its own proof gives {own:,.0f}), {corrected:,.0f} corrected",
    )


def holder() -> Check:
    """Lemma sum-conf-bounds-main: ||P c||_1 <= ||c||_{V^-1} ||P||_V lacks sqrt(|S|). S = 2, d = 1, V = 1."""
    row = [Fraction(1, 4), Fraction(1, 4)]
    l1, squared = sum(row), sum(x * x for x in row)
    return Check(
        "misjudged-dynamics: the l1 norm needs sqrt(|S|) times the norm of V",
        l1**2 > squared and l1**2 == 2 * squared,
        f"l1 {l1}, norm of V sqrt({squared}); squares {l1**2} = 2 x {squared}",
    )


def twice() -> Check:
    """The truth and the optimistic model may be at opposite ends of the ball: one state, centre 1/2, radius 1/4."""
    centre, radius = Fraction(1, 2), Fraction(1, 4)
    truth, optimistic = centre + radius, centre - radius  # a positive value: less mass on the state is better
    return Check(
        "twice: two members of a set are up to twice its radius apart",
        truth - optimistic == 2 * radius, f"P = {truth}, P~ = {optimistic}, radius {radius}",
    )  # fmt: skip


def rates() -> Check:
    """Theorem regret-bound-main: exponents from the lemmas. The main text is right, the appendix is not."""
    steps = _power(K=1, B=1, l=-1)
    squared = _times(_power(B=2, S=2, d=1), _power(d=1, S=1, A=1), steps)  # (B S rho)^2 d S A T
    main = _power(K=1, d=2, S=3, A=1, B=3, l=-1)
    appendix = _power(K=1, d=1, S=3, A=1, B=2, l=-1)
    unknown = _times(_power(B=1, S=1, A=1), _power(d=2, B=2, S=2, l=-2))  # B S A N+
    first = _power(d=2, A=1, B=3, S=3, l=-2)
    return Check(
        "theorem: the lemmas give d^2 B^3 under the root, as the main text has it, not d B^2",
        squared == main != appendix and unknown == first,
        f"under the root: {_text(squared)}; first term: {_text(unknown)}",
    )


def corollary_rates() -> Check:
    """Corollary arbitrary-cost: eps = S (d^2 A / K)^(1/3) put into the theorem."""
    third = Fraction(1, 3)
    eps = _power(S=1, d=2 * third, A=third, K=-third)
    claimed = _power(K=2 * third, d=2 * third, S=1, A=third, B=2, T=1)
    cost = _times(eps, _power(K=1, T=1))
    first = _times(_power(d=2, A=1, B=3, S=3), _scaled(eps, -2))
    root = _scaled(_times(_power(K=1, d=2, S=3, A=1, B=3), _scaled(eps, -1)), Fraction(1, 2))
    # B >= 1 and T* >= B (losses are at most 1): what a term lacks of B^2 T* must be a power of B >= 1 and T* / B >= 1
    lacking = [_times(claimed, _scaled(term, -1)) for term in (cost, first, root)]
    held = all(set(x) <= {"B", "T"} and x.get("T", 0) >= 0 and x.get("B", 0) + x.get("T", 0) >= 0 for x in lacking)
    return Check(
        "corollary: each term is at most K^(2/3) d^(2/3) S A^(1/3) B^2 T*, for eps T* <= B <= T*",
        held, f"terms: {_text(cost)}; {_text(first)}; {_text(root)}",
    )  # fmt: skip


def _row(rng: np.random.Generator, states: int) -> list[Fraction]:
    parts = [Fraction(int(x)) for x in rng.integers(0, 5, states)] + [Fraction(int(rng.integers(1, 5)))]
    return [part / sum(parts) for part in parts][:-1]


def _evaluate(rows: list[list[Fraction]], losses: list[Fraction]) -> list[Fraction]:
    size = len(losses)
    return solve([[Fraction(i == j) - rows[i][j] for j in range(size)] for i in range(size)], losses)


def _power(**exponents: int | Fraction) -> Exponents:
    return {name: Fraction(value) for name, value in exponents.items() if value}


def _times(*factors: Exponents) -> Exponents:
    names = {name for factor in factors for name in factor}
    return _power(**{name: sum((factor.get(name, Fraction(0)) for factor in factors), Fraction(0)) for name in names})


def _scaled(factor: Exponents, by: int | Fraction) -> Exponents:
    return _power(**{name: value * by for name, value in factor.items()})


def _text(factor: Exponents) -> str:
    return " ".join(name if value == 1 else f"{name}^{value}" for name, value in sorted(factor.items()))
