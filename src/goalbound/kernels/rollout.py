"""Whole episodes of LR-CSSP in a simulated world, without leaving compiled code.

The same moves as the plain loop makes, in the same order, with the same numbers of the stream: to the bit the same run.
"""

from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.kernels.jit import inlined, lean
from goalbound.kernels.learning import (
    INTERVAL,
    INTERVAL_LOSS,
    INTERVALS,
    PLANNED,
    UNKNOWN_STEPS,
    begin,
    observe,
    prepare,
)
from goalbound.kernels.optimism import inner_minimum
from goalbound.kernels.world import DETERMINISTIC, Components, draw_next, draw_start, expected_gap, loss_of, mixed

SWITCHING, DYNAMICS, MARTINGALE, LOSSES, PLANNING = 0, 1, 2, 3, 4
"""Places in :attr:`Ledger.terms`."""

COVERED, WATCHED, UNCOVERED_PAIRS, LONG_INTERVALS = 0, 1, 2, 3
"""Places in :attr:`Ledger.counts`."""

WIDTHS, LARGEST_SHARE = 0, 1
"""Places in :attr:`Ledger.sums`."""


class Truth(NamedTuple):
    """The world that is played in."""

    components: Components
    start: int
    """the first state, or -1: drawn"""
    start_law: NDArray[np.float64]
    """[S, d] or [S, 1]"""
    loss_code: int
    loss_spread: float
    gap_tolerance: float
    """the relative error of the optimal values"""


class Ledger(NamedTuple):
    """What only someone who knows the truth can see. ``watch`` False: nothing is written."""

    watch: bool
    loss_bound: float
    """the B of the checks"""
    terms: NDArray[np.float64]
    """[5] the regret decomposition of the paper, and what value iteration left open"""
    counts: NDArray[np.int64]
    """[4] intervals that began with the truth in all sets; intervals watched; pairs outside now; intervals too long"""
    sums: NDArray[np.float64]
    """[2] widths added up as the regret bound counts them; the largest interval loss over its bound"""
    uncovered: NDArray[np.bool_]
    """[N] whether the truth of a pair lies outside its sets now"""
    unknown: NDArray[np.int64]
    """[N] visits of a pair while unknown"""


@inlined
def place_of(next_start, next_state, pair, following):
    """Where a next state stands in the row of a pair, or -1. O(log of the row)."""
    low = next_start[pair]
    high = next_start[pair + 1]
    guess = low + following  # the place in a full row
    if guess < high and next_state[guess] == following:
        return guess
    while low < high:
        middle = (low + high) // 2
        if next_state[middle] < following:
            low = middle + 1
        else:
            high = middle
    if low < next_start[pair + 1] and next_state[low] == following:
        return low
    return -1


@lean
def truth_distances(components, rules, learned, pair, difference):
    """How far the true loss and the true rows are from the estimate of a pair, in the norm of its Gram matrix."""
    goal = len(rules.pair_start) - 1
    size = len(difference)
    gram = learned.memory.gram[pair]
    for j in range(size):
        difference[j] = components.losses[pair, j] - learned.losses[pair, j]
    loss = 0.0
    for a in range(size):
        for b in range(size):
            loss += difference[a] * gram[a, b] * difference[b]
    rows = 0.0
    for k in range(components.next_start[pair], components.next_start[pair + 1]):
        following = components.next_state[k]
        if following == goal:
            continue
        place = place_of(rules.next_start, rules.next_state, pair, following)
        slot = learned.memory.slot[place]
        for j in range(size):
            estimate = 0.0 if slot < 0 else learned.rows[rules.next_start[pair] + slot, j]
            difference[j] = components.probabilities[k, j] - estimate
        for a in range(size):
            for b in range(size):
                rows += difference[a] * gram[a, b] * difference[b]
    # Next states that were seen are in the true row too: nothing was left out.
    return sqrt(max(loss, 0.0)), sqrt(max(rows, 0.0))


@lean
def watch_pair(ledger, components, rules, learned, pair, difference):
    """Whether the truth of a pair lies in both its sets (high-probability event, items 1 and 2)."""
    loss, rows = truth_distances(components, rules, learned, pair, difference)
    outside = loss > learned.loss_radius[pair] or rows > learned.next_radius[pair]
    if outside != ledger.uncovered[pair]:
        ledger.uncovered[pair] = outside
        ledger.counts[UNCOVERED_PAIRS] += 1 if outside else -1


@lean
def watch_step(ledger, components, view, context, state, pair, following, loss):
    """The four terms of the regret decomposition for one step, with the plan that it was played by."""
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


@lean
def watch_widths(ledger, rules, learned, view, pair):
    """How far the optimistic model of a played pair may be from the truth, times what that may cost: twice the radius,
    2 B sqrt(S_i) R_i w + 2 rho w, where a row cannot be further off than 2."""
    length = 0
    goal = len(rules.pair_start) - 1
    for k in range(rules.next_start[pair], rules.next_start[pair + 1]):
        if rules.next_state[k] != goal:
            length += 1
    rows = min(2.0, 2.0 * sqrt(length) * sqrt(view.plausible.ball[pair]))
    loss = min(1.0, 2.0 * learned.loss_radius[pair] * view.norm[pair])
    ledger.sums[WIDTHS] += ledger.loss_bound * rows + loss


@lean
def watch_interval(ledger, rules, view, number, loss):
    """Item 3 of the high-probability event: the loss of an interval against 48 B log(4 m / delta)."""
    share = loss / (48.0 * ledger.loss_bound * log(4.0 * number / rules.delta))
    ledger.sums[LARGEST_SHARE] = max(ledger.sums[LARGEST_SHARE], share)
    if share > 1.0:
        ledger.counts[LONG_INTERVALS] += 1


@lean
def play(rules, learned, view, desk, truth, contexts, shown, optimal, rng, step_limit, sweeps, ledger, out):
    """Play one episode for each row of ``contexts`` [K, d]; ``optimal`` [K, S + 1] holds the true optimal values.

    ``shown`` [K, d'] is what the learner sees of the contexts: themselves, or something else.

    Stops before an episode whose plan did not come to its end. Returns the number of episodes played.
    """
    goal = len(rules.pair_start) - 1
    rows = truth.components
    for k in range(len(contexts)):
        context = contexts[k]
        start = truth.start
        if start < 0:
            start = draw_start(truth.start_law, context, rng.random())
        begin(rules, learned, view, shown[k])
        state = start
        total = 0.0
        regret = 0.0
        steps = 0
        while state != goal and steps < step_limit:
            if view.tally[PLANNED] == 0:
                if not prepare(rules, learned, view, sweeps):
                    return k
                if ledger.watch:
                    ledger.counts[WATCHED] += 1
                    if ledger.counts[UNCOVERED_PAIRS] == 0:
                        ledger.counts[COVERED] += 1
            pair = view.outlook.policy[state]
            following = draw_next(rows.next_start, rows.next_state, rows.probabilities, pair, context, rng.random())
            loss = mixed(rows.losses, pair, context)
            if truth.loss_code != DETERMINISTIC:
                loss = loss_of(truth.loss_code, truth.loss_spread, loss, rng.random())
            regret += expected_gap(rows, pair, state, context, optimal[k], truth.gap_tolerance)
            total += loss
            steps += 1
            place = place_of(rules.next_start, rules.next_state, pair, following)
            if ledger.watch:
                watch_step(ledger, rows, view, context, state, pair, following, loss)
                watch_widths(ledger, rules, learned, view, pair)
                unknown = view.tally[UNKNOWN_STEPS]
                number = view.tally[INTERVAL]
                interval_loss = view.gauge[INTERVAL_LOSS] + loss + rules.added_loss
                if observe(rules, learned, view, desk, pair, place, loss):
                    watch_interval(ledger, rules, view, number, interval_loss)
                ledger.unknown[pair] += view.tally[UNKNOWN_STEPS] - unknown
                watch_pair(ledger, rows, rules, learned, pair, desk.sums)
            else:
                observe(rules, learned, view, desk, pair, place, loss)
            state = following
        if ledger.watch:
            ledger.terms[SWITCHING] -= optimal[k, start]
        out.loss[k] = total
        out.expected_regret[k] = regret
        out.start[k] = start
        out.intervals[k] = view.tally[INTERVALS]
        out.unknown_steps[k] = view.tally[UNKNOWN_STEPS]
        out.abandoned[k] = state != goal
        out.steps[k] = steps
    return len(contexts)
