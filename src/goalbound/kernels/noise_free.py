"""Losses that are said to be free of noise: the loss of a pair under a context c is p c itself, for p in [0, 1]^d.

The losses that were seen are linear equations in p. They are kept in echelon form, at most d for each pair: c is a
combination of the contexts of the equations, plus a rest r, so that p c is the same combination of their losses, plus
r p, which is between the sums of the negative and of the positive entries of r. After d independent contexts there is
no rest: the loss is exact under every context. What a loss may be off (rounding, in the main) is carried along.
"""

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import lean
from goalbound.jit.records import new_record, record_type
from goalbound.jit.struct import Struct

LOSS_TOLERANCE = 1e-9
"""How far a loss may be from p c: more than rounding, less than anyone measures."""
INDEPENDENT = 1e-3
"""A context whose rest has an entry of this size is an equation of its own."""

CONTRADICTION = record_type(reals=("loss", "low", "high"), integers=("found", "pair"))
"""Fields of :attr:`NoiseFreeState.contradiction`: the loss that was seen, between what it should have been; whether
there is one, and of which pair."""


class NoiseFreeConstants(Struct):
    """Which losses are free of noise."""

    _static = ("on",)

    on: bool
    """whether any is; if not, nothing below matters"""
    pairs: NDArray[np.bool_]
    """[N]"""


class NoiseFreeState(Struct):
    """The equations of N pairs; N is 0 where no loss is free of noise."""

    count: NDArray[np.int64]
    """[N] equations"""
    contexts: NDArray[np.float64]
    """[N, d, d] the contexts that they are from, as they were seen"""
    losses: NDArray[np.float64]
    """[N, d] the losses that were seen"""
    rows: NDArray[np.float64]
    """[N, d, d] left sides in echelon form: 1 at their pivots"""
    right: NDArray[np.float64]
    """[N, d] right sides"""
    slack: NDArray[np.float64]
    """[N, d] how far the right sides may be off"""
    pivot: NDArray[np.int64]
    """[N, d]"""
    contradiction: np.void
    """fields: CONTRADICTION"""
    context: NDArray[np.float64]
    """[d] the context of the contradiction"""
    work: NDArray[np.float64]
    """[d] scratch: the rest of a context"""


def new_noise_free_state(pairs: int, size: int) -> NoiseFreeState:
    """No equations."""
    return NoiseFreeState(
        count=np.zeros(pairs, dtype=np.int64),
        contexts=np.zeros((pairs, size, size)),
        losses=np.zeros((pairs, size)),
        rows=np.zeros((pairs, size, size)),
        right=np.zeros((pairs, size)),
        slack=np.zeros((pairs, size)),
        pivot=np.zeros((pairs, size), dtype=np.int64),
        contradiction=new_record(CONTRADICTION),
        context=np.zeros(size),
        work=np.zeros(size),
    )


@lean
def eliminate(state, pair, context):
    """The rest of a context into ``state.work``; returns what the equations say of p c without it, and how far that may
    be off. O(d^2)."""
    rest = state.work
    size = len(context)
    for j in range(size):
        rest[j] = context[j]
    value = 0.0
    slack = 0.0
    for k in range(state.count[pair]):
        factor = rest[state.pivot[pair, k]]
        value += factor * state.right[pair, k]
        slack += abs(factor) * (state.slack[pair, k] + LOSS_TOLERANCE * LOSS_TOLERANCE)
        for j in range(size):
            rest[j] -= factor * state.rows[pair, k, j]
        rest[state.pivot[pair, k]] = 0.0
    return value, slack


@lean
def noise_free_interval(state, pair, context):
    """The least and the largest p c that agrees with all losses that were seen, within [0, 1]; the largest entry of the
    rest. O(d^2)."""
    value, slack = eliminate(state, pair, context)
    low = value - slack
    high = value + slack
    largest = 0.0
    for j in range(len(context)):
        low += min(state.work[j], 0.0)
        high += max(state.work[j], 0.0)
        largest = max(largest, abs(state.work[j]))
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0), largest


@lean
def contradicts(state, pair, context, loss):
    """Whether a loss cannot be, by those that were seen before."""
    low, high, _ = noise_free_interval(state, pair, context)
    return loss < low - LOSS_TOLERANCE or loss > high + LOSS_TOLERANCE


@lean
def note_contradiction(state, pair, number, context, loss):
    """Keep what was seen and what it should have been. ``number`` is the pair, or the group of pairs, of the equations;
    the contradiction is that of the pair."""
    low, high, _ = noise_free_interval(state, number, context)
    state.contradiction["found"] = 1
    state.contradiction["pair"] = pair
    state.contradiction["loss"] = loss
    state.contradiction["low"] = low
    state.contradiction["high"] = high
    for j in range(len(context)):
        state.context[j] = context[j]


@lean
def learn_noise_free(state, pair, context, loss):
    """A loss was seen, which contradicts nothing: a new equation if its context is independent of the others."""
    value, slack = eliminate(state, pair, context)
    rest = state.work
    size = len(context)
    pivot = 0
    for j in range(1, size):
        if abs(rest[j]) > abs(rest[pivot]):
            pivot = j
    if abs(rest[pivot]) < INDEPENDENT or state.count[pair] == size:
        return
    at = state.count[pair]
    scale = 1.0 / rest[pivot]
    for j in range(size):
        state.contexts[pair, at, j] = context[j]
        state.rows[pair, at, j] = rest[j] * scale
    state.rows[pair, at, pivot] = 1.0
    state.losses[pair, at] = loss
    state.right[pair, at] = (loss - value) * scale
    state.slack[pair, at] = (LOSS_TOLERANCE + slack) * abs(scale)
    state.pivot[pair, at] = pivot
    state.count[pair] += 1


@lean
def merge_noise_free(state, theirs, pair):
    """The equations of another learner; a contradiction is kept."""
    for k in range(theirs.count[pair]):
        context, loss = theirs.contexts[pair, k], theirs.losses[pair, k]
        if contradicts(state, pair, context, loss):
            note_contradiction(state, pair, pair, context, loss)
        else:
            learn_noise_free(state, pair, context, loss)
