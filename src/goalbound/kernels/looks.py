"""How a pair looks under a context: its most hopeful loss, and the rows that are plausible."""

import numpy as np

from goalbound.kernels.boxes import box_loss, box_row, certain_row, open_row
from goalbound.kernels.gram import solve_context
from goalbound.kernels.jit import inlined, lean
from goalbound.kernels.learned import HOPE, RMAX, SAMPLE
from goalbound.kernels.optimism import BOX
from goalbound.kernels.stochastic_rows import NO_GOAL, cannot_reach_goal


@inlined
def mix_row(rules, learned, view, pair):
    """The estimated row of a pair under the context of the view, by slot. O(count d)."""
    plausible = view.plausible
    first = rules.next_start[pair]
    count = learned.memory.seen[pair]
    mass = 0.0
    for k in range(first, first + count):
        q = 0.0
        for j in range(len(view.context)):
            q += learned.rows[k, j] * view.context[j]
        plausible.centre[k] = q
        plausible.state[k] = learned.memory.slot_state[k]
        mass += q * q
    plausible.used[pair] = count
    plausible.mass[pair] = NO_GOAL if cannot_reach_goal(rules, pair) else mass


@lean
def sample_row(rules, learned, view, pair, deviation):
    """A draw of the row of a pair: the estimate plus noise, projected on the sub-simplex, or on the simplex where the
    goal cannot follow. O(m d) for m next states.

    Next states that were never seen may get mass too, so all of the support is in use.
    """
    plausible = view.plausible
    goal = len(rules.pair_start) - 1
    first = rules.next_start[pair]
    count = 0
    for place in range(first, rules.next_start[pair + 1]):
        if rules.next_state[place] == goal:
            continue
        q = deviation * view.noise[place]
        slot = learned.memory.slot[place]
        if slot >= 0:
            for j in range(len(view.context)):
                q += learned.rows[first + slot, j] * view.context[j]
        plausible.centre[first + count] = q
        plausible.state[first + count] = rules.next_state[place]
        count += 1
    stochastic = cannot_reach_goal(rules, pair)
    to_simplex(plausible.centre[first : first + count], stochastic)
    mass = 0.0
    for k in range(first, first + count):
        mass += plausible.centre[k] * plausible.centre[k]
    plausible.used[pair] = count
    plausible.mass[pair] = NO_GOAL if stochastic else mass


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
        if following <= t:
            break
        t = following
    for k in range(len(row)):
        row[k] = max(row[k] - t, 0.0)


@inlined
def weight_of(inverse, context):
    """The sum of |V^-1 c|."""
    total = 0.0
    for r in range(len(context)):
        part = 0.0
        for c in range(len(context)):
            part += inverse[r, c] * context[c]
        total += abs(part)
    return total


@inlined
def told_loss(rules, view, pair):
    """A loss that is known."""
    loss = 0.0
    for j in range(len(view.context)):
        loss += rules.told.losses[pair, j] * view.context[j]
    return min(loss, 1.0)


@lean
def told_row(rules, view, pair):
    """A row that is known, in the order of the support; in a box of no size, or as a plain model."""
    plausible = view.plausible
    goal = len(rules.pair_start) - 1
    first = rules.next_start[pair]
    count = 0
    mass = 0.0
    for place in range(first, rules.next_start[pair + 1]):
        if rules.next_state[place] == goal and plausible.shape != BOX:
            continue
        q = 0.0
        for j in range(len(view.context)):
            q += rules.told.rows[place, j] * view.context[j]
        plausible.state[first + count] = rules.next_state[place]
        if plausible.shape == BOX:
            plausible.low[first + count] = q
            plausible.high[first + count] = q
        else:
            plausible.centre[first + count] = q
            mass += q * q
        count += 1
    plausible.used[pair] = count
    plausible.mass[pair] = NO_GOAL if cannot_reach_goal(rules, pair) else mass
    plausible.ball[pair] = 0.0


@lean
def look_into_box(rules, learned, view, pair, slack, spread):
    """:func:`look_at` where rows are boxes. O(m d^2) with bounds by the variance, else O(m d + d^2).

    Two members of a box are no further apart, in the L1 norm, than its sides in all: half of that is the doubt of the
    known test, or half the side of the losses if that is more.
    """
    low = 0.0
    high = 1.0
    played = learned.memory.visits[pair] > 0
    if played:
        low, high = box_loss(rules, learned, view, pair, slack)
    if rules.told.loss_known[pair]:
        low = high = told_loss(rules, view, pair)
    view.plausible.losses[pair] = max(rules.told.floor[pair], low + rules.added_loss)
    view.loss_high[pair] = max(rules.told.floor[pair], high + rules.added_loss)
    if rules.told.row_known[pair]:
        told_row(rules, view, pair)
        view.doubt[pair] = 0.5 * (high - low)
    elif rules.next_start[pair + 1] - rules.next_start[pair] == 1:
        certain_row(rules, view, pair)
        view.doubt[pair] = 0.5 * (high - low)
    else:
        sides = box_row(rules, learned, view, pair, slack, spread) if played else open_row(rules, view, pair)
        view.doubt[pair] = 0.5 * max(sides, high - low)


@inlined
def look_at_loss(rules, learned, view, pair, norm):
    """The loss of a pair as the attitude has it.

    The true loss lies in [loss floor, 1], so clipping keeps the guarantee. Departs from the paper: it does not clip.
    """
    if rules.told.loss_known[pair]:
        return max(rules.told.floor[pair], told_loss(rules, view, pair) + rules.added_loss)
    loss = 0.0
    for j in range(len(view.context)):
        loss += learned.losses[pair, j] * view.context[j]
    if rules.attitude == HOPE:
        loss -= learned.loss_radius[pair] * norm
    elif rules.attitude == SAMPLE:
        loss += rules.spread * norm * view.noise[len(rules.next_state) + pair]
    return max(rules.told.floor[pair], min(1.0, loss) + rules.added_loss)


@inlined
def look_at_row(rules, learned, view, pair, norm):
    """The row of a pair as the attitude has it."""
    plausible = view.plausible
    if rules.told.row_known[pair]:
        told_row(rules, view, pair)
        view.doubt[pair] = 0.0 if rules.told.loss_known[pair] else learned.loss_radius[pair] * norm
        return
    if rules.attitude == SAMPLE:
        plausible.ball[pair] = 0.0
        sample_row(rules, learned, view, pair, rules.spread * norm)
        return
    radius = learned.next_radius[pair] * norm if rules.attitude == HOPE else 0.0
    plausible.ball[pair] = radius * radius
    view.doubt[pair] = learned.doubt[pair] * norm
    mix_row(rules, learned, view, pair)
    if rules.attitude == RMAX:
        view.doubt[pair] = weight_of(learned.memory.inverse[pair], view.context)
        if view.doubt[pair] > rules.threshold:
            plausible.used[pair] = 0
            plausible.mass[pair] = 0.0
            plausible.losses[pair] = rules.told.floor[pair]


@lean
def look_at(rules, learned, view, pair):
    """The plausible losses and rows of a pair under the context of the view. O(count d + d^2)."""
    view.version[pair] = learned.changes[pair]
    view.volume[pair] = learned.volume[pair]
    view.outlook.backup[pair] = -np.inf
    norm, slack, spread = solve_context(
        learned.memory.gram[pair], learned.memory.inverse[pair], view.context, rules.regularization, view.direction,
        view.residual,
    )  # fmt: skip
    view.norm[pair] = norm
    if rules.box.on:
        look_into_box(rules, learned, view, pair, slack, spread)
    else:
        view.plausible.losses[pair] = look_at_loss(rules, learned, view, pair, norm)
        look_at_row(rules, learned, view, pair, norm)
