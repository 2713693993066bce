"""The optimum of the projection for given sets: which entries are 0 and which columns sum to 1.

A few small linear systems. The rows share nothing but the multipliers of the columns; fixing entries of a row is like
conditioning a Gaussian on them. See :mod:`goalbound.confidence.projection`.
"""

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.regression import invert
from goalbound.jit.compile import lean
from goalbound.jit.struct import Struct

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
        for j in range(size):  # exactly 0, so that later pivots do not meet rounding
            part[j, z] = 0.0
            part[z, j] = 0.0
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
    for j in range(size):
        for k in range(size):
            scratch.parts[r, j, k] = 0.0
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
        for j in range(size):
            for k in range(size):
                scratch.total[j, k] = 0.0
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
