"""What a pair has shown so far: Gram matrix, its inverse, and sums, kept up to date one step at a time.

Next states are stored in the order in which they were first seen (their *slot*), so that what was never seen costs
nothing: all loops run over ``seen[pair]`` slots. The goal has no slot; a step into it is the zero vector. Where the
goal cannot follow, learners give all next states their slots at the beginning, in the order of the support.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.kernels.jit import inlined, lean

REFRESH = 64
"""After so many visits the inverse is computed anew from the Gram matrix, which stops the drift of the updates."""


class Memory(NamedTuple):
    """The sums of N pairs with contexts of size d. M triples; slots of a pair begin at ``next_start[pair]``."""

    gram: NDArray[np.float64]
    """[N, d, d] lambda I + sum of c c^T"""
    inverse: NDArray[np.float64]
    """[N, d, d] the inverse of ``gram``"""
    loss_sums: NDArray[np.float64]
    """[N, d] sum of loss * c"""
    next_sums: NDArray[np.float64]
    """[M, d] by slot: sum of the contexts of the steps that led there"""
    goal_sums: NDArray[np.float64]
    """[N, d] sum of the contexts of the steps into the goal"""
    visits: NDArray[np.int64]
    """[N]"""
    seen: NDArray[np.int64]
    """[N] how many next states have a slot: those seen, the goal not counted; all where the goal cannot follow"""
    slot: NDArray[np.int32]
    """[M] in the order of the support: the slot of a next state within its pair, or -1"""
    slot_state: NDArray[np.int32]
    """[M] by slot: the next state"""


@lean
def invert(matrix, size, out):
    """The inverse of a symmetric positive definite ``matrix[:size, :size]``, by Gauss and Jordan; O(d^3).

    Pivots need no exchange: those of a positive definite matrix are positive.
    """
    for r in range(size):
        for c in range(size):
            out[r, c] = matrix[r, c]
    for p in range(size):
        pivot = 1.0 / out[p, p]
        out[p, p] = 1.0
        for c in range(size):
            out[p, c] *= pivot
        for r in range(size):
            if r != p:
                factor = out[r, p]
                out[r, p] = 0.0
                for c in range(size):
                    out[r, c] -= factor * out[p, c]
    for r in range(size):
        for c in range(r):
            mean = 0.5 * (out[r, c] + out[c, r])
            out[r, c] = mean
            out[c, r] = mean


@inlined
def add_to_gram(gram, inverse, context, visits, direction):
    """Add c c^T to a Gram matrix and bring its inverse up to date (Sherman and Morrison); O(d^2).

    ``visits`` counts this one; ``direction[d]`` is room to work in.
    """
    size = len(context)
    for r in range(size):
        for c in range(size):
            gram[r, c] += context[r] * context[c]
    if visits % REFRESH == 0:
        invert(gram, size, inverse)
        return
    scale = 1.0
    for r in range(size):
        total = 0.0
        for c in range(size):
            total += inverse[r, c] * context[c]
        direction[r] = total
        scale += context[r] * total
    scale = 1.0 / scale
    for r in range(size):
        step = direction[r] * scale
        for c in range(r + 1):
            changed = inverse[r, c] - step * direction[c]
            inverse[r, c] = changed
            inverse[c, r] = changed


@inlined
def record(memory, next_start, next_state, goal, pair, place, loss, context, direction):
    """Enter one step: ``pair`` was played under ``context``, ``loss`` was paid, ``next_state[place]`` followed.

    Algorithm 1, lines 10 to 12. O(d^2).
    """
    size = len(context)
    memory.visits[pair] += 1
    add_to_gram(memory.gram[pair], memory.inverse[pair], context, memory.visits[pair], direction)
    for j in range(size):
        memory.loss_sums[pair, j] += loss * context[j]
    if next_state[place] == goal:
        for j in range(size):
            memory.goal_sums[pair, j] += context[j]
        return
    slot = memory.slot[place]
    if slot < 0:
        slot = memory.seen[pair]
        memory.seen[pair] += 1
        memory.slot[place] = slot
        memory.slot_state[next_start[pair] + slot] = next_state[place]
    for j in range(size):
        memory.next_sums[next_start[pair] + slot, j] += context[j]


@inlined
def ridge(sums, inverse, count, out):
    """Ridge coefficients of ``count`` rows: ``out[r] = inverse @ sums[r]``; O(count d^2)."""
    size = inverse.shape[0]
    for r in range(count):
        for j in range(size):
            total = 0.0
            for k in range(size):
                total += inverse[j, k] * sums[r, k]
            out[r, j] = total


@inlined
def quadratic(inverse, context):
    """c^T V^-1 c for one pair; O(d^2)."""
    size = len(context)
    total = 0.0
    for r in range(size):
        part = 0.0
        for c in range(r):
            part += inverse[r, c] * context[c]
        total += context[r] * (2.0 * part + inverse[r, r] * context[r])
    return max(total, 0.0)
