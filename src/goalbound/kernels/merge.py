"""The data of two learners as that of one: sums over disjoint steps add up (docs/explanation/steps_by_anyone.md)."""

from math import log

import numpy as np

from goalbound.jit.compile import lean
from goalbound.kernels.algorithm import update_estimate
from goalbound.kernels.intervals import variance_log_det_bound
from goalbound.kernels.likelihood import merge_likelihood
from goalbound.kernels.linearity_test import NO_EPISODE
from goalbound.kernels.model_prior import subtract_model
from goalbound.kernels.regression import EPS, add, renew_inverse
from goalbound.kernels.state import CHANGE_LOG_SIZE


@lean
def merge_vector(sums, low, theirs, theirs_low):
    """``sums += theirs``, both compensated."""
    for j in range(len(sums)):
        add(sums, low, j, theirs[j])
        add(sums, low, j, theirs_low[j])


@lean
def log_det_bound(gram, regularization, work):
    """An upper bound of log det(V / lambda), or infinity where rounding leaves none. O(d^3).

    The pivots of an elimination in floating point are those of V + E, and with entries of E at most 8 (d + 1) EPS times
    the trace, the share e of E in V is at most d times that over lambda, as V >= lambda I. Up to e = 1/2,
    log det V <= log det(V + E) + 2 d e. ``work`` [d, d].
    """
    size = len(gram)
    trace = 0.0
    for j in range(size):
        trace += gram[j, j]
    share = 8.0 * (size + 1) * EPS * size * trace / regularization
    if not share <= 0.5:
        return np.inf
    for r in range(size):
        for c in range(size):
            work[r, c] = gram[r, c]
    total = 0.0
    for p in range(size):
        if not work[p, p] > 0.0:
            return np.inf
        total += log(work[p, p] / regularization)
        for r in range(p + 1, size):
            factor = work[r, p] / work[p, p]
            for c in range(p + 1, size):
                work[r, c] -= factor * work[p, c]
    return max(total, 0.0) + 2.0 * size * share + 4.0 * EPS * abs(total)


@lean
def merge_regression(constants, learner, other, scratch, pair):
    """The Gram matrix and the sums of a pair. Next states are matched by their place in the support."""
    regression, theirs = learner.regression, other.regression
    size = learner.losses.shape[1]
    for r in range(size):
        add(regression.gram[pair, r], regression.gram_low[pair, r], r, -constants.regularization)
        merge_vector(
            regression.gram[pair, r], regression.gram_low[pair, r], theirs.gram[pair, r], theirs.gram_low[pair, r]
        )
    regression.visits[pair] += theirs.visits[pair]
    merge_vector(
        regression.loss_sums[pair], regression.loss_low[pair], theirs.loss_sums[pair], theirs.loss_low[pair]
    )  # fmt: skip
    merge_vector(
        regression.goal_sums[pair], regression.goal_low[pair], theirs.goal_sums[pair], theirs.goal_low[pair]
    )  # fmt: skip
    first = constants.next_start[pair]
    for place in range(first, constants.next_start[pair + 1]):
        index = theirs.seen_index[place]
        if index < 0:
            continue
        mine = regression.seen_index[place]
        if mine < 0:
            mine = regression.seen[pair]
            regression.seen[pair] += 1
            regression.seen_index[place] = mine
            regression.seen_state[first + mine] = constants.next_state[place]
        merge_vector(
            regression.next_sums[first + mine], regression.next_low[first + mine], theirs.next_sums[first + index],
            theirs.next_low[first + index],
        )  # fmt: skip
    subtract_model(constants, regression, pair)
    renew_inverse(regression.gram[pair], regression.inverse[pair], constants.regularization, scratch.block)


@lean
def merge_variance(constants, learner, other, pair):
    """The bounds of the variance of each visit were made before it, by whoever learned from it."""
    size = learner.losses.shape[1]
    for place in range(constants.next_start[pair], constants.next_start[pair + 1]):
        trace = 0.0
        at = 0
        for r in range(size):
            for c in range(r + 1):
                learner.variance[place, at + c] += other.variance[place, at + c]
            at += r + 1
            trace += learner.variance[place, at - 1]
        learner.variance_log_det[place] = variance_log_det_bound(
            trace, size, constants.intervals.variance_log + learner.totals["restart_log"]
        )


@lean
def merge_linearity(constants, learner, other, pair):
    """The sums of outcomes against the intervals of before."""
    mine, theirs = learner.linearity, other.linearity
    for part in range(mine.steps.shape[1]):
        mine.steps[pair, part] += theirs.steps[pair, part]
        for k in range(3):
            mine.losses[pair, part, k] += theirs.losses[pair, part, k]
        for place in range(constants.next_start[pair], constants.next_start[pair + 1]):
            mine.rows[place, part, 0] += theirs.rows[place, part, 0]
            mine.rows[place, part, 1] += theirs.rows[place, part, 1]


@lean
def merge_violation(learner, other):
    """The first contradiction: one's own, or else that of the other, whose episodes come after one's own."""
    mine, theirs = learner.linearity.violation, other.linearity.violation
    if mine["found"] == 1 or theirs["found"] == 0:
        return
    mine["found"] = 1
    mine["pair"] = theirs["pair"]
    mine["place"] = theirs["place"]
    mine["part"] = theirs["part"]
    before = learner.totals["episodes"] if theirs["episode"] != NO_EPISODE else 0
    mine["episode"] = theirs["episode"] + before


@lean
def merge_pairs(constants, learner, other, scratch):
    """Add what another learner has seen of all pairs.

    Determinants do not add up: the log-determinant of a sum is at most the sum of both, and at most what its Gram
    matrix says.
    """
    size = learner.losses.shape[1]
    for pair in range(len(learner.regression.visits)):
        if other.regression.visits[pair] == 0:
            continue
        merge_regression(constants, learner, other, scratch, pair)
        learner.pending.visits[pair] += other.pending.visits[pair]
        learner.pending.norms[pair] += other.pending.norms[pair]  # of smaller Gram matrices, so upper bounds
        for j in range(size):
            learner.pending.contexts[pair, j] += other.pending.contexts[pair, j]
        learner.log_det[pair] = min(
            (learner.log_det[pair] + other.log_det[pair]) * (1.0 + EPS),
            log_det_bound(learner.regression.gram[pair], constants.regularization, scratch.block),
        )
        if constants.intervals.variance:
            merge_variance(constants, learner, other, pair)
        if constants.likelihood.on:
            merge_likelihood(constants, learner, other, pair)
        if constants.tests_linearity:
            merge_linearity(constants, learner, other, pair)
        update_estimate(constants, learner, scratch, pair, size)
        learner.revision[pair] += 1


@lean
def merge(constants, learner, other, scratch):
    """Add all that another learner of the same settings has seen. O(N d^3 + M d^2)."""
    merge_pairs(constants, learner, other, scratch)
    learner.totals["changes"] += CHANGE_LOG_SIZE + 1  # nobody's view is up to date
    merge_violation(learner, other)
    mine, theirs = learner.totals, other.totals
    mine["intervals"] += theirs["intervals"]
    mine["episodes"] += theirs["episodes"]
    mine["logged"] += theirs["logged"]
    mine["squared_losses"] += theirs["squared_losses"]
    mine["failed_projections"] += theirs["failed_projections"]
    mine["loss_bound"] = max(mine["loss_bound"], theirs["loss_bound"])
    mine["doublings"] = max(mine["doublings"], theirs["doublings"])
