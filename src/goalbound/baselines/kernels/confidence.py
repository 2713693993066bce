"""What the data of a pair looks like to each method; :mod:`goalbound.baselines.factories` has the sources."""

from math import log, sqrt

from goalbound.baselines.kernels.state import BERNSTEIN, EB, HOEFFDING, UC, ULCVI
from goalbound.jit.compile import lean


@lean
def record(constants, counts, pair, place, loss):
    """Enter a step: its pair, the place of its next state among the M triples, its loss. O(1)."""
    counts.visits[pair] += 1
    counts.loss_sums[pair] += loss
    counts.square_sums[pair] += loss * loss
    following = constants.next_state[place]
    if following == len(constants.pair_start) - 1:
        counts.goals[pair] += 1
        return
    index = counts.seen_index[place]
    if index < 0:
        index = counts.seen[pair]
        counts.seen_index[place] = index
        counts.seen_state[constants.next_start[pair] + index] = following
        counts.seen[pair] += 1
    counts.seen_count[constants.next_start[pair] + index] += 1


@lean
def mean_loss(constants, counts, pair):
    """l^ of a pair that was visited: the mean, or the loss itself where it is known."""
    if constants.losses_are_known:
        return constants.known_losses[pair]
    return counts.loss_sums[pair] / counts.visits[pair]


@lean
def optimistic_loss(constants, counts, pair):
    """The least plausible loss (UC-SSP, Hoeffding-SSP, Bernstein-SSP), what is added included."""
    if constants.losses_are_known:
        return constants.known_losses[pair] + constants.added_loss
    n = float(counts.visits[pair])
    if n == 0.0:
        return constants.floor
    radius = constants.scale * sqrt(log(4.0 * len(constants.pair_state) * n * n / constants.delta) / (2.0 * n))
    return max(constants.floor, min(1.0, mean_loss(constants, counts, pair) - radius) + constants.added_loss)


@lean
def l1_radius(constants, pair, n):
    """The L1 radius of a row after n >= 1 visits (UC-SSP, Hoeffding-SSP)."""
    if constants.method == UC:
        return constants.scale * sqrt(
            8.0 * constants.width[pair] * log(2.0 * constants.actions * n / constants.delta) / n
        )
    return (
        5.0 * constants.scale * sqrt(constants.width[pair] * log(len(constants.pair_state) * n / constants.delta) / n)
    )


@lean
def l1_ball_around_mean(constants, learner, pair):
    """An L1 ball around the empirical row (UC-SSP, Hoeffding-SSP)."""
    counts, sets = learner.counts, learner.main.sets
    n = max(float(counts.visits[pair]), 1.0)
    first = constants.next_start[pair]
    mass = 0.0
    for k in range(first, first + counts.seen[pair]):
        q = counts.seen_count[k] / n
        sets.centre[k] = q
        sets.state[k] = counts.seen_state[k]
        mass += q
    sets.used[pair] = counts.seen[pair]
    sets.mass[pair] = mass
    sets.ball[pair] = 0.5 * l1_radius(constants, pair, n)
    sets.losses[pair] = optimistic_loss(constants, counts, pair)


@lean
def bernstein_row(constants, learner, pair):
    """The most optimistic row, which does not depend on the values (Bernstein-SSP): what is taken goes to the goal."""
    counts, sets = learner.counts, learner.main.sets
    n = max(float(counts.visits[pair]), 1.0)
    a = log(len(constants.pair_state) * n / constants.delta) / n
    first = constants.next_start[pair]
    used = 0
    mass = 0.0
    for k in range(first, first + counts.seen[pair]):
        q = counts.seen_count[k] / n
        q -= constants.scale * (28.0 * a + 4.0 * sqrt(q * a))
        if q > 0.0:
            sets.centre[first + used] = q
            sets.state[first + used] = counts.seen_state[k]
            mass += q * q
            used += 1
    sets.used[pair] = used
    sets.mass[pair] = mass
    sets.losses[pair] = optimistic_loss(constants, counts, pair)


@lean
def empirical_row(constants, learner, pair):
    """The empirical row and loss of a pair that was visited (EB-SSP, ULCVI)."""
    counts, sets = learner.counts, learner.main.sets
    first = constants.next_start[pair]
    n = float(counts.visits[pair])
    for k in range(first, first + counts.seen[pair]):
        sets.centre[k] = counts.seen_count[k] / n
        sets.state[k] = counts.seen_state[k]
    sets.used[pair] = counts.seen[pair]
    sets.losses[pair] = mean_loss(constants, counts, pair) + constants.added_loss


@lean
def set_visgo_bonus(constants, learner, pair):
    """The parts of EB-SSP's bonus that do not depend on the values; the scale is not in them."""
    n = float(learner.counts.visits[pair])
    possible = constants.width[pair] + 1.0
    iota = log(12.0 * len(constants.pair_state) * possible * n * n / constants.delta)
    learner.bonus.rate[pair] = iota / n
    learner.bonus.flat[pair] = 0.0
    if not constants.losses_are_known:
        learner.bonus.flat[pair] = 2.0 * sqrt(2.0) * sqrt(mean_loss(constants, learner.counts, pair) * iota / n)
    learner.bonus.steep[pair] = 2.0 * sqrt(2.0) * sqrt(possible * iota) / n


@lean
def set_stage_bonus(constants, learner, pair):
    """The parts of ULCVI's bonus that do not depend on the values."""
    counts = learner.counts
    n = float(counts.visits[pair])
    stages = float(constants.horizon)
    possible = constants.width[pair] + 1.0
    rate = log(12.0 * len(constants.pair_state) * stages * possible * n * n / constants.delta) / n
    learner.bonus.rate[pair] = rate
    learner.bonus.flat[pair] = 0.0
    if not constants.losses_are_known:
        mean = counts.loss_sums[pair] / n
        spread = max(counts.square_sums[pair] / n - mean * mean, 0.0)
        learner.bonus.flat[pair] = constants.scale * (sqrt(2.0 * spread * rate) + 5.0 * rate)
    learner.bonus.steep[pair] = constants.scale * 62.0 * stages * stages * stages * constants.width[pair] * rate


@lean
def update_pair(constants, learner, pair):
    """Bring what the plans use of a pair up to its data. O(the next states seen)."""
    visited = learner.counts.visits[pair] > 0
    if constants.method == UC or constants.method == HOEFFDING:
        l1_ball_around_mean(constants, learner, pair)
    elif constants.method == BERNSTEIN:
        bernstein_row(constants, learner, pair)
    elif constants.method == EB and visited:
        empirical_row(constants, learner, pair)
        set_visgo_bonus(constants, learner, pair)
    elif constants.method == ULCVI and visited:
        empirical_row(constants, learner, pair)
        set_stage_bonus(constants, learner, pair)
    learner.visits_used[pair] = learner.counts.visits[pair]
