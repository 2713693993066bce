"""Whole episodes of the context-free learners in a simulated environment, without leaving compiled code.

The same moves as the plain loop makes, in the same order, with the same numbers drawn: to the bit the same run.
"""

from goalbound.baselines.kernels.algorithm import begin, chosen_pair, needs_draws, observe, plan_episode, plan_is_valid
from goalbound.baselines.kernels.psrl import draw_model
from goalbound.jit.compile import lean
from goalbound.learners.episode_loop import successor_index
from goalbound.models.simulated import env_step, first_state, write_results


@lean
def play(constants, learner, episode, truth, contexts, optimal, rng, own_rng, step_limit, sweeps, out):
    """Play one episode for each row of ``contexts`` [K, d], which only the environment sees.

    ``optimal`` [K, S + 1] are the true optimal values, ``rng`` is the environment's stream, ``own_rng`` the learner's.
    Stops at a plan that did not come to its end. Returns the number of episodes played to their end.
    """
    goal = len(constants.pair_start) - 1
    for k in range(len(contexts)):
        start = first_state(truth, contexts[k], rng)
        begin(learner, episode)
        state = start
        total = 0.0
        regret = 0.0
        steps = 0
        while state != goal and steps < step_limit:
            if not plan_is_valid(constants, learner, episode, state):
                if needs_draws(constants, learner):
                    draw_model(constants, learner, own_rng)
                if not plan_episode(constants, learner, episode, sweeps):
                    return k
            pair = chosen_pair(constants, learner, episode, state)
            following, loss, gap = env_step(truth, pair, state, contexts[k], optimal[k], rng)
            regret += gap
            total += loss
            steps += 1
            place = successor_index(constants.next_start, constants.next_state, pair, following)
            observe(constants, learner, episode, pair, place, loss)
            state = following
        write_results(
            out, k, total, regret, start, episode.progress["intervals"], episode.progress["unknown_steps"],
            state != goal, steps,
        )  # fmt: skip
    return len(contexts)
