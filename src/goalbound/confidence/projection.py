"""The projection of an estimate on the (sub-)stochastic matrices, in the norm of the pair's Gram matrix V.

minimise sum over rows r of (p_r - t_r) V (p_r - t_r)^T  subject to  p >= 0 and column sums <= 1,
or column sums = 1 where the goal, which is no row, cannot follow (``stochastic``).

With multipliers mu >= 0 of the columns and nu >= 0 of the signs the optimum is V (p_r - t_r) + mu - nu_r = 0. The rows
share nothing but mu, so once it is known which entries are 0 (``fixed``) and which columns sum to 1 (``tight``) the
answer is a few small linear systems. The sets are guessed from the last answer and mended until all signs are right
(the primal-dual active set method, a Newton method); should that go in circles, the active set method that changes one
constraint at a time ends it. An answer that is called right has all its optimality conditions checked, the equations
of its free entries and full columns included: a Gram matrix that is nearly singular spoils these first.

Column sums <= 1: a row whose target is 0 stays 0 (p = 0, nu = mu satisfies the conditions), so next states never seen
are left out. Column sums = 1: all columns are tight for good, mu has any sign, and all next states take part, as what
is missing to 1 is shared by them.

Either set is convex and holds the truth, and a projection on such a set does not take a point further from any of its
points, in the norm that it projects in: what a ball around the ridge estimate held, the same ball around the projection
holds (Lemma dynamics-proj-main).
"""

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.regression import invert
from goalbound.jit.compile import lean
from goalbound.jit.struct import Struct

ROUNDS = 16
"""Guesses of the active set before it is taken to go in circles."""
REFINEMENTS = 10
"""Most steps of iterative refinement of one guess; nearly always none is needed."""
SLACK = 1e-13
"""How far a sign may be wrong, in units of probabilities."""


class ProjectionWorkspace(Struct):
    """Scratch arrays for rows of up to m next states and contexts of size d."""

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
    trial: NDArray[np.float64]
    """[m, d]"""
    scale: NDArray[np.float64]
    """[1] the largest entry of the target, at least 1"""


def new_projection_workspace(longest: int, size: int) -> ProjectionWorkspace:
    """Scratch arrays to project rows of up to ``longest`` next states."""
    longest = max(longest, 1)
    return ProjectionWorkspace(
        target=np.zeros((longest, size)),
        fixed=np.zeros((longest, size), dtype=np.bool_),
        tight=np.zeros(size, dtype=np.bool_),
        parts=np.zeros((longest, size, size)),
        block=np.zeros((size, size)),
        total=np.zeros((size, size)),
        solved=np.zeros((size, size)),
        sums=np.zeros(size),
        multiplier=np.zeros(size),
        vector=np.zeros(size),
        free=np.zeros(size, dtype=np.int64),
        trial=np.zeros((longest, size)),
        scale=np.ones(1),
    )


@lean
def project(gram, inverse, count, stochastic, scratch, rows):
    """Project ``scratch.target[:count]``; ``rows[:count]`` holds the last answer and takes the new one.

    ``stochastic``: columns sum to 1, not to at most 1. A single such row is certain, whatever its target.
    Returns the number of guesses that it took (0: nothing to do), or -1 if the optimality conditions were never met.
    O(count d^2) per guess, and O(d^2) for each further zero of a row; one guess does where the sets did not change.
    """
    size = gram.shape[0]
    if stochastic and count == 1:
        rows[0] = 1.0
        return 0
    if feasible(scratch.target, count, stochastic):
        for r in range(count):
            for j in range(size):
                rows[r, j] = scratch.target[r, j]
        return 0
    scratch.scale[0] = 1.0
    for r in range(count):
        for j in range(size):
            scratch.scale[0] = max(scratch.scale[0], abs(scratch.target[r, j]))
    initial_active_set(rows, count, stochastic, scratch)
    for tries in range(ROUNDS):
        if not solve_active_set(gram, inverse, count, scratch, False, rows):
            break
        if update_active_set(gram, count, stochastic, scratch, rows):
            clip_feasible(rows, count, stochastic)
            return tries + 1
    clip_feasible(rows, count, stochastic)
    steps = descend(gram, inverse, count, stochastic, scratch, rows)
    clip_feasible(rows, count, stochastic)
    return ROUNDS + steps if steps > 0 else -1


@lean
def feasible(target, count, stochastic):
    """Whether the first ``count`` rows are such a matrix already."""
    for j in range(target.shape[1]):
        total = 0.0
        for r in range(count):
            if target[r, j] < 0.0:
                return False
            total += target[r, j]
        if total > 1.0 or (stochastic and total != 1.0):
            return False
    return True


@lean
def clip_feasible(rows, count, stochastic):
    """Make ``rows`` feasible: no entry below 0, no column above 1; or all at 1 (one that has nothing is uniform)."""
    for j in range(rows.shape[1]):
        total = 0.0
        for r in range(count):
            rows[r, j] = max(rows[r, j], 0.0)
            total += rows[r, j]
        if stochastic and total <= 0.0:
            for r in range(count):
                rows[r, j] = 1.0 / count
        elif stochastic or total > 1.0:
            for r in range(count):
                rows[r, j] /= total


@lean
def initial_active_set(rows, count, stochastic, scratch):
    """Which entries are 0 and which columns sum to 1 in ``rows``; a column that must, and has nothing, is all free."""
    for j in range(rows.shape[1]):
        total = 0.0
        for r in range(count):
            scratch.fixed[r, j] = rows[r, j] <= 0.0
            total += rows[r, j]
        scratch.tight[j] = stochastic or total > 1.0 - 1e-9
        if stochastic and total <= 0.0:
            for r in range(count):
                scratch.fixed[r, j] = False


@lean
def update_active_set(gram, count, stochastic, scratch, rows):
    """Free what pulls inwards, fix what went below 0; the same for the columns. Whether nothing had to change."""
    size = gram.shape[0]
    slack = SLACK * scratch.scale[0]
    right = True
    for j in range(size):
        total = 0.0
        for r in range(count):
            total += rows[r, j]
        if scratch.tight[j]:
            if not stochastic and scratch.multiplier[j] < -slack * gram[j, j]:
                scratch.tight[j] = False
                right = False
        elif total > 1.0 + slack:
            scratch.tight[j] = True
            right = False
    for r in range(count):
        for j in range(size):
            if scratch.fixed[r, j]:
                slope, rounding = slope_at(gram, scratch, rows, r, j)
                if slope < -rounding:
                    scratch.fixed[r, j] = False
                    right = False
            elif rows[r, j] < -slack:
                scratch.fixed[r, j] = True
                right = False
    return right


@lean
def solve_active_set(gram, inverse, count, scratch, anew, out_rows):
    """The optimum for the sets as they are, signs not looked at, into ``out_rows``. Whether it was found."""
    size = gram.shape[0]
    some_tight = False
    for j in range(size):
        some_tight = some_tight or scratch.tight[j]
        scratch.multiplier[j] = 0.0
    for r in range(count):
        if anew:
            solve_row_anew(gram, scratch, r, size, out_rows)
        else:
            solve_row(inverse, scratch, r, size, some_tight, out_rows)
    if some_tight:
        scratch.total[:] = 0.0
        for r in range(count):
            for j in range(size):
                for k in range(size):
                    scratch.total[j, k] += scratch.parts[r, j, k]
        if not solve_columns(scratch, size):
            return False
        fill_columns(count, scratch, out_rows)
    for _ in range(REFINEMENTS):
        if largest_slope(gram, count, scratch, out_rows) <= 1.0:
            return True
        refine(gram, count, scratch, some_tight, out_rows)
    return largest_slope(gram, count, scratch, out_rows) <= 1.0


@lean
def solve_row(inverse, scratch, r, size, wide, out_rows):
    """The row under its fixed entries, no column tight, into ``out_rows[r]``; ``scratch.parts[r]`` is its response to
    the multipliers of the columns, the inverse of the free block of V padded with zeros (where ``wide`` asks for it).

    Entries are fixed one after the other, as one conditions a Gaussian: O(d) for the first, then O(d^2) each.
    """
    for j in range(size):
        out_rows[r, j] = scratch.target[r, j]
    part = scratch.parts[r]
    copied = False
    for z in range(size):
        if not scratch.fixed[r, z]:
            continue
        if not copied:
            copied = True
            dual = out_rows[r, z] / inverse[z, z]
            for j in range(size):
                out_rows[r, j] -= inverse[j, z] * dual
            for j in range(size):
                factor = inverse[j, z] / inverse[z, z]
                for k in range(size):
                    part[j, k] = inverse[j, k] - factor * inverse[z, k]
        else:
            pivot = part[z, z]
            dual = out_rows[r, z] / pivot
            for j in range(size):
                scratch.vector[j] = part[j, z]
                out_rows[r, j] -= part[j, z] * dual
            for j in range(size):
                factor = scratch.vector[j] / pivot
                for k in range(size):
                    part[j, k] -= factor * scratch.vector[k]
        out_rows[r, z] = 0.0
        part[:, z] = 0.0  # exactly 0, so that later pivots do not meet rounding
        part[z] = 0.0
    if wide and not copied:
        for j in range(size):
            for k in range(size):
                part[j, k] = inverse[j, k]


@lean
def solve_row_anew(gram, scratch, r, size, out_rows):
    """The same as :func:`solve_row` from the free block of V itself: O(d^3), but no digit is lost to the inverse."""
    count = 0
    for j in range(size):
        out_rows[r, j] = 0.0
        if not scratch.fixed[r, j]:
            scratch.free[count] = j
            count += 1
    for a in range(count):
        for b in range(count):
            scratch.block[a, b] = gram[scratch.free[a], scratch.free[b]]
    invert(scratch.block, count, scratch.solved)
    scratch.parts[r] = 0.0
    for a in range(count):
        entry = scratch.target[r, scratch.free[a]]
        for b in range(count):
            scratch.parts[r, scratch.free[a], scratch.free[b]] = scratch.solved[a, b]
            dual = 0.0
            for k in range(size):
                if scratch.fixed[r, k]:
                    dual += gram[scratch.free[b], k] * scratch.target[r, k]
            entry += scratch.solved[a, b] * dual
        out_rows[r, scratch.free[a]] = entry


@lean
def solve_columns(scratch, size):
    """The inverse of the tight block of ``total``, into ``solved``. Whether there is one."""
    count = 0
    for j in range(size):
        if scratch.tight[j]:
            scratch.free[count] = j
            count += 1
    for a in range(count):
        for b in range(count):
            scratch.block[a, b] = scratch.total[scratch.free[a], scratch.free[b]]
        if scratch.block[a, a] <= 0.0:
            return False  # a tight column without a free entry
    invert(scratch.block, count, scratch.solved)
    return True


@lean
def fill_columns(count, scratch, rows):
    """Move the multipliers of the tight columns, and the rows with them, until these columns sum to 1."""
    size = rows.shape[1]
    tight = 0
    for j in range(size):
        scratch.vector[j] = 0.0
        scratch.sums[j] = -1.0
        for r in range(count):
            scratch.sums[j] += rows[r, j]
        if scratch.tight[j]:
            tight += 1
    for a in range(tight):
        push = 0.0
        for b in range(tight):
            push += scratch.solved[a, b] * scratch.sums[scratch.free[b]]
        scratch.vector[scratch.free[a]] = push
        scratch.multiplier[scratch.free[a]] += push
    for r in range(count):
        for j in range(size):
            if not scratch.fixed[r, j]:
                dual = 0.0
                for k in range(size):
                    dual += scratch.parts[r, j, k] * scratch.vector[k]
                rows[r, j] -= dual


@lean
def slope_at(gram, scratch, rows, r, j):
    """What is left of V (p - t) + mu at an entry (0 at the free ones, not negative at the fixed ones), and how much of
    it may be rounding."""
    slope = scratch.multiplier[j]
    size = max(abs(slope), gram[j, j] * scratch.scale[0])
    for k in range(gram.shape[0]):
        part = gram[j, k] * (rows[r, k] - scratch.target[r, k])
        slope += part
        size = max(size, abs(part))
    return slope, SLACK * size


@lean
def largest_slope(gram, count, scratch, rows):
    """How far the equations of the free entries are from holding; rounding makes up to 1 of it."""
    largest = 0.0
    for r in range(count):
        for j in range(gram.shape[0]):
            if not scratch.fixed[r, j]:
                slope, rounding = slope_at(gram, scratch, rows, r, j)
                largest = max(largest, abs(slope) / rounding)
    for j in range(gram.shape[0]):
        if scratch.tight[j]:
            excess = -1.0
            for r in range(count):
                excess += rows[r, j]
            largest = max(largest, abs(excess) / (SLACK * scratch.scale[0]))
    return largest


@lean
def refine(gram, count, scratch, some_tight, rows):
    """One step of iterative refinement: the inverse of a Gram matrix of condition number 1e6 has lost ten digits."""
    size = gram.shape[0]
    for r in range(count):
        some_fixed = some_tight
        for j in range(size):
            some_fixed = some_fixed or scratch.fixed[r, j]
            scratch.vector[j] = 0.0 if scratch.fixed[r, j] else slope_at(gram, scratch, rows, r, j)[0]
        if some_fixed:  # else the row is its target, and its part was never filled
            for j in range(size):
                dual = 0.0
                for k in range(size):
                    dual += scratch.parts[r, j, k] * scratch.vector[k]
                rows[r, j] -= dual
    if some_tight:
        fill_columns(count, scratch, rows)


@lean
def descend(gram, inverse, count, stochastic, scratch, rows):
    """The active set method from feasible ``rows``: one constraint at a time, the objective never rises, so that it
    cannot go in circles. Returns the number of steps, or -1."""
    size = gram.shape[0]
    initial_active_set(rows, count, stochastic, scratch)
    most = 20 * (count + 1) * size
    for step in range(most):
        if not solve_active_set(gram, inverse, count, scratch, True, scratch.trial):
            return -1
        if not line_search(count, scratch, rows) and not release_constraint(gram, count, stochastic, scratch, rows):
            return step + 1
    return -1


@lean
def line_search(count, scratch, rows):
    """Go from ``rows`` towards ``trial`` until a constraint is met, which then holds. Whether there was one."""
    size = rows.shape[1]
    share = 1.0
    row = -1
    column = -1
    for j in range(size):
        total = 0.0
        wanted = 0.0
        for r in range(count):
            total += rows[r, j]
            wanted += scratch.trial[r, j]
            if not scratch.fixed[r, j] and scratch.trial[r, j] < 0.0:
                reach = rows[r, j] / (rows[r, j] - scratch.trial[r, j])
                if reach < share:
                    share, row, column = reach, r, j
        if not scratch.tight[j] and wanted > 1.0:
            reach = max(1.0 - total, 0.0) / (wanted - total)
            if reach < share:
                share, row, column = reach, -1, j
    for r in range(count):
        for j in range(size):
            entry = rows[r, j] + share * (scratch.trial[r, j] - rows[r, j])
            rows[r, j] = scratch.trial[r, j] if share == 1.0 else max(entry, 0.0)
    if column < 0:
        return False
    if row < 0:
        scratch.tight[column] = True
    else:
        scratch.fixed[row, column] = True
        rows[row, column] = 0.0
    return True


@lean
def release_constraint(gram, count, stochastic, scratch, rows):
    """Free the constraint that pulls inwards most. Whether there was one."""
    size = gram.shape[0]
    worst = -SLACK * scratch.scale[0]
    row = -1
    column = -1
    for j in range(size):
        if scratch.tight[j] and not stochastic and scratch.multiplier[j] < worst * gram[j, j]:
            worst, row, column = scratch.multiplier[j] / gram[j, j], -1, j
        for r in range(count):
            if scratch.fixed[r, j]:
                slope, rounding = slope_at(gram, scratch, rows, r, j)
                if slope < -rounding and slope / gram[j, j] < worst:
                    worst, row, column = slope / gram[j, j], r, j
    if column < 0:
        return False
    if row < 0:
        scratch.tight[column] = False
    else:
        scratch.fixed[row, column] = False
    return True
