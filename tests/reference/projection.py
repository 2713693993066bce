"""The V-norm projection as one quadratic program, solved by Clarabel and then polished.

Minimise tr((P - R) V (P - R)^T) over P >= 0 with column sums <= 1 (equation dynamics-proj; the goal is not a row, so
the columns of a truth sum to at most 1), or with column sums = 1 (``stochastic``: the goal cannot follow). V is
positive definite, so there is one answer.

With multipliers mu[k, j] >= 0 of P[k, j] >= 0 and nu[j] >= 0 of the column sums, P is the answer if and only if

    (P - R) V = mu - nu,    mu[k, j] P[k, j] = 0,    nu[j] (1 - sum_k P[k, j]) = 0.

Where column sums are 1, nu has any sign.

Clarabel finds which inequalities are tight; these then are equations, and those left out have multiplier 0. The linear
system that remains is solved by refinement whose residuals are exact fractions, so even a gram matrix of condition
1e8 leaves the answer good to the last few bits.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

ROUNDING = 1e-13
"""A sign is taken seriously from here on; entries are of order 1, and multipliers after division by the scale of V."""

_exact = np.vectorize(Fraction, otypes=[object])
"""Floats as the fractions that they are."""


def projected(rows: NDArray[np.float64], gram: NDArray[np.float64], *, stochastic: bool = False) -> NDArray[np.float64]:
    """The projection [m, d] of rows [m, d] in the norm of gram [d, d], to 1e-12; one row per next state but the goal.

    >>> projected(np.array([[0.5], [0.0]]), np.eye(1), stochastic=True)[:, 0]  # what is missing is shared
    array([0.75, 0.25])
    >>> projected(np.array([[0.5, -0.25]]), np.array([[2.0, 1.0], [1.0, 2.0]]))  # 0.5 + (1 / 2) * -0.25
    array([[0.375, 0.   ]])
    """
    if rows.size == 0:
        return rows.copy()
    scale = _scale(gram)
    unit = gram / scale
    size = float(max(1.0, np.abs(rows).max()))
    zero, full = _tight_by_clarabel(rows, unit, stochastic)
    for _ in range(50):
        answer, nu = _with_tight(rows, unit, zero, full)
        mu = (answer - rows) @ unit + nu
        # the tight set is right when this changes nothing: no sign is wrong, neither of a gap nor of a multiplier
        next_zero = np.where(zero, mu > -ROUNDING * size, answer < -ROUNDING)
        next_full = np.where(full, nu > -ROUNDING * size, answer.sum(axis=0) > 1.0 + ROUNDING) | stochastic
        if (next_zero == zero).all() and (next_full == full).all():
            answer = np.maximum(answer, 0.0)
            assert kkt_violation(rows, gram, answer, stochastic=stochastic) <= 1e-12 * size
            return answer
        zero, full = next_zero, next_full
    raise AssertionError(f"no tight set found for rows {rows.tolist()} and gram {gram.tolist()}")


def kkt_violation(
    rows: NDArray[np.float64], gram: NDArray[np.float64], answer: NDArray[np.float64], *, stochastic: bool = False
) -> float:
    """How far an answer [m, d] is from the projection of rows [m, d]: the worst of its optimality conditions.

    No solver is needed: the least multipliers that obey all signs are nu[j] = max(0, -min_k slope[k, j]) and
    mu = slope + nu with slope = (P - R) V. What is left to be violated is P >= 0, the column sums, and that of a gap
    and its multiplier one must be 0 (the smaller of the two is counted). Multipliers are divided by the scale of V. It
    is 0 for the projection and for nothing else. Where column sums are 1, nu is of any sign, and it is the sums that
    are counted.
    """
    if rows.size == 0:
        return 0.0
    slope = (answer - rows) @ (gram / _scale(gram))
    if stochastic:
        mu = slope - slope.min(axis=0)
        off = float(np.abs(1.0 - answer.sum(axis=0)).max())
        return max(float(-answer.min()), off, float(np.minimum(answer, mu).max()))
    nu = np.maximum(0.0, -slope.min(axis=0))
    mu = slope + nu
    room = 1.0 - answer.sum(axis=0)
    outside = max(float(-answer.min()), float(-room.min()), 0.0)
    return max(outside, float(np.minimum(answer, mu).max()), float(np.minimum(room, nu).max()))


def v_norm(rows: NDArray[np.float64], gram: NDArray[np.float64]) -> float:
    """sqrt(tr(P V P^T)), the norm of rows [m, d] in which the projection is the nearest point."""
    return float(np.sqrt(np.einsum("kj,ji,ki->", rows, gram, rows)))


def by_descent(
    rows: NDArray[np.float64], gram: NDArray[np.float64], *, stochastic: bool = False, sweeps: int = 200_000
) -> NDArray[np.float64]:
    """The projection again: columns in turn, each projected exactly with the others held, until nothing moves but by
    rounding, which may go to and fro in the last bits forever. As many sweeps as the condition number of the gram
    matrix says."""
    nearest = on_the_simplex if stochastic else on_the_sub_simplex
    answer = np.full_like(rows, 1.0 / len(rows))
    for _ in range(sweeps):
        before = answer.copy()
        for j in range(rows.shape[1]):
            others = np.delete(np.arange(rows.shape[1]), j)
            wanted = rows[:, j] - (answer - rows)[:, others] @ gram[others, j] / gram[j, j]
            answer[:, j] = nearest(wanted.tolist())
        if np.abs(answer - before).max() <= 1e-15:
            break
    return answer


def on_the_simplex(row: list[Any]) -> list[Any]:
    """The nearest point with entries >= 0 and sum 1: all are moved alike, and those below 0 cut; by sorting."""
    ordered = sorted(row, reverse=True)
    level = max((sum(ordered[:n]) - 1) / n for n in range(1, len(row) + 1))
    return [max(entry - level, entry * 0) for entry in row]


def on_the_sub_simplex(row: list[Any]) -> list[Any]:
    """The nearest point with entries >= 0 and sum <= 1: what is below 0 is cut, and only if that sums to more than 1
    all are lowered alike."""
    cut = [max(entry, entry * 0) for entry in row]
    return cut if sum(cut) <= 1 else on_the_simplex(row)


def clarabel_answer(
    quadratic: csc_array, linear: NDArray[np.float64], left: csc_array, right: NDArray[np.float64], cones: list[object]
) -> clarabel.DefaultSolution:
    """Minimise x.Q x / 2 + q.x where right - left x lies in the cones, as tightly as float64 lets Clarabel go.

    At these tolerances it may say that no more progress is possible; it is then as near as it gets, and the caller
    checks what it needs. Anything else but "solved" is an error.
    """
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    settings.reduced_tol_gap_abs = settings.reduced_tol_gap_rel = settings.reduced_tol_feas = 1e-10
    answer = clarabel.DefaultSolver(quadratic, linear, left, right, cones, settings).solve()
    near = (
        clarabel.SolverStatus.Solved,
        clarabel.SolverStatus.AlmostSolved,
        clarabel.SolverStatus.InsufficientProgress,
    )
    assert answer.status in near, answer.status
    return answer


def _scale(gram: NDArray[np.float64]) -> float:
    """The power of two next above the largest diagonal entry: dividing by it rounds nothing."""
    return float(2.0 ** np.ceil(np.log2(gram.diagonal().max())))


def _tight_by_clarabel(
    rows: NDArray[np.float64], unit: NDArray[np.float64], stochastic: bool
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which entries are 0 ([m, d]) and which columns sum to 1 ([d]): those with a multiplier larger than their gap."""
    m, d = rows.shape
    quadratic = np.kron(np.eye(m), unit)
    sums = np.kron(np.ones((1, m)), np.eye(d))
    cones = [clarabel.NonnegativeConeT(m * d), (clarabel.ZeroConeT if stochastic else clarabel.NonnegativeConeT)(d)]
    answer = clarabel_answer(
        csc_array(np.triu(quadratic)), -quadratic @ rows.ravel(),
        csc_array(np.vstack((-np.eye(m * d), sums))), np.concatenate((np.zeros(m * d), np.ones(d))), cones,
    )  # fmt: skip
    tight = np.array(answer.z) > np.array(answer.s)
    return tight[: m * d].reshape(m, d), tight[m * d :] | stochastic


def _with_tight(
    rows: NDArray[np.float64], unit: NDArray[np.float64], zero: NDArray[np.bool_], full: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """P [m, d] and nu [d] of the equations: P = 0 and sum = 1 where tight, (P - R) V + nu = 0 at the other entries."""
    m, d = rows.shape
    free = ~zero
    some = np.kron(np.eye(m), unit)[np.ix_(free.ravel(), free.ravel())]
    sums = np.kron(np.ones((1, m)), np.eye(d))[np.ix_(full, free.ravel())]
    matrix = np.block([[some, sums.T], [sums, np.zeros((len(sums), len(sums)))]])
    answer, nu = np.zeros((m, d)), np.zeros(d)
    exact_rows, exact_unit = _exact(rows), _exact(unit)
    for _ in range(5):  # the first round solves, the others mend what rounding broke
        pull = (exact_rows - _exact(answer)) @ exact_unit - _exact(nu)
        room = 1 - _exact(answer).sum(axis=0)
        residual = np.concatenate((pull[free], room[full])).astype(np.float64)
        if not residual.size:
            break
        change = np.linalg.solve(matrix, residual)
        answer[free] += change[: len(some)]
        nu[full] += change[len(some) :]
    return answer, nu
