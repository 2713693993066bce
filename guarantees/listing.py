"""Exact counterexamples to lines of the paper's listing and to its definitions. They share no code with the package."""

from __future__ import annotations

from fractions import Fraction
from math import log, sqrt

from guarantees.concentration import solve
from guarantees.result import Check

DELTA = 0.1
HALF, ONE, ZERO = Fraction(1, 2), Fraction(1), Fraction(0)


def goal() -> Check:
    """Stochastic columns (one state, one component): the goal is never reached, and the projection leaves the truth."""
    truth, ridge = HALF, HALF  # the goal follows in half of the steps, and the estimate says so
    stochastic = ONE  # the only 1 x 1 matrix with stochastic columns
    sub_stochastic = min(max(ridge, ZERO), ONE)
    return Check(
        "goal: stochastic columns leave the goal no mass and move a right estimate; sub-stochastic ones do not",
        1 - stochastic == 0 and abs(stochastic - truth) > abs(ridge - truth) >= abs(sub_stochastic - truth),
        f"P = {truth}, estimate {ridge}; projected: stochastic {stochastic}, sub-stochastic {sub_stochastic}",
    )


def own_context() -> Check:
    """eq. loss-ls: all samples on c_m. Loss 1 under e1, 0 under e2, c_m = e1, lambda = 1."""
    printed = (ONE + ZERO) / (2 + 1)  # two samples, both on e1: 1 / (2 + lambda)
    own = solve([[Fraction(2), ZERO], [ZERO, Fraction(2)]], [ONE, ZERO])
    return Check(
        "own-context: with c_m for c a loss that was seen under another context counts as one of this",
        printed == Fraction(1, 3) and own == [HALF, ZERO],
        f"estimate under e1: {printed} as printed, {own[0]} on own contexts (loss 1, one visit, lambda = 1)",
    )


def line_13() -> Check:
    """Line 13 as printed: one state, "stay" and "go", loss 1 each; the arbitrary first policy stays.

    V and tau of the test are those at the start of the interval, so that nothing becomes known inside it.
    """
    steps = 100
    staying = intervals(steps, known_ends=True)
    corrected = intervals(steps, known_ends=False)
    return Check(
        "line-13: as printed the first interval never ends and no plan is made; negated, every unknown step ends one",
        staying == 0 and corrected == steps,
        f"new plans within {steps} steps: {staying} as printed, {corrected} negated",
    )


def intervals(steps: int, *, known_ends: bool) -> int:
    """Plans made while "stay" is played, with S = 1, A = 2, d = 1, B = l_min = lambda = 1."""
    visits_at_start, plans = 0, 0
    for visits in range(1, steps + 1):
        rho = sqrt(log(8 * 2 * (1 + visits_at_start) / DELTA)) + 1.0
        width = max(rho, sqrt(log(4 * (plans + 1) / DELTA)))
        known = 1.0 / sqrt(1 + visits_at_start) < 1.0 / (10.0 * width)
        if known == known_ends:
            plans += 1
            visits_at_start = visits
    return plans


def clipping(backups: int) -> Check:
    """Line 25 without clipping: before any data the optimistic loss is -rho, and a loop repeats it."""
    rho = sqrt(log(8 * 1 / DELTA)) + 1.0  # S = A = d = lambda = 1, radius of loss and row; the row may stay for sure
    value = 0.0
    for _ in range(backups):
        value = -rho + min(1.0, rho) * value
    return Check(
        "clipping: unclipped losses make the optimistic value minus infinity; clipped ones keep it above l_min",
        value < -0.9 * rho * backups, f"value after {backups} backups: {value:.0f}; the least loss is {-rho:.2f}",
    )  # fmt: skip


def projection() -> Check:
    """Lemma dynamics-proj-main, last line: a projection moves towards the truth. d = 2, S = 1, exact.

    Two visits under (1, 0) that reach the goal, eight under (1/2, 1/2) that do not; the truth is (0, 1).
    """
    gram = [[1 + 2 + Fraction(8, 4), Fraction(8, 4)], [Fraction(8, 4), 1 + Fraction(8, 4)]]
    ridge = solve(gram, [Fraction(4), Fraction(4)])
    inverse_second = solve(gram, [ZERO, ONE])
    excess = ridge[1] - 1
    projected = [ridge[i] - excess * inverse_second[i] / inverse_second[1] for i in range(2)]
    before, after = (_squared(gram, [point[0], point[1] - 1]) for point in (ridge, projected))
    feasible = all(0 <= x <= 1 for x in projected)
    return Check(
        "projection: the distance to the truth falls; the printed inequality has it rise",
        excess > 0 and feasible and after < before,
        f"estimate ({ridge[0]}, {ridge[1]}), projected ({projected[0]}, {projected[1]}): "
        f"squared distance {before} before, {after} after",
    )


def added_loss() -> Check:
    """Corollary: max(loss, eps) is not linear in the context, loss + eps is. L = (0, 1), eps = 1/2."""
    eps = HALF
    corners, middle = [max(x, eps) for x in (ZERO, ONE)], max(HALF, eps)
    added = [x + eps for x in (ZERO, ONE)]
    return Check(
        "zero-losses: max(loss, eps) is not linear in the context, loss + eps is",
        middle != sum(corners) / 2 and HALF + eps == sum(added) / 2,
        f"at (1/2, 1/2): max {middle}, mean of the corners {sum(corners) / 2}; added {HALF + eps}, {sum(added) / 2}",
    )


def realised_losses() -> Check:
    """Item 3 bounds steps by losses / l_min: false for realised losses of which only the means are above l_min."""
    floor = HALF
    steps, paid = 3, 0
    probability = (1 - floor) ** steps  # losses 0 or 1 of mean 1/2, all of them 0
    return Check(
        "mean-losses: realised losses may be 0 for many steps, so item 3 must be about mean losses",
        probability > 0 and steps > paid / floor,
        f"{steps} steps with a total loss of {paid} have probability {probability}; l_min = {floor}",
    )


def _squared(gram: list[list[Fraction]], vector: list[Fraction]) -> Fraction:
    return sum((gram[i][j] * vector[i] * vector[j] for i in range(2) for j in range(2)), ZERO)
