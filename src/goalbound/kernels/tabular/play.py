"""Whole episodes of the context-free learners in a simulated world, without leaving compiled code.

The same moves as the plain loop makes, in the same order, with the same numbers drawn: to the bit the same run.
"""

from goalbound.kernels.jit import lean
from goalbound.kernels.rollout import place_of
from goalbound.kernels.tabular.layout import INTERVALS, UNKNOWN_STEPS
from goalbound.kernels.tabular.moves import begin, chosen_pair, goes_on, needs_draws, observe, prepare
from goalbound.kernels.tabular.posterior import draw_model
from goalbound.kernels.world import first_state, make_step


@lean
def play(rules, learned, walk, truth, contexts, optimal, rng, own_rng, step_limit, sweeps, out):
    """Play one episode for each row of ``contexts`` [K, d], which only the world sees.

    ``optimal`` [K, S + 1] are the true optimal values, ``rng`` is the stream of the world, ``own_rng`` the learner's.
    Stops at a plan that did not come to its end. Returns the number of episodes played to their end.
    """
    goal = len(rules.pair_start) - 1
    for k in range(len(contexts)):
        start = first_state(truth, contexts[k], rng)
        begin(learned, walk)
        state = start
        total = 0.0
        regret = 0.0
        steps = 0
        while state != goal and steps < step_limit:
            if not goes_on(rules, learned, walk, state):
                if needs_draws(rules, learned):
                    draw_model(rules, learned, own_rng)
                if not prepare(rules, learned, walk, sweeps):
                    return k
            pair = chosen_pair(rules, learned, walk, state)
            following, loss, gap = make_step(truth, pair, state, contexts[k], optimal[k], rng)
            regret += gap
            total += loss
            steps += 1
            place = place_of(rules.next_start, rules.next_state, pair, following)
            observe(rules, learned, walk, pair, place, loss)
            state = following
        out.loss[k] = total
        out.expected_regret[k] = regret
        out.start[k] = start
        out.intervals[k] = walk.tally[INTERVALS]
        out.unknown_steps[k] = walk.tally[UNKNOWN_STEPS]
        out.abandoned[k] = state != goal
        out.steps[k] = steps
    return len(contexts)
