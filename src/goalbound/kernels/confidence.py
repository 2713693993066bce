"""The confidence set of a pair under a context: its most optimistic loss, and the rows that are plausible."""

from math import log, sqrt

import numpy as np

from goalbound.jit.compile import lean
from goalbound.kernels.interchangeable import fill_row, filled_loss
from goalbound.kernels.intervals import certain_row, loss_interval, row_intervals, vacuous_row
from goalbound.kernels.likelihood import intersect_loss, intersect_row
from goalbound.kernels.regression import dot, solve_context
from goalbound.kernels.state import LOCAL, OPTIMISTIC, POSTERIOR, RMAX
from goalbound.kernels.stochastic_rows import NO_GOAL, TO_BEST, cannot_reach_goal, min_with_free_mass
from goalbound.kernels.value_iteration import INTERVAL_SET

LEAST_VARIANCE = 0.04
"""Added to the estimated variance of an outcome, where draws are by the variance."""
LEAST_LOCAL_VARIANCE = 0.01
"""LOCAL: the same of the value of the next state, in units of the squared range of the values that may follow."""
OPTIMISTIC_DEVIATIONS = 1.5
"""Optimistic plans of POSTERIOR: so many standard deviations are taken from the estimate of a loss."""
OPTIMISTIC_RADIUS = 0.7
"""Optimistic plans of POSTERIOR: the radius of the ball of a row is this times the squared norm of the context."""


@lean
def estimated_row(constants, learner, episode, pair):
    """The estimated row of a pair under the context of the episode, by seen index. O(count d)."""
    sets = episode.sets
    first = constants.next_start[pair]
    count = learner.regression.seen[pair]
    mass = 0.0
    for k in range(first, first + count):
        q = 0.0
        for j in range(len(episode.context)):
            q += learner.rows[k, j] * episode.context[j]
        sets.centre[k] = q
        sets.state[k] = learner.regression.seen_state[k]
        mass += q * q
    sets.used[pair] = count
    sets.mass[pair] = NO_GOAL if cannot_reach_goal(constants, pair) else mass


@lean
def deviation(constants, spread, estimate, norm):
    """``spread`` standard deviations of an estimate; the norm is that of the context in V^-1.

    By the variance: that of an outcome with this mean, and of the mean itself while little was seen of it.
    """
    if not constants.spread_by_variance:
        return spread * norm
    mean = min(max(estimate, 0.0), 1.0)
    return spread * norm * sqrt(mean * (1.0 - mean) + norm * norm + LEAST_VARIANCE)


@lean
def bonus_visits(episode, planned):
    """LOCAL: the visits that the bonus of a pair grows with, in a state whose pair of the plan is ``planned``: those of
    that pair, 1 / w^2 of them for contexts like this one, but no more than there were episodes."""
    norm = episode.norm[planned]
    return min(1.0 / (norm * norm), float(episode.progress["number"]))


@lean
def value_range(constants, episode, pair):
    """How far the values of the states that may follow a pair are apart, by the plan of the episode."""
    least = np.inf
    most = 0.0
    for k in range(constants.next_start[pair], constants.next_start[pair + 1]):
        value = episode.iteration.values[constants.next_state[k]]
        least = min(least, value)
        most = max(most, value)
    return most - least


@lean
def optimistic_worth(constants, episode, pair, visits):
    """LOCAL: the backup of a pair at the values of the plan, less the bonus of its estimate. O(m).

    The variance of an outcome is that of the loss, by the dispersion of all losses, and that of the value of the next
    state. While little was seen the latter has w^2 of the squared range of the values that may follow: where all next
    states are alike, there is nothing to find out. What is known has no variance. The bonus grows with the logarithm of
    ``visits`` over those of the pair itself, 1 / w^2, so that no pair is given up for ever. Of it counts the share of
    steps that were one's own: after a log it is nothing at first.
    """
    sets = episode.sets
    loss = sets.losses[pair]
    mean = 0.0
    square = 0.0
    for k in range(sets.next_start[pair], sets.next_start[pair] + sets.used[pair]):
        value = episode.iteration.values[sets.state[k]]
        mean += sets.centre[k] * value
        square += sets.centre[k] * value * value
    if sets.mass[pair] == TO_BEST:
        _, best = min_with_free_mass(sets, pair, episode.iteration.values)
        value = episode.iteration.values[sets.state[sets.next_start[pair] + best]]
        mean += sets.ball[pair] * value
        square += sets.ball[pair] * value * value
    norm = episode.norm[pair]
    variance = 0.0
    if not constants.prior.loss_known[pair]:
        variance += episode.progress["dispersion"] * min(loss, 1.0) * (1.0 - min(loss, 1.0))
    if not constants.prior.row_known[pair]:
        apart = value_range(constants, episode, pair)
        variance += max(square - mean * mean, 0.0) + apart * apart * (norm * norm + LEAST_LOCAL_VARIANCE)
    reach = log(1.0 + visits * norm * norm)
    return loss + mean - episode.progress["own_share"] * constants.spread * norm * sqrt(reach * variance)


@lean
def sample_row(constants, learner, episode, pair, norm):
    """A draw of the row of a pair: the estimate plus noise, projected on the sub-simplex, or on the simplex where the
    goal cannot follow. O(m d) for m next states.

    Next states that were never seen may get mass too, so all of the support is in use.
    """
    sets = episode.sets
    goal = len(constants.pair_start) - 1
    first = constants.next_start[pair]
    count = 0
    for place in range(first, constants.next_start[pair + 1]):
        if constants.next_state[place] == goal:
            continue
        index = learner.regression.seen_index[place]
        estimate = dot(learner.rows[first + index], episode.context) if index >= 0 else 0.0
        q = deviation(constants, constants.spread, estimate, norm) * episode.noise[place]
        if index >= 0:
            for j in range(len(episode.context)):
                q += learner.rows[first + index, j] * episode.context[j]
        sets.centre[first + count] = q
        sets.state[first + count] = constants.next_state[place]
        count += 1
    stochastic = cannot_reach_goal(constants, pair)
    to_simplex(sets.centre[first : first + count], stochastic)
    mass = 0.0
    for k in range(first, first + count):
        mass += sets.centre[k] * sets.centre[k]
    sets.used[pair] = count
    sets.mass[pair] = NO_GOAL if stochastic else mass


@lean
def to_simplex(row, stochastic):
    """The nearest row, in the Euclidean norm, of numbers that are not negative and sum to at most 1, or to 1
    (``stochastic``); in place.

    It is max(0, q - t): t = 0 if that may be and sums to at most 1, else the t that makes it 1, which rises to its
    place in finitely many steps from below.
    """
    if stochastic and len(row) == 1:
        row[0] = 1.0
        return
    t = -np.inf if stochastic else 0.0
    while True:
        total = 0.0
        count = 0
        for k in range(len(row)):
            if row[k] > t:
                total += row[k]
                count += 1
        following = (total - 1.0) / count if count > 0 else 0.0
        if not following > t:  # nor where an entry is no number
            break
        t = following
    for k in range(len(row)):
        row[k] = max(row[k] - t, 0.0)


@lean
def l1_width(inverse, context):
    """The sum of |V^-1 c|."""
    total = 0.0
    for r in range(len(context)):
        part = 0.0
        for c in range(len(context)):
            part += inverse[r, c] * context[c]
        total += abs(part)
    return total


@lean
def known_loss(constants, episode, pair):
    """A loss that is known."""
    loss = 0.0
    for j in range(len(episode.context)):
        loss += constants.prior.losses[pair, j] * episode.context[j]
    return min(loss, 1.0)


@lean
def known_row(constants, episode, pair):
    """A row that is known, in the order of the support; in intervals of no length, or as a point estimate."""
    sets = episode.sets
    goal = len(constants.pair_start) - 1
    first = constants.next_start[pair]
    count = 0
    mass = 0.0
    for place in range(first, constants.next_start[pair + 1]):
        if constants.next_state[place] == goal and sets.shape != INTERVAL_SET:
            continue
        q = 0.0
        for j in range(len(episode.context)):
            q += constants.prior.rows[place, j] * episode.context[j]
        sets.state[first + count] = constants.next_state[place]
        if sets.shape == INTERVAL_SET:
            sets.low[first + count] = q
            sets.high[first + count] = q
        else:
            sets.centre[first + count] = q
            mass += q * q
        count += 1
    sets.used[pair] = count
    sets.mass[pair] = NO_GOAL if cannot_reach_goal(constants, pair) else mass
    sets.ball[pair] = 0.0


@lean
def loss_bounds(constants, learner, episode, pair, slack):
    """The least and the largest plausible loss of a pair, without what is added."""
    if constants.prior.loss_known[pair]:
        loss = known_loss(constants, episode, pair)
        return loss, loss
    if learner.regression.visits[pair] == 0:
        return 0.0, 1.0
    low, high = loss_interval(constants, learner, episode, pair, slack)
    if constants.likelihood.on:
        low, high = intersect_loss(constants, learner, episode.context, pair, low, high)
    return low, high


@lean
def row_bounds(constants, learner, episode, pair, slack, spread):
    """The plausible rows of a pair; returns the lengths of its intervals in all."""
    if constants.prior.row_known[pair]:
        known_row(constants, episode, pair)
        return 0.0
    if constants.next_start[pair + 1] - constants.next_start[pair] == 1:
        certain_row(constants, episode, pair)
        return 0.0
    if learner.regression.visits[pair] == 0:
        return vacuous_row(constants, episode, pair)
    sides = row_intervals(constants, learner, episode, pair, slack, spread)
    if constants.likelihood.on:
        sides = intersect_row(constants, learner, episode, pair, sides)
    return sides


@lean
def pair_intervals(constants, learner, episode, pair, slack, spread):
    """:func:`pair_set` where rows are in intervals. O(m d^2) with bounds by the variance, else O(m d + d^2).

    Two members of the set are no further apart, in the L1 norm, than the sum of the lengths: half of that is the width
    of the known test, or half the length of the interval of the losses if that is more.
    """
    low, high = loss_bounds(constants, learner, episode, pair, slack)
    episode.sets.losses[pair] = max(constants.prior.floor[pair], low + constants.added_loss)
    episode.loss_high[pair] = max(constants.prior.floor[pair], high + constants.added_loss)
    sides = row_bounds(constants, learner, episode, pair, slack, spread)
    episode.known_width[pair] = 0.5 * max(sides, high - low)


@lean
def pair_loss(constants, learner, episode, pair, norm):
    """The loss of a pair by the way of exploring.

    The true loss lies in [loss floor, 1], so clipping keeps the guarantee. Departs from the paper: it does not clip.
    """
    if constants.prior.loss_known[pair]:
        return max(constants.prior.floor[pair], known_loss(constants, episode, pair) + constants.added_loss)
    loss = 0.0
    for j in range(len(episode.context)):
        loss += learner.losses[pair, j] * episode.context[j]
    if constants.exploration == OPTIMISTIC:
        loss -= learner.loss_radius[pair] * norm
    elif constants.interchangeable.on and constants.interchangeable.pairs[pair]:
        loss = filled_loss(constants, learner, episode, pair, loss)
    elif constants.exploration == LOCAL and not (constants.model.on and constants.model.guessed[pair]):
        weight = episode.progress["shrinkage"] * norm * norm
        loss = min(loss, (loss + weight * episode.progress["mean_loss"]) / (1.0 + weight))
    elif constants.exploration == POSTERIOR and episode.progress["optimistic"] == 1:
        loss -= deviation(constants, OPTIMISTIC_DEVIATIONS, loss, norm)
    elif constants.exploration == POSTERIOR:
        noise = episode.noise[len(constants.next_state) + pair]
        loss += deviation(constants, constants.spread, loss, norm) * noise
    return max(constants.prior.floor[pair], min(1.0, loss) + constants.added_loss)


@lean
def pair_row(constants, learner, episode, pair, norm):
    """The row of a pair by the way of exploring."""
    sets = episode.sets
    if constants.prior.row_known[pair]:
        known_row(constants, episode, pair)
        if constants.prior.loss_known[pair]:
            episode.known_width[pair] = 0.0
        elif constants.exploration == RMAX:
            episode.known_width[pair] = l1_width(learner.regression.inverse[pair], episode.context)
        else:
            episode.known_width[pair] = learner.loss_radius[pair] * norm
        return
    if constants.exploration == POSTERIOR:
        if episode.progress["optimistic"] == 1:
            radius = OPTIMISTIC_RADIUS * norm * norm
            sets.ball[pair] = radius * radius
            estimated_row(constants, learner, episode, pair)
        else:
            sets.ball[pair] = 0.0
            sample_row(constants, learner, episode, pair, norm)
        return
    radius = learner.next_radius[pair] * norm if constants.exploration == OPTIMISTIC else 0.0
    sets.ball[pair] = radius * radius
    episode.known_width[pair] = learner.known_width[pair] * norm
    estimated_row(constants, learner, episode, pair)
    if constants.interchangeable.on and constants.interchangeable.pairs[pair]:
        fill_row(constants, learner, episode, pair, norm)
    if constants.exploration == RMAX:
        episode.known_width[pair] = l1_width(learner.regression.inverse[pair], episode.context)
        if episode.known_width[pair] > constants.threshold:
            sets.used[pair] = 0
            sets.mass[pair] = 0.0
            sets.losses[pair] = constants.prior.floor[pair]


@lean
def pair_set(constants, learner, episode, pair):
    """The plausible losses and rows of a pair under the context of the episode. O(count d + d^2)."""
    episode.revision[pair] = learner.revision[pair]
    episode.log_det[pair] = learner.log_det[pair]
    episode.iteration.backup[pair] = -np.inf
    norm, slack, spread = solve_context(
        learner.regression.gram[pair], learner.regression.inverse[pair], episode.context, constants.regularization,
        episode.direction, episode.residual,
    )  # fmt: skip
    episode.norm[pair] = norm
    if constants.intervals.on:
        pair_intervals(constants, learner, episode, pair, slack, spread)
    else:
        episode.sets.losses[pair] = pair_loss(constants, learner, episode, pair, norm)
        pair_row(constants, learner, episode, pair, norm)
