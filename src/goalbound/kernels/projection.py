"""The projection of an estimate on the sub-stochastic matrices, in the norm of the pair's Gram matrix V.

minimise sum over rows r of (p_r - t_r) V (p_r - t_r)^T  subject to  p >= 0 and column sums <= 1.

With multipliers mu >= 0 of the columns and nu >= 0 of the signs the optimum is V (p_r - t_r) + mu - nu_r = 0. The rows
share nothing but mu, so once it is known which entries are 0 (``fixed``) and which columns sum to 1 (``tight``) the
answer is a few small linear systems. The sets are guessed from the last answer and mended until all signs are right
(the primal-dual active set method, a Newton method); should that go in circles, sweeps of block coordinate descent,
which always converge, make a better guess. So an answer that is called right has its optimality conditions checked.

A row whose target is 0 stays 0 (p = 0, nu = mu satisfies the conditions): next states never seen are left out.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.kernels.gram import invert
from goalbound.kernels.jit import inlined, lean

ROUNDS = 16
"""Guesses of the active set between two batches of sweeps."""
BATCHES = 40
SWEEPS = 25
SLACK = 1e-13
"""How far a sign may be wrong, in units of probabilities."""


class Desk(NamedTuple):
    """Room to work in, for rows of up to m next states and contexts of size d."""

    target: NDArray[np.float64]
    """[m, d]"""
    fixed: NDArray[np.bool_]
    """[m, d]"""
    tight: NDArray[np.bool_]
    """[d]"""
    parts: NDArray[np.float64]
    """[m, d, d] inverses of the free blocks of V, padded with zeros"""
    block: NDArray[np.float64]
    """[d, d]"""
    total: NDArray[np.float64]
    """[d, d] sum of ``parts``"""
    solved: NDArray[np.float64]
    """[d, d]"""
    sums: NDArray[np.float64]
    """[d]"""
    multiplier: NDArray[np.float64]
    """[d] mu"""
    vector: NDArray[np.float64]
    """[d]"""
    free: NDArray[np.int64]
    """[d]"""


@inlined
def feasible(target, count):
    """Whether the first ``count`` rows are a sub-stochastic matrix already."""
    for j in range(target.shape[1]):
        total = 0.0
        for r in range(count):
            if target[r, j] < 0.0:
                return False
            total += target[r, j]
        if total > 1.0:
            return False
    return True


@inlined
def guess(rows, count, desk):
    """Which entries are 0 and which columns sum to 1 in ``rows``."""
    for j in range(rows.shape[1]):
        total = 0.0
        for r in range(count):
            desk.fixed[r, j] = rows[r, j] <= 0.0
            total += rows[r, j]
        desk.tight[j] = total > 1.0 - 1e-9


@inlined
def solve_row(inverse, desk, r, size, wide, out_rows):
    """The row under its fixed entries, no column tight, into ``out_rows[r]``; ``desk.parts[r]`` is its response to
    the multipliers of the columns, the inverse of the free block of V padded with zeros (where ``wide`` asks for it).

    Entries are fixed one after the other, as one conditions a Gaussian: O(d) for the first, then O(d^2) each.
    """
    for j in range(size):
        out_rows[r, j] = desk.target[r, j]
    part = desk.parts[r]
    copied = False
    for z in range(size):
        if not desk.fixed[r, z]:
            continue
        if not copied:
            copied = True
            pull = out_rows[r, z] / inverse[z, z]
            for j in range(size):
                out_rows[r, j] -= inverse[j, z] * pull
            for j in range(size):
                factor = inverse[j, z] / inverse[z, z]
                for k in range(size):
                    part[j, k] = inverse[j, k] - factor * inverse[z, k]
        else:
            pivot = part[z, z]
            pull = out_rows[r, z] / pivot
            for j in range(size):
                desk.vector[j] = part[j, z]
                out_rows[r, j] -= part[j, z] * pull
            for j in range(size):
                factor = desk.vector[j] / pivot
                for k in range(size):
                    part[j, k] -= factor * desk.vector[k]
        out_rows[r, z] = 0.0
        for j in range(size):  # exactly 0, so that later pivots do not meet rounding
            part[j, z] = 0.0
            part[z, j] = 0.0
    if wide and not copied:
        for j in range(size):
            for k in range(size):
                part[j, k] = inverse[j, k]


@lean
def solve_columns(desk, size):
    """mu of the tight columns from the sums of the rows; 0 elsewhere. Whether there is such a point."""
    count = 0
    for j in range(size):
        desk.multiplier[j] = 0.0
        if desk.tight[j]:
            desk.free[count] = j
            count += 1
    for a in range(count):
        for b in range(count):
            desk.block[a, b] = desk.total[desk.free[a], desk.free[b]]
        if desk.block[a, a] <= 0.0:
            return False  # a tight column without a free entry
    invert(desk.block, count, desk.solved)
    for a in range(count):
        push = 0.0
        for b in range(count):
            push += desk.solved[a, b] * (desk.sums[desk.free[b]] - 1.0)
        desk.multiplier[desk.free[a]] = push
    return True


@inlined
def try_sets(gram, inverse, count, desk, out_rows):
    """The optimum for the guessed sets, into ``out_rows``; then the sets are mended. Whether no sign was wrong."""
    size = gram.shape[0]
    some_tight = False
    for j in range(size):
        some_tight = some_tight or desk.tight[j]
        desk.multiplier[j] = 0.0
    for r in range(count):
        solve_row(inverse, desk, r, size, some_tight, out_rows)
    if some_tight:
        for j in range(size):
            desk.sums[j] = 0.0
            for k in range(size):
                desk.total[j, k] = 0.0
        for r in range(count):
            for j in range(size):
                desk.sums[j] += out_rows[r, j]
                for k in range(size):
                    desk.total[j, k] += desk.parts[r, j, k]
        if not solve_columns(desk, size):
            return False
        for r in range(count):
            for j in range(size):
                if not desk.fixed[r, j]:
                    pull = 0.0
                    for k in range(size):
                        pull += desk.parts[r, j, k] * desk.multiplier[k]
                    out_rows[r, j] -= pull
    return mend_sets(gram, count, desk, out_rows)


@inlined
def mend_sets(gram, count, desk, rows):
    """Free what pulls inwards, fix what went below 0; the same for the columns. Whether nothing had to change."""
    size = gram.shape[0]
    right = True
    for j in range(size):
        total = 0.0
        for r in range(count):
            total += rows[r, j]
        if desk.tight[j]:
            if desk.multiplier[j] < -SLACK * gram[j, j]:
                desk.tight[j] = False
                right = False
        elif total > 1.0 + SLACK:
            desk.tight[j] = True
            right = False
    for r in range(count):
        for j in range(size):
            if desk.fixed[r, j]:
                slope = desk.multiplier[j]
                for k in range(size):
                    slope += gram[j, k] * (rows[r, k] - desk.target[r, k])
                if slope < -SLACK * gram[j, j]:
                    desk.fixed[r, j] = False
                    right = False
            elif rows[r, j] < -SLACK:
                desk.fixed[r, j] = True
                right = False
    return right


@lean
def sweep_columns(gram, count, desk, rows):
    """One sweep of block coordinate descent from feasible ``rows``. Returns the largest change."""
    size = gram.shape[0]
    change = 0.0
    for j in range(size):
        total = 0.0
        for r in range(count):
            push = 0.0
            for k in range(size):
                if k != j:
                    push += gram[j, k] * (rows[r, k] - desk.target[r, k])
            wanted = desk.target[r, j] - push / gram[j, j]
            desk.parts[r, 0, 0] = wanted
            total += max(wanted, 0.0)
        level = 0.0
        if total > 1.0:
            level = simplex_level(desk.parts, count)
        for r in range(count):
            entry = max(desk.parts[r, 0, 0] - level, 0.0)
            change = max(change, abs(entry - rows[r, j]))
            rows[r, j] = entry
    return change


@lean
def simplex_level(parts, count):
    """The level that brings the sum of max(x - level, 0) to 1, x = ``parts[:, 0, 0]`` (Michelot: drop and repeat)."""
    level = -np.inf
    while True:
        total = 0.0
        kept = 0
        for r in range(count):
            if parts[r, 0, 0] > level:
                total += parts[r, 0, 0]
                kept += 1
        higher = (total - 1.0) / kept
        if higher <= level:
            return level
        level = higher


@inlined
def project(gram, inverse, count, desk, rows):
    """Project ``desk.target[:count]``; ``rows[:count]`` holds the last answer and takes the new one.

    Returns the number of guesses that it took (0: nothing to do), or -1 if the optimality conditions were never met.
    O(count d^2) per guess, and O(d^2) for each further zero of a row; one guess does where the sets did not change.
    """
    size = gram.shape[0]
    if feasible(desk.target, count):
        for r in range(count):
            for j in range(size):
                rows[r, j] = desk.target[r, j]
        return 0
    tries = 0
    for _ in range(BATCHES):
        guess(rows, count, desk)
        for _ in range(ROUNDS):
            tries += 1
            if try_sets(gram, inverse, count, desk, rows):
                tidy(rows, count)
                return tries
        tidy(rows, count)
        for _ in range(SWEEPS):
            if sweep_columns(gram, count, desk, rows) <= 1e-15:
                return tries  # descent stands still: this is the optimum, up to rounding
    return -1


@inlined
def tidy(rows, count):
    """Make ``rows`` feasible: no entry below 0, no column above 1."""
    for j in range(rows.shape[1]):
        total = 0.0
        for r in range(count):
            rows[r, j] = max(rows[r, j], 0.0)
            total += rows[r, j]
        if total > 1.0:
            for r in range(count):
                rows[r, j] /= total
