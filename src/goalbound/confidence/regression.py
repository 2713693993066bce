"""What a pair has shown so far: Gram matrix, its inverse, and sums, kept up to date one step at a time.

Next states are stored in the order in which they were first seen (their *seen index*), so that what was never seen
costs nothing: all loops run over ``seen[pair]`` entries. The goal has no index; a step into it is the zero vector.
Where the goal cannot follow, learners give all next states an index at the beginning, in the order of the support.

Rounding never makes a confidence set too small. Sums are compensated: what an addition rounds away is kept beside the
sum (``*_low``) and put back in, so that a sum is within :data:`EPS` of the exact one, relatively, after any number of
steps. The inverse is only a means to find x near V^-1 c; what the sets use of it is certified against the Gram matrix
(:func:`solve_context`, :func:`projection_gap`, :func:`ridge_error`).

Pending visits have no outcome yet, or never will. A visit counts in the Gram matrix as soon as an outcome of a later
visit of the same pair is learned from, in the order in which the pair was played. Which outcomes are reported early may
depend on the outcomes, so those still missing are taken to be anything in [0, 1]. With x = V^-1 c, contexts c_i >= 0
and y_i in [0, 1] they would have moved an estimate by sum y_i x c_i: between x- C and x+ C, where C is the sum of the
c_i and x-, x+ are the negative and positive entries of x; and the estimate of a whole pair, in the norm of V, by at
most the sum of the norms of the c_i in V^-1. These sums are whole numbers of :data:`UNIT`, rounded up: they come back
to exactly 0 when all outcomes are known.
"""

from math import ceil, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import lean
from goalbound.jit.records import lazy_zeros
from goalbound.jit.struct import Struct

RENEW_EVERY = 64
"""After so many visits the inverse is computed anew from the Gram matrix, which stops the drift of the updates."""
EPS = 2.0**-52
"""Twice the largest relative error of one rounding: leaves room for the errors of the error bounds themselves."""
REFINEMENTS = 3
"""Most steps of iterative refinement of x = V^-1 c."""
REFINED = 1e-6
"""A residual that adds this share to the norm of the context is small enough: it cannot be seen in a set."""
UNIT = 2.0**-32
"""Contexts and norms of pending visits are rounded up to whole numbers of it."""
FILE_SLACK = 1e-6
"""A share of the visits and of the ridge: more than the rounding of sums that were read from a file."""


class RegressionSums(Struct):
    """The sums of N pairs with contexts of size d. M triples; entries of a pair begin at ``next_start[pair]``."""

    gram: NDArray[np.float64]
    """[N, d, d] lambda I + sum of c c^T"""
    gram_low: NDArray[np.float64]
    """[N, d, d] what ``gram`` lacks of the exact sum; likewise ``loss_low``, ``next_low`` and ``goal_low``"""
    inverse: NDArray[np.float64]
    """[N, d, d] the inverse of ``gram``"""
    loss_sums: NDArray[np.float64]
    """[N, d] sum of loss * c"""
    loss_low: NDArray[np.float64]
    """[N, d]"""
    next_sums: NDArray[np.float64]
    """[M, d] by seen index: sum of the contexts of the steps that led there"""
    next_low: NDArray[np.float64]
    """[M, d]"""
    goal_sums: NDArray[np.float64]
    """[N, d] sum of the contexts of the steps into the goal"""
    goal_low: NDArray[np.float64]
    """[N, d]"""
    visits: NDArray[np.int64]
    """[N]"""
    seen: NDArray[np.int64]
    """[N] how many next states have an index: those seen, the goal not counted; all where the goal cannot follow"""
    seen_index: NDArray[np.int32]
    """[M] in the order of the support: the index of a next state within its pair, or -1"""
    seen_state: NDArray[np.int32]
    """[M] by seen index: the next state"""


def new_regression_sums(pairs: int, triples: int, size: int, regularization: float) -> RegressionSums:
    """No data: Gram matrices lambda I (Algorithm 1, line 2). O(N d^2 + M d)."""
    unit = np.eye(size)
    return RegressionSums(
        gram=np.repeat((unit * regularization)[None], pairs, axis=0),
        gram_low=lazy_zeros((pairs, size, size)),
        inverse=np.repeat((unit / regularization)[None], pairs, axis=0),
        loss_sums=lazy_zeros((pairs, size)),
        loss_low=lazy_zeros((pairs, size)),
        next_sums=lazy_zeros((triples, size)),
        next_low=lazy_zeros((triples, size)),
        goal_sums=lazy_zeros((pairs, size)),
        goal_low=lazy_zeros((pairs, size)),
        visits=np.zeros(pairs, dtype=np.int64),
        seen=np.zeros(pairs, dtype=np.int64),
        seen_index=np.full(triples, -1, dtype=np.int32),
        seen_state=np.zeros(triples, dtype=np.int32),
    )


class RegressionWorkspace(Struct):
    """Scratch arrays."""

    vector: NDArray[np.float64]
    """[d]"""
    sums: NDArray[np.float64]
    """[d]"""
    block: NDArray[np.float64]
    """[d, d]"""


class Pending(Struct):
    """What was played and not reported, by pair."""

    visits: NDArray[np.int64]
    """[N]"""
    contexts: NDArray[np.int64]
    """[N, d] sum of their contexts, in UNITs"""
    norms: NDArray[np.int64]
    """[N] sum of the norms of their contexts in V^-1 when they began to count, in UNITs; they are no larger now, as
    no visit leaves V"""


def new_pending(pairs: int, size: int) -> Pending:
    """All outcomes are known."""
    return Pending(
        visits=np.zeros(pairs, dtype=np.int64),
        contexts=np.zeros((pairs, size), dtype=np.int64),
        norms=np.zeros(pairs, dtype=np.int64),
    )


@lean
def add(sums, low, at, value):
    """``sums[at] += value``, and what rounding takes away goes into ``low[at]``, then back as soon as it counts.

    The exact sum is ``sums[at] + low[at]`` up to EPS^2 per addition, and ``|low[at]|`` is at most EPS / 2 of it.
    """
    before = sums[at]
    total = before + value
    shift = total - before
    rest = low[at] + ((before - (total - shift)) + (value - shift))
    sums[at] = total + rest
    low[at] = rest - (sums[at] - total)


@lean
def invert(matrix, size, out):
    """The inverse of a symmetric positive definite ``matrix[:size, :size]``, by Gauss and Jordan; O(d^3).

    Returns whether all pivots were positive: those of a positive definite matrix are, and need no exchange. If not,
    the matrix has lost its definiteness to rounding and ``out`` means nothing.
    """
    for r in range(size):
        for c in range(size):
            out[r, c] = matrix[r, c]
    for p in range(size):
        if not out[p, p] > 0.0:
            return False
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
    return True


@lean
def renew_inverse(gram, inverse, regularization, work):
    """Compute the inverse anew, if the Gram matrix still shows its definiteness: V >= lambda I, so no diagonal entry of
    the inverse is above 1 / lambda. Else the inverse stays what the updates made of it. ``work`` [d, d].
    """
    size = len(gram)
    if not invert(gram, size, work):
        return
    for j in range(size):
        if not 0.0 < work[j, j] <= 2.0 / regularization:
            return
    for r in range(size):
        for c in range(size):
            inverse[r, c] = work[r, c]


@lean
def add_to_gram(gram, low, inverse, context, visits, regularization, direction, work):
    """Add c c^T to a Gram matrix and bring its inverse up to date (Sherman and Morrison); O(d^2).

    ``visits`` counts this one; ``direction[d]`` and ``work[d, d]`` are scratch arrays.
    """
    size = len(context)
    for r in range(size):
        for c in range(size):
            add(gram[r], low[r], c, context[r] * context[c])
    scale = 1.0
    for r in range(size):
        total = 0.0
        for c in range(size):
            total += inverse[r, c] * context[c]
        direction[r] = total
        scale += context[r] * total
    scale = 1.0 / max(scale, 1.0)
    for r in range(size):
        step = direction[r] * scale
        for c in range(r + 1):
            changed = inverse[r, c] - step * direction[c]
            inverse[r, c] = changed
            inverse[c, r] = changed
    if visits % RENEW_EVERY == 0:
        renew_inverse(gram, inverse, regularization, work)


@lean
def record_visit(regression, pair, context, regularization, direction, work):
    """A pair is played under ``context``; what comes of it is not known yet. Algorithm 1, lines 10 and 11. O(d^2)."""
    regression.visits[pair] += 1
    add_to_gram(
        regression.gram[pair], regression.gram_low[pair], regression.inverse[pair], context, regression.visits[pair],
        regularization, direction, work,
    )  # fmt: skip


@lean
def record_outcome(regression, next_start, next_state, goal, pair, place, loss, context):
    """What came of a visit: ``loss`` was paid, ``next_state[place]`` followed. Algorithm 1, line 12. O(d)."""
    size = len(context)
    for j in range(size):
        add(regression.loss_sums[pair], regression.loss_low[pair], j, loss * context[j])
    if next_state[place] == goal:
        for j in range(size):
            add(regression.goal_sums[pair], regression.goal_low[pair], j, context[j])
        return
    index = regression.seen_index[place]
    if index < 0:
        index = regression.seen[pair]
        regression.seen[pair] += 1
        regression.seen_index[place] = index
        regression.seen_state[next_start[pair] + index] = next_state[place]
    at = next_start[pair] + index
    for j in range(size):
        add(regression.next_sums[at], regression.next_low[at], j, context[j])


@lean
def record(regression, next_start, next_state, goal, pair, place, loss, context, regularization, direction, work):
    """Enter one step: a visit and its outcome. O(d^2)."""
    record_visit(regression, pair, context, regularization, direction, work)
    record_outcome(regression, next_start, next_state, goal, pair, place, loss, context)


@lean
def ridge(sums, inverse, count, out):
    """Ridge coefficients of ``count`` rows: ``out[r] = inverse @ sums[r]``; O(count d^2)."""
    size = inverse.shape[0]
    for r in range(count):
        for j in range(size):
            total = 0.0
            for k in range(size):
                total += inverse[j, k] * sums[r, k]
            out[r, j] = total


@lean
def residual_of(gram, context, x, out_residual):
    """c - V x into ``out_residual``; returns the sum of its sizes, and the sums of V |x|, |x| |c - V x|, |x| V |x|."""
    size = len(context)
    total = 0.0
    weight = 0.0
    tilt = 0.0
    spread = 0.0
    for r in range(size):
        rest = context[r]
        part = 0.0
        for c in range(size):
            term = gram[r, c] * x[c]
            rest -= term
            part += abs(term)
        out_residual[r] = rest
        total += abs(rest)
        weight += part
        tilt += abs(x[r]) * abs(rest)
        spread += abs(x[r]) * part
    return total, weight, tilt, spread


@lean
def refine(inverse, residual, x):
    """One step of iterative refinement: x + V^-1 (c - V x)."""
    for r in range(len(x)):
        part = 0.0
        for c in range(len(x)):
            part += inverse[r, c] * residual[c]
        x[r] += part


@lean
def solve_context(gram, inverse, context, regularization, out, residual):
    """x near V^-1 c into ``out``, and what is certain of it whatever the inverse is. O(d^2).

    With r = c - V x and p any coefficients in [0, 1]^d whose data are b and whose noise is S (V p = lambda p + b - S)

        p c  =  x b - x S + lambda x p + r p,    |x S| <= |x|_V |S|_{V^-1},    |c|_{V^-1} <= |x|_V + |r| / sqrt(lambda)

    holds for *every* x, since V >= lambda I; x = V^-1 c only makes r vanish. Returns
    - an upper bound of |x|_V and of the norm of c in V^-1,
    - an upper bound of |r p| plus the rounding of x b: entries of V are not negative and contexts sum to 1, so that
      |x| b is at most the sum of V |x|,
    - |x| V |x|, by which the rounding of other quadratic forms of x is bounded.
    An x that is no number is replaced by 0, which claims nothing. ``residual[d]`` is a scratch array.
    """
    size = len(context)
    for r in range(size):
        total = 0.0
        for c in range(size):
            total += inverse[r, c] * context[c]
        out[r] = total
    rounding = EPS * (size + 4)
    rest, weight, tilt, spread = residual_of(gram, context, out, residual)
    tries = 0
    while tries < REFINEMENTS and rest * rest > REFINED * REFINED * regularization * abs(dot(out, context)):
        refine(inverse, residual, out)
        rest, weight, tilt, spread = residual_of(gram, context, out, residual)
        tries += 1
    if not weight < np.inf:
        out[:] = 0.0
        rest, weight, tilt, spread = residual_of(gram, context, out, residual)
    rest += rounding * (1.0 + weight)
    square = dot(out, context) + tilt + rounding * (dot_sizes(out, context) + 2.0 * spread)
    norm = sqrt(max(square, 0.0)) + rest / sqrt(regularization)
    return norm, rest + 2.0 * rounding * weight, spread


@lean
def dot(one, other):
    """The sum of the products."""
    total = 0.0
    for j in range(len(one)):
        total += one[j] * other[j]
    return total


@lean
def dot_sizes(one, other):
    """The sum of the sizes of the products."""
    total = 0.0
    for j in range(len(one)):
        total += abs(one[j] * other[j])
    return total


@lean
def add_to_log_det(log_det, norm):
    """An upper bound of log det(V + c c^T), from that of log det(V) and of the norm of c in V^-1; not rounded down."""
    return log_det * (1.0 + EPS) + log(1.0 + norm * norm) * (1.0 + 4.0 * EPS)


@lean
def ridge_error(gram, sums, coefficients, regularization):
    """An upper bound of |l - V^-1 b|_V for ridge coefficients l [d] of sums b [d] of numbers in [0, 1]. O(d^2).

    It is |b - V l| in the norm of V^-1, and V >= lambda I. Infinity where the coefficients are no numbers.
    """
    size = len(coefficients)
    square = 0.0
    for j in range(size):
        rest = sums[j]
        part = abs(sums[j])
        for k in range(size):
            term = gram[j, k] * coefficients[k]
            rest -= term
            part += abs(term)
        rest = abs(rest) + EPS * (size + 4) * part
        square += rest * rest
    return sqrt(square / regularization) if square < np.inf else np.inf


@lean
def projection_gap(gram, sums, rows, count, stochastic):
    """How far ``rows`` [count, d], not negative, are from the projection of V^-1 b, as a duality gap. O(count d^2).

    Let G = V p - b be the gradient of |p - V^-1 b|_V^2 / 2 at the rows p. For all sub-stochastic q, G (q - p) >= -g
    with g the sum over the columns of G p - min(0, min over rows of G); it is 0 at the projection. Where columns sum to
    exactly 1 (``stochastic``: the goal cannot follow) the 0 is left out. So for the truth q

        |p - q|_V^2 <= |V^-1 b - q|_V^2 + 2 g

    whatever the rows are: an inexact projection makes the set larger, never wrong. Rounding is included; where it is
    no number at all, infinity is returned.
    """
    size = len(gram)
    rounding = EPS * (size + 4)
    gap = 0.0
    for j in range(size):
        least = np.inf if stochastic else 0.0
        for r in range(count):
            slope = -sums[r, j]
            part = sums[r, j]
            for k in range(size):
                term = gram[j, k] * rows[r, k]
                slope += term
                part += abs(term)
            gap += (slope + rounding * part) * rows[r, j]
            least = min(least, slope - rounding * part)
        gap -= least
    return gap if gap < np.inf else np.inf


@lean
def count_visit(constants, state, scratch, pair, context):
    """A visit enters the Gram matrix of its pair (lines 10 and 11). Returns the norm of its context before."""
    regression = state.regression
    norm, _, _ = solve_context(
        regression.gram[pair], regression.inverse[pair], context, constants.regularization, scratch.vector, scratch.sums
    )
    count_visit_of_norm(constants, state, scratch, pair, context, norm)
    return norm


@lean
def count_visit_of_norm(constants, state, scratch, pair, context, norm):
    """:func:`count_visit` where the norm of the context is known."""
    state.log_det[pair] = add_to_log_det(state.log_det[pair], norm)
    record_visit(state.regression, pair, context, constants.regularization, scratch.vector, scratch.block)


@lean
def in_units(number):
    """The least whole number of UNITs that is not below ``number``."""
    return ceil(number / UNIT)


@lean
def add_pending(pending, pair, context, norm, sign):
    """One more pending visit (``sign`` 1), or one less (-1). ``norm`` is in UNITs."""
    pending.visits[pair] += sign
    pending.norms[pair] += sign * norm
    for j in range(len(context)):
        pending.contexts[pair, j] += sign * in_units(context[j])


@lean
def missing_interval(state, pair, direction):
    """The least and the most that the outcomes that are missing may add to the estimate of one number."""
    pending = state.pending
    least = 0.0
    most = 0.0
    if pending.visits[pair] > 0:
        for j in range(len(direction)):
            weight = UNIT * pending.contexts[pair, j]
            least += min(direction[j], 0.0) * weight
            most += max(direction[j], 0.0) * weight
    return least, most


@lean
def missing_weight(state, pair, component):
    """The sum of a component of the contexts of the visits of a pair without an outcome, rounded up."""
    return UNIT * state.pending.contexts[pair, component]


def ridge_of(constants: Any) -> NDArray[np.float64]:
    """[N] the multiple of the identity in the Gram matrix of a pair without data."""
    ridge: NDArray[np.float64] = constants.regularization + np.where(
        constants.model.guessed, constants.model.strength, 0.0
    )
    return ridge


def visited(regression: RegressionSums, ridge: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """[N, d, d] the sums of c c^T, without the ridge, and [N] how far rounding may have moved them."""
    data = regression.gram - ridge[:, None, None] * np.eye(regression.gram.shape[1])
    return data, FILE_SLACK * (regression.visits + ridge)
