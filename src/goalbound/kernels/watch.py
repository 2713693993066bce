"""What only someone who knows the truth can see of a learner: the good event of the paper, and where regret comes from.

Each step: :func:`watch_plan` after a new plan, :func:`watch_step` before the learner learns, :func:`watch_pair` after.
"""

from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.kernels.jit import inlined, lean
from goalbound.kernels.learned import DOUBLINGS, INTERVAL, INTERVAL_LOSS
from goalbound.kernels.learning import is_known
from goalbound.kernels.optimism import inner_minimum
from goalbound.kernels.world import mixed

SWITCHING, DYNAMICS, MARTINGALE, LOSSES, PLANNING = 0, 1, 2, 3, 4
"""Places in :attr:`Ledger.terms`."""

COVERED, WATCHED, UNCOVERED_PAIRS, LONG_INTERVALS, EPISODES, STEPS, SEEN_DOUBLINGS = 0, 1, 2, 3, 4, 5, 6
"""Places in :attr:`Ledger.counts`."""

WIDTHS, RISES, NOISE, OPTIMAL, INTERVAL_SHARE, MARTINGALE_SHARE, POTENTIAL = 0, 1, 2, 3, 4, 5, 6
"""Places in :attr:`Ledger.sums`."""


class Ledger(NamedTuple):
    """A running account. ``watch`` False: nothing is written."""

    watch: bool
    loss_bound: float
    """the B of the checks"""
    terms: NDArray[np.float64]
    """[5] the regret decomposition of the paper, and what value iteration left open"""
    counts: NDArray[np.int64]
    """[7] intervals that began with the truth in all sets; intervals; pairs outside now; intervals too long; episodes
    begun; steps; doublings seen"""
    sums: NDArray[np.float64]
    """[7] widths, as the regret bound counts them; rises of values at new plans within an episode; losses less their
    means; optimal losses; and three largest ones: interval loss over its bound, martingale over its bound, n w^2"""
    uncovered: NDArray[np.bool_]
    """[N] whether the truth of a pair lies outside its sets now"""
    unknown: NDArray[np.int64]
    """[N] visits of a pair while unknown"""
    room: NDArray[np.float64]
    """[d] to work in"""


@inlined
def squared_norm(gram, vector):
    """x^T V x."""
    total = 0.0
    for a in range(len(vector)):
        for b in range(len(vector)):
            total += vector[a] * gram[a, b] * vector[b]
    return max(total, 0.0)


@lean
def truth_distances(components, rules, learned, pair, difference):
    """How far the true loss and the true rows are from the estimate of a pair, in the norm of its Gram matrix.

    The learner's row may hold next states that the true one has not: their true probability is 0.
    """
    goal = len(rules.pair_start) - 1
    size = len(difference)
    gram = learned.memory.gram[pair]
    for j in range(size):
        difference[j] = components.losses[pair, j] - learned.losses[pair, j]
    loss = squared_norm(gram, difference)
    rows = 0.0
    k = components.next_start[pair]
    end = components.next_start[pair + 1]
    for place in range(rules.next_start[pair], rules.next_start[pair + 1]):
        following = rules.next_state[place]
        while k < end and components.next_state[k] < following:
            k += 1
        possible = k < end and components.next_state[k] == following
        slot = learned.memory.slot[place]
        if following == goal or (slot < 0 and not possible):
            continue
        for j in range(size):
            estimate = 0.0 if slot < 0 else learned.rows[rules.next_start[pair] + slot, j]
            difference[j] = (components.probabilities[k, j] if possible else 0.0) - estimate
        rows += squared_norm(gram, difference)
    return sqrt(loss), sqrt(rows)


@lean
def watch_pair(ledger, components, rules, learned, pair):
    """Whether the truth of a pair lies in both its sets now (high-probability event, items 1 and 2).

    Boxes are of a context: :func:`watch_boxes` looks at them.
    """
    if rules.box.on:
        return
    loss, rows = truth_distances(components, rules, learned, pair, ledger.room)
    outside = loss > learned.loss_radius[pair] or rows > learned.next_radius[pair]
    if outside != ledger.uncovered[pair]:
        ledger.uncovered[pair] = outside
        ledger.counts[UNCOVERED_PAIRS] += 1 if outside else -1


@lean
def watch_boxes(ledger, components, rules, view):
    """Whether the truth of each pair lies in its intervals under the context of the view; what was told is not asked.

    The learner's row may hold next states that the true one has not: they have probability 0.
    """
    plausible = view.plausible
    outside_pairs = 0
    for pair in range(len(ledger.uncovered)):
        loss = mixed(components.losses, pair, view.context) + rules.added_loss
        room = 1e-9 * (1.0 + loss)
        outside = loss < plausible.losses[pair] - room or loss > view.loss_high[pair] + room
        k = components.next_start[pair]
        last = components.next_start[pair + 1]
        for place in range(rules.next_start[pair], rules.next_start[pair + 1]):
            while k < last and components.next_state[k] < rules.next_state[place]:
                k += 1
            p = 0.0
            if k < last and components.next_state[k] == rules.next_state[place]:
                p = mixed(components.probabilities, k, view.context)
            outside = outside or p < plausible.low[place] - 1e-9 or p > plausible.high[place] + 1e-9
        ledger.uncovered[pair] = outside
        outside_pairs += 1 if outside else 0
    ledger.counts[UNCOVERED_PAIRS] = outside_pairs


@lean
def watch_all(ledger, components, rules, learned):
    """Look at every pair: before the first step, and whenever all data was forgotten."""
    for pair in range(len(ledger.uncovered)):
        watch_pair(ledger, components, rules, learned, pair)
    ledger.counts[SEEN_DOUBLINGS] = learned.tally[DOUBLINGS]


@lean
def watch_plan(ledger, components, rules, learned, view, state, before, optimal):
    """An interval has its plan. ``before``: the value of the state under the plan before; NaN where an episode begins.

    ``optimal`` is the true value of the state: an episode that begins owes it.
    """
    if rules.forget and ledger.counts[SEEN_DOUBLINGS] != learned.tally[DOUBLINGS]:
        watch_all(ledger, components, rules, learned)
    if rules.box.on:
        watch_boxes(ledger, components, rules, view)
    ledger.counts[WATCHED] += 1
    if ledger.counts[UNCOVERED_PAIRS] == 0:
        ledger.counts[COVERED] += 1
    if np.isnan(before):
        ledger.counts[EPISODES] += 1
        ledger.sums[OPTIMAL] += optimal
        ledger.terms[SWITCHING] -= optimal
    else:
        ledger.sums[RISES] += view.outlook.values[state] - before


@inlined
def watch_terms(ledger, components, view, context, state, pair, following, loss):
    """The four terms of the regret decomposition for one step, with the plan that it is played by."""
    values = view.outlook.values
    hoped, _ = inner_minimum(view.plausible, pair, values, view.outlook.pull[pair], np.inf)
    expected = 0.0
    for k in range(components.next_start[pair], components.next_start[pair + 1]):
        expected += mixed(components.probabilities, k, context) * values[components.next_state[k]]
    terms = ledger.terms
    terms[SWITCHING] += values[state] - values[following]
    terms[DYNAMICS] += expected - hoped
    terms[MARTINGALE] += values[following] - expected
    terms[LOSSES] += loss - view.plausible.losses[pair]
    terms[PLANNING] += view.plausible.losses[pair] + hoped - values[state]
    ledger.sums[NOISE] += loss - mixed(components.losses, pair, context)


@inlined
def watch_widths(ledger, rules, learned, view, pair):
    """How far the optimistic model of a played pair may be from the truth, times what that may cost.

    Two members of a set are up to twice its radius apart: 2 B sqrt(S_i) R_i w for the rows, where P V - P~ V <= B in
    any case, and 2 rho_l w for the losses, which differ by 1 at most. The loss radius is that of now: it has only
    grown since the plan was made.
    """
    if rules.box.on:  # both are in the box: their L1 distance is at most its sides, P V - P~ V at most B times half
        ledger.sums[WIDTHS] += ledger.loss_bound * min(1.0, view.doubt[pair]) + min(1.0, 2.0 * view.doubt[pair])
        return
    last = rules.next_start[pair + 1]
    length = last - rules.next_start[pair]
    if rules.next_state[last - 1] == len(rules.pair_start) - 1:
        length -= 1
    rows = min(1.0, 2.0 * sqrt(length * view.plausible.ball[pair]))
    loss = min(1.0, 2.0 * learned.loss_radius[pair] * view.norm[pair])
    ledger.sums[WIDTHS] += ledger.loss_bound * rows + loss


@lean
def watch_step(ledger, components, rules, learned, view, context, state, pair, following, loss):
    """A step is made, and not yet learned from. Items 3 and 4 of the high-probability event are followed as they go."""
    counts = ledger.counts
    sums = ledger.sums
    watch_terms(ledger, components, view, context, state, pair, following, loss)
    watch_widths(ledger, rules, learned, view, pair)
    if not is_known(rules, view, pair):
        ledger.unknown[pair] += 1
    counts[STEPS] += 1
    steps = counts[STEPS]
    fair = ledger.loss_bound * sqrt(steps * log(4.0 * steps / rules.delta))
    sums[MARTINGALE_SHARE] = max(sums[MARTINGALE_SHARE], ledger.terms[MARTINGALE] / fair)
    most = 48.0 * ledger.loss_bound * log(4.0 * view.tally[INTERVAL] / rules.delta)
    paid = view.gauge[INTERVAL_LOSS] + loss + rules.added_loss
    sums[INTERVAL_SHARE] = max(sums[INTERVAL_SHARE], paid / most)
    if paid > most >= view.gauge[INTERVAL_LOSS]:
        counts[LONG_INTERVALS] += 1
    plays = learned.changes[pair] - view.version[pair] + 1
    sums[POTENTIAL] = max(sums[POTENTIAL], plays * view.norm[pair] * view.norm[pair])
