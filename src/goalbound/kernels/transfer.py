"""Data that was carried over to another learner: what follows from its sums, pair by pair."""

from goalbound.jit.compile import lean
from goalbound.kernels.algorithm import update_estimate
from goalbound.kernels.intervals import variance_log_det_bound
from goalbound.kernels.likelihood import FIRST_VISITS, bound_pair
from goalbound.kernels.merge import log_det_bound
from goalbound.kernels.regression import renew_inverse
from goalbound.kernels.state import CHANGE_LOG_SIZE


@lean
def set_variance_log_det(constants, learner, pair):
    """The levels of the bounds by the variance, from the sums of variances. O(m d) for m next states."""
    size = learner.losses.shape[1]
    for place in range(constants.next_start[pair], constants.next_start[pair + 1]):
        trace = 0.0
        for j in range(size):
            trace += learner.variance[place, j * (j + 3) // 2]
        learner.variance_log_det[place] = variance_log_det_bound(
            trace, size, constants.intervals.variance_log + learner.totals["restart_log"]
        )


@lean
def refresh_pairs(constants, learner, scratch, ridge, changed):
    """Estimates, radii and levels from sums that were put in from outside. O(N d^3 + M d^2).

    Bounds of likelihood-ratio sets that were put in too are kept where ``bounded`` says so, and are computed else.
    ``ridge`` [N] is the multiple of the identity in the Gram matrix of a pair that has no data. Where it has
    ``changed`` [N], so have the inverse and the log-determinant, of which ``log_det`` holds an upper bound already.
    """
    size = learner.losses.shape[1]
    regression = learner.regression
    for pair in range(len(regression.visits)):
        if constants.intervals.variance:
            set_variance_log_det(constants, learner, pair)
        if changed[pair]:
            renew_inverse(regression.gram[pair], regression.inverse[pair], ridge[pair], scratch.block)
            learner.log_det[pair] = min(
                learner.log_det[pair], log_det_bound(regression.gram[pair], ridge[pair], scratch.block)
            )
        if regression.visits[pair] > 0:
            update_estimate(constants, learner, scratch, pair, size)
        seen = constants.likelihood.on and learner.likelihood.visits[pair] >= FIRST_VISITS
        if seen and learner.likelihood.bounded[pair] == 0:
            bound_pair(constants, learner, pair)
        learner.revision[pair] += 1
    learner.totals["changes"] += CHANGE_LOG_SIZE + 1  # nobody's view is up to date
