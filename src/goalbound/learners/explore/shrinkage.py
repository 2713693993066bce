"""LOCAL: how noisy losses are, and how much an estimated loss above the mean of all is drawn to it.

The mean loss of a pair that was played n times has the noise s^2 / n around its expectation, and the expectations of
the pairs have a variance t^2 around their mean. The best linear guess of an expectation draws the mean of the pair to
the mean of all, as if s^2 / t^2 more visits had cost just that. Both variances are estimated from all visits, by
moments (DerSimonian and Laird, 1986): with N visits of P pairs, n of one, and Q the sum of n (its mean - mean)^2,

    s^2 = (sum of squared losses - sum of n (its mean)^2) / (N - P),
    t^2 = (Q - (P - 1) s^2) / (N - sum of n^2 / N).

So where losses have no noise nothing is drawn, and where all pairs cost the same, an unlucky few decide little. Losses
below the mean are left as they are: what was hardly seen shall look cheap, or nobody would try it.

A loss with the mean q that is 0 or 1 has the variance q (1 - q); any other in [0, 1] has less. The *dispersion* is the
share of it that is there (as in quasi-binomial models): the sum of squares within pairs over what it would be,

    (sum of squared losses - sum of n (its mean)^2) / (sum of losses - sum of n (its mean)^2).

It is 1 for losses of 0 or 1, whatever came, and 0 for losses without noise, of which one visit says all.
"""

from goalbound.jit.compile import lean
from goalbound.learners.visits import visits_with_outcome

MOST_SHRINKAGE = 16.0
"""No more visits than this are put in at the mean loss."""
DISPERSION_ROUNDING = 1e-9
"""What is so near to 1 is 1: sums of contexts are 1 up to rounding."""


@lean
def losses_of_visits(constants, state, pair):
    """The losses of a pair that came so far, all together: without those of a guess. O(d)."""
    total = 0.0
    size = state.regression.loss_sums.shape[1]
    for j in range(size):
        total += state.regression.loss_sums[pair, j]
    if constants.model.guessed[pair]:
        weight = constants.pooling.mean + constants.model.strength[pair]
        for j in range(size):
            total -= weight * constants.model.losses[pair, j]
    return total


@lean
def set_loss_shrinkage(constants, state, progress):
    """Write to ``view.explore.progress`` of an episode what it begins with. O(N d).

    ``own_share``: of all steps those of one's own episodes; what others have tried (a log, steps that were overridden)
    needs no more trying. ``mean_loss``: that of all steps; ``shrinkage``: the visits that are put in at it, s^2 / t^2
    times that share. ``dispersion``: 1 until a pair was visited twice.
    """
    visits = 0
    played = 0
    squares = 0.0
    total = 0.0
    explained = 0.0
    for pair in range(len(state.regression.visits)):
        count = visits_with_outcome(state, pair)
        if count > 0:
            lost = losses_of_visits(constants, state, pair)
            visits += count
            played += 1
            squares += float(count) * float(count)
            total += lost
            explained += lost * lost / count
    own_share = 1.0
    mean = 0.0
    shrinkage = MOST_SHRINKAGE
    dispersion = 1.0
    if visits > 0:
        own_share = max(1.0 - state.totals["logged"] / visits, 0.0)
        mean = total / visits
    within = max(state.totals["squared_losses"] - explained, 0.0)
    if visits > played and within < (1.0 - DISPERSION_ROUNDING) * (total - explained):
        dispersion = within / (total - explained)
    if visits > played and played > 1:
        noise = within / (visits - played)
        between = max(explained - total * mean - (played - 1) * noise, 0.0) / (visits - squares / visits)
        if between * shrinkage > noise:
            shrinkage = noise / between
    progress["own_share"] = own_share
    progress["mean_loss"] = mean
    progress["shrinkage"] = own_share * shrinkage
    progress["dispersion"] = dispersion
