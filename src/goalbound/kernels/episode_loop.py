"""Whole episodes of LR-CSSP in a simulated environment, without leaving compiled code.

The same moves as the plain loop makes, in the same order, with the same numbers of the stream: to the bit the same run.
"""

import numpy as np

from goalbound.jit.compile import lean, short_loops
from goalbound.kernels.algorithm import begin, draw_noise, observe, plan_with_doubling, select_pair
from goalbound.kernels.audit import audit_pair, audit_plan, audit_step
from goalbound.kernels.environment import env_step, first_state, greedy_pair, uniform_pair, write_results
from goalbound.kernels.forecasts import make_forecasts
from goalbound.kernels.state import POSTERIOR


@lean
def successor_index(next_start, next_state, pair, following):
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


@short_loops
def play(
    constants,
    learner,
    episode,
    scratch,
    workspace,
    env,
    contexts,
    shown,
    optimal,
    rng,
    own,
    step_limit,
    sweeps,
    audit,
    out,
):
    """Play one episode for each row of ``contexts`` [K, d]; ``optimal`` [K, S + 1] holds the true optimal values.

    ``shown`` [K, d'] is what the learner sees of the contexts: themselves or others. The environment draws from
    ``rng``, the learner from ``own``.

    Stops at a plan that did not come to its end, and at a projection that failed. Returns the number of episodes played
    to their end.
    """
    goal = len(constants.pair_start) - 1
    rows = env.components
    for k in range(len(contexts)):
        context = contexts[k]
        start = first_state(env, context, rng)
        begin(constants, learner, episode, shown[k])
        state = start
        total = 0.0
        regret = 0.0
        steps = 0
        while state != goal and steps < step_limit:
            if episode.progress["planned"] == 0:
                if constants.exploration == POSTERIOR:
                    draw_noise(constants, episode, own)
                before = episode.iteration.values[state] if steps > 0 else np.nan
                if not plan_with_doubling(constants, learner, episode, workspace, sweeps):
                    return k
                if audit.watch:
                    audit_plan(audit, rows, constants, learner, episode, state, before, optimal[k, state])
            pair = select_pair(constants, episode, state, own)
            episode.progress["restarts"] = learner.totals["restarts"]
            if constants.likelihood.on:
                make_forecasts(constants, learner, episode, pair)
            following, loss, gap = env_step(env, pair, state, context, optimal[k], rng)
            regret += gap
            total += loss
            steps += 1
            place = successor_index(constants.next_start, constants.next_state, pair, following)
            if audit.watch:
                audit_step(audit, rows, constants, learner, episode, context, state, pair, following, loss)
            observe(constants, learner, episode, scratch, pair, place, loss)
            if learner.totals["failed_projections"] > 0:
                return k
            if audit.watch:
                audit_pair(audit, rows, constants, learner, pair)
            state = following
        write_results(
            out, k, total, regret, start, episode.progress["intervals"], episode.progress["unknown_steps"],
            state != goal, steps,
        )  # fmt: skip
    return len(contexts)


@short_loops
def play_fixed(pair_start, env, contexts, optimal, rng, own, at_random, step_limit, out):
    """Play the best pair of every state, given the true optimal values [K, S + 1] of each of the contexts [K, d]; or,
    ``at_random``, any pair, drawn from ``own``."""
    goal = len(pair_start) - 1
    rows = env.components
    for k in range(len(contexts)):
        context = contexts[k]
        start = first_state(env, context, rng)
        state = start
        total = 0.0
        regret = 0.0
        steps = 0
        while state != goal and steps < step_limit:
            if at_random:
                pair = uniform_pair(pair_start, state, own.random())
            else:
                pair = greedy_pair(rows, pair_start, state, context, optimal[k])
            following, loss, gap = env_step(env, pair, state, context, optimal[k], rng)
            regret += gap
            total += loss
            steps += 1
            state = following
        write_results(out, k, total, regret, start, 0, 0, state != goal, steps)
