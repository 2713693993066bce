"""Whole episodes of LR-CSSP in a simulated world, without leaving compiled code.

The same moves as the plain loop makes, in the same order, with the same numbers of the stream: to the bit the same run.
"""

import numpy as np

from goalbound.kernels.jit import inlined, lean
from goalbound.kernels.learned import FAILED_PROJECTIONS, INTERVALS, PLANNED, RESTART, RESTARTS, SAMPLE, UNKNOWN_STEPS
from goalbound.kernels.learning import begin, choose, observe, prepare, resample
from goalbound.kernels.watch import watch_pair, watch_plan, watch_step
from goalbound.kernels.world import any_pair, best_pair, first_state, make_step


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
def play(rules, learned, view, desk, bench, truth, contexts, shown, optimal, rng, own, step_limit, sweeps, ledger, out):
    """Play one episode for each row of ``contexts`` [K, d]; ``optimal`` [K, S + 1] holds the true optimal values.

    ``shown`` [K, d'] is what the learner sees of the contexts: themselves, or something else. The world draws from
    ``rng``, the learner from ``own``.

    Stops at a plan that did not come to its end, and at a projection that failed. Returns the number of episodes played
    to their end.
    """
    goal = len(rules.pair_start) - 1
    rows = truth.components
    for k in range(len(contexts)):
        context = contexts[k]
        start = first_state(truth, context, rng)
        begin(rules, learned, view, shown[k])
        state = start
        total = 0.0
        regret = 0.0
        steps = 0
        while state != goal and steps < step_limit:
            if view.tally[PLANNED] == 0:
                if rules.attitude == SAMPLE:
                    resample(view, own)
                before = view.outlook.values[state] if steps > 0 else np.nan
                if not prepare(rules, learned, view, bench, sweeps):
                    return k
                if ledger.watch:
                    watch_plan(ledger, rows, rules, learned, view, state, before, optimal[k, state])
            pair = choose(rules, view, state, own)
            view.tally[RESTART] = learned.tally[RESTARTS]
            following, loss, gap = make_step(truth, pair, state, context, optimal[k], rng)
            regret += gap
            total += loss
            steps += 1
            place = place_of(rules.next_start, rules.next_state, pair, following)
            if ledger.watch:
                watch_step(ledger, rows, rules, learned, view, context, state, pair, following, loss)
            observe(rules, learned, view, desk, pair, place, loss)
            if learned.tally[FAILED_PROJECTIONS] > 0:
                return k
            if ledger.watch:
                watch_pair(ledger, rows, rules, learned, pair)
            state = following
        out.loss[k] = total
        out.expected_regret[k] = regret
        out.start[k] = start
        out.intervals[k] = view.tally[INTERVALS]
        out.unknown_steps[k] = view.tally[UNKNOWN_STEPS]
        out.abandoned[k] = state != goal
        out.steps[k] = steps
    return len(contexts)


@lean
def play_reference(pair_start, truth, contexts, optimal, rng, own, at_random, step_limit, out):
    """Play the best pair of every state, given the true optimal values [K, S + 1] of each of the contexts [K, d]; or,
    ``at_random``, any pair, drawn from ``own``."""
    goal = len(pair_start) - 1
    rows = truth.components
    for k in range(len(contexts)):
        context = contexts[k]
        start = first_state(truth, context, rng)
        state = start
        total = 0.0
        regret = 0.0
        steps = 0
        while state != goal and steps < step_limit:
            if at_random:
                pair = any_pair(pair_start, state, own.random())
            else:
                pair = best_pair(rows, pair_start, state, context, optimal[k])
            following, loss, gap = make_step(truth, pair, state, context, optimal[k], rng)
            regret += gap
            total += loss
            steps += 1
            state = following
        out.loss[k] = total
        out.expected_regret[k] = regret
        out.start[k] = start
        out.intervals[k] = 0
        out.unknown_steps[k] = 0
        out.abandoned[k] = state != goal
        out.steps[k] = steps
