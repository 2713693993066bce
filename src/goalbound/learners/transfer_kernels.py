"""Sums that came from another learner: what follows from them, pair by pair (docs/explanation/steps_by_anyone.md)."""

from math import log

from goalbound.confidence.protocol import renew, take_over
from goalbound.confidence.regression import EPS, renew_inverse
from goalbound.jit.compile import lean
from goalbound.learners.state import CHANGE_LOG_SIZE


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
def renew_pairs(constants, state, scratch, ridge, changed):
    """Estimates and radii of the pairs whose sums have ``changed`` [N]; what makes sets tight begins anew.
    O(N d^3 + M d^2). ``ridge`` [N] is the multiple of the identity in the Gram matrix of a pair without data."""
    regression = state.regression
    for pair in range(len(changed)):
        if not changed[pair]:
            continue
        renew_inverse(regression.gram[pair], regression.inverse[pair], ridge[pair], scratch.block)
        state.log_det[pair] = log_det_bound(regression.gram[pair], ridge[pair], scratch.block)
        take_over(constants, state, pair)
        renew(constants, state, scratch, pair)
        state.revision[pair] += 1
    state.totals["changes"] += CHANGE_LOG_SIZE + 1  # nobody's view is up to date
