"""What the data of a pair looks like to each method. Formulas and sources: :mod:`goalbound.learners.tabular.method`."""

from math import log, sqrt

from goalbound.kernels.jit import inlined, lean
from goalbound.kernels.tabular.layout import BERNSTEIN, EB, HOEFFDING, UC, ULCVI


@inlined
def record(rules, counts, pair, place, loss):
    """Enter a step: its pair, the place of its next state among the M triples, its loss. O(1)."""
    counts.visits[pair] += 1
    counts.loss_sums[pair] += loss
    counts.square_sums[pair] += loss * loss
    following = rules.next_state[place]
    if following == len(rules.pair_start) - 1:
        counts.goals[pair] += 1
        return
    slot = counts.slot[place]
    if slot < 0:
        slot = counts.seen[pair]
        counts.slot[place] = slot
        counts.slot_state[rules.next_start[pair] + slot] = following
        counts.seen[pair] += 1
    counts.slot_count[rules.next_start[pair] + slot] += 1


@inlined
def mean_loss(rules, counts, pair):
    """l^ of a pair that was visited: the mean, or the loss itself where it is known."""
    if rules.losses_are_known:
        return rules.known_losses[pair]
    return counts.loss_sums[pair] / counts.visits[pair]


@inlined
def hopeful_loss(rules, counts, pair):
    """The least plausible loss (UC-SSP, Hoeffding-SSP, Bernstein-SSP), what is added included."""
    if rules.losses_are_known:
        return rules.known_losses[pair] + rules.added_loss
    n = float(counts.visits[pair])
    if n == 0.0:
        return rules.floor
    radius = rules.scale * sqrt(log(4.0 * len(rules.pair_state) * n * n / rules.delta) / (2.0 * n))
    return max(rules.floor, min(1.0, mean_loss(rules, counts, pair) - radius) + rules.added_loss)


@inlined
def take_radius(rules, pair, n):
    """The L1 radius of a row after n >= 1 visits (UC-SSP, Hoeffding-SSP)."""
    if rules.method == UC:
        return rules.scale * sqrt(8.0 * rules.width[pair] * log(2.0 * rules.actions * n / rules.delta) / n)
    return 5.0 * rules.scale * sqrt(rules.width[pair] * log(len(rules.pair_state) * n / rules.delta) / n)


@inlined
def look_around(rules, learned, pair):
    """An L1 ball around the empirical row (UC-SSP, Hoeffding-SSP)."""
    counts, plausible = learned.counts, learned.main.plausible
    n = max(float(counts.visits[pair]), 1.0)
    first = rules.next_start[pair]
    mass = 0.0
    for k in range(first, first + counts.seen[pair]):
        q = counts.slot_count[k] / n
        plausible.centre[k] = q
        plausible.state[k] = counts.slot_state[k]
        mass += q
    plausible.used[pair] = counts.seen[pair]
    plausible.mass[pair] = mass
    plausible.ball[pair] = 0.5 * take_radius(rules, pair, n)
    plausible.losses[pair] = hopeful_loss(rules, counts, pair)


@inlined
def look_below(rules, learned, pair):
    """The most hopeful row, which does not depend on the values (Bernstein-SSP): what is taken goes to the goal."""
    counts, plausible = learned.counts, learned.main.plausible
    n = max(float(counts.visits[pair]), 1.0)
    a = log(len(rules.pair_state) * n / rules.delta) / n
    first = rules.next_start[pair]
    used = 0
    mass = 0.0
    for k in range(first, first + counts.seen[pair]):
        q = counts.slot_count[k] / n
        q -= rules.scale * (28.0 * a + 4.0 * sqrt(q * a))
        if q > 0.0:
            plausible.centre[first + used] = q
            plausible.state[first + used] = counts.slot_state[k]
            mass += q * q
            used += 1
    plausible.used[pair] = used
    plausible.mass[pair] = mass
    plausible.losses[pair] = hopeful_loss(rules, counts, pair)


@inlined
def look_at_row(rules, learned, pair):
    """The empirical row and loss of a pair that was visited (EB-SSP, ULCVI)."""
    counts, plausible = learned.counts, learned.main.plausible
    first = rules.next_start[pair]
    n = float(counts.visits[pair])
    for k in range(first, first + counts.seen[pair]):
        plausible.centre[k] = counts.slot_count[k] / n
        plausible.state[k] = counts.slot_state[k]
    plausible.used[pair] = counts.seen[pair]
    plausible.losses[pair] = mean_loss(rules, counts, pair) + rules.added_loss


@inlined
def set_visgo_bonus(rules, learned, pair):
    """The parts of EB-SSP's bonus that do not depend on the values; the scale is not in them."""
    n = float(learned.counts.visits[pair])
    possible = rules.width[pair] + 1.0
    iota = log(12.0 * len(rules.pair_state) * possible * n * n / rules.delta)
    learned.bonus.rate[pair] = iota / n
    learned.bonus.flat[pair] = 0.0
    if not rules.losses_are_known:
        learned.bonus.flat[pair] = 2.0 * sqrt(2.0) * sqrt(mean_loss(rules, learned.counts, pair) * iota / n)
    learned.bonus.steep[pair] = 2.0 * sqrt(2.0) * sqrt(possible * iota) / n


@inlined
def set_stage_bonus(rules, learned, pair):
    """The parts of ULCVI's bonus that do not depend on the values."""
    counts = learned.counts
    n = float(counts.visits[pair])
    stages = float(rules.horizon)
    possible = rules.width[pair] + 1.0
    rate = log(12.0 * len(rules.pair_state) * stages * possible * n * n / rules.delta) / n
    learned.bonus.rate[pair] = rate
    learned.bonus.flat[pair] = 0.0
    if not rules.losses_are_known:
        mean = counts.loss_sums[pair] / n
        spread = max(counts.square_sums[pair] / n - mean * mean, 0.0)
        learned.bonus.flat[pair] = rules.scale * (sqrt(2.0 * spread * rate) + 5.0 * rate)
    learned.bonus.steep[pair] = rules.scale * 62.0 * stages * stages * stages * rules.width[pair] * rate


@lean
def look_at(rules, learned, pair):
    """Bring what the plans use of a pair up to its data. O(the next states seen)."""
    visited = learned.counts.visits[pair] > 0
    if rules.method == UC or rules.method == HOEFFDING:
        look_around(rules, learned, pair)
    elif rules.method == BERNSTEIN:
        look_below(rules, learned, pair)
    elif rules.method == EB and visited:
        look_at_row(rules, learned, pair)
        set_visgo_bonus(rules, learned, pair)
    elif rules.method == ULCVI and visited:
        look_at_row(rules, learned, pair)
        set_stage_bonus(rules, learned, pair)
    learned.looked[pair] = learned.counts.visits[pair]
