"""Sums that came from another learner: what follows from them, pair by pair (docs/explanation/steps_by_anyone.md)."""

from math import log

from goalbound.jit.compile import lean
from goalbound.kernels.algorithm import update_estimate
from goalbound.kernels.intervals import variance_log_det_bound
from goalbound.kernels.likelihood_state import begin_pair
from goalbound.kernels.pending import UNIT
from goalbound.kernels.regression import EPS, renew_inverse
from goalbound.kernels.state import CHANGE_LOG_SIZE


@lean
def log_det_bound(gram, ridge, work):
    """An upper bound of log det(V / ridge). O(d^3).

    The pivots of an elimination in floating point are those of V + E, and with entries of E at most 8 (d + 1) EPS times
    the trace, the share e of E in V is at most d times that over the ridge, as V >= ridge I. Up to e = 1/2,
    log det V <= log det(V + E) + 2 d e. Beyond, the trace bounds the determinant: the geometric mean of the eigenvalues
    is at most the arithmetic one. ``work`` [d, d].
    """
    size = len(gram)
    trace = 0.0
    for j in range(size):
        trace += gram[j, j]
    by_trace = size * log(max(trace / (size * ridge), 1.0)) + 1e-9
    share = 8.0 * (size + 1) * EPS * size * trace / ridge
    if not share <= 0.5:
        return by_trace
    for r in range(size):
        for c in range(size):
            work[r, c] = gram[r, c]
    total = 0.0
    for p in range(size):
        if not work[p, p] > 0.0:
            return by_trace
        total += log(work[p, p] / ridge)
        for r in range(p + 1, size):
            factor = work[r, p] / work[p, p]
            for c in range(p + 1, size):
                work[r, c] -= factor * work[p, c]
    return min(max(total, 0.0) + 2.0 * size * share + 4.0 * EPS * abs(total), by_trace)


@lean
def set_quarters(constants, learner, pair, size):
    """Each visit of a pair counts with 1/4, the largest variance of any number in [0, 1]: a quarter of the Gram matrix
    without its ridge. O(m d^2) for m next states."""
    gram = learner.regression.gram[pair]
    for place in range(constants.next_start[pair], constants.next_start[pair + 1]):
        trace = 0.0
        at = 0
        for r in range(size):
            for c in range(r):
                learner.variance[place, at + c] = 0.25 * gram[r, c]
            at += r + 1
            learner.variance[place, at - 1] = 0.25 * max(gram[r, r] - constants.regularization, 0.0)
            trace += learner.variance[place, at - 1]
        learner.variance_log_det[place] = variance_log_det_bound(trace, size, constants.intervals.variance_log)


@lean
def set_forecast_contexts(constants, learner, pair, size):
    """Forecasts regress the sums of all visits on their contexts; as contexts sum to 1, so do the columns of V without
    its ridge to the sum of the contexts."""
    state = learner.likelihood
    begin_pair(state, pair, constants.next_start[pair + 1] - constants.next_start[pair])
    for r in range(size):
        total = -constants.regularization - UNIT * learner.pending.contexts[pair, r]
        for c in range(size):
            total += learner.regression.gram[pair, r, c]
        state.contexts[state.place[pair] - 1, r] = max(total, 0.0)


@lean
def renew_pairs(constants, learner, scratch, ridge, changed):
    """Estimates and radii of the pairs whose sums have ``changed`` [N]; bounds of variances begin anew.
    O(N d^3 + M d^2). ``ridge`` [N] is the multiple of the identity in the Gram matrix of a pair without data."""
    size = learner.losses.shape[1]
    regression = learner.regression
    for pair in range(len(changed)):
        if not changed[pair]:
            continue
        renew_inverse(regression.gram[pair], regression.inverse[pair], ridge[pair], scratch.block)
        learner.log_det[pair] = log_det_bound(regression.gram[pair], ridge[pair], scratch.block)
        if constants.intervals.variance:
            set_quarters(constants, learner, pair, size)
        if constants.likelihood.on:
            set_forecast_contexts(constants, learner, pair, size)
        update_estimate(constants, learner, scratch, pair, size)
        learner.revision[pair] += 1
    learner.totals["changes"] += CHANGE_LOG_SIZE + 1  # nobody's view is up to date
