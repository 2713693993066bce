"""The loop of the context-free learners: begin an episode, plan, learn from a step; methods fill its slots.

The learner that people drive step by step and the kernel that plays whole runs call these same functions.
"""

import numpy as np

from goalbound.baselines.planning import follow_policy, mark_dirty, record, replan
from goalbound.baselines.protocol import (
    backup,
    begin_plan,
    chosen_pair,
    draw_model,
    make_plan,
    note_visit,
    plan_holds,
    update_pair,
)
from goalbound.jit.compile import lean
from goalbound.learners.episode_loop import successor_index
from goalbound.models.simulated import env_step, first_state, write_results
from goalbound.planning.kernels.value_iteration import inner_minimum


@lean
def begin(learner, episode):
    """An episode begins; it follows no plan yet."""
    episode.progress["plan"] = 0
    episode.progress["intervals"] = 0
    episode.progress["unknown_steps"] = 0
    episode.progress["steps"] = 0
    episode.progress["limit"] = 0
    learner.totals["episodes"] += 1
    episode.progress["number"] = learner.totals["episodes"]


@lean
def is_known(constants, learner, pair):
    """Whether a pair has been played often enough to be trusted."""
    return learner.counts.visits[pair] > constants.known_after[pair]


@lean
def plan_is_valid(constants, learner, episode, state):
    """Whether the episode takes its next step by the plan that it follows."""
    return episode.progress["plan"] != 0 and plan_holds(constants, learner, episode, state)


@lean
def plan_episode(constants, learner, episode, sweeps):
    """Let the episode follow a plan that holds now, made anew if need be. Returns whether planning came to its end."""
    if not begin_plan(constants, learner, episode, sweeps):
        return False
    episode.progress["plan"] = learner.totals["plans"]
    episode.progress["intervals"] += 1
    episode.progress["steps"] = 0
    return True


@lean
def begin_epoch(learner):
    """The plan just made is the one to follow."""
    learner.totals["plans"] += 1
    learner.totals["stale"] = 0
    learner.totals["goals_before"] = learner.totals["goals"]
    learner.totals["goals"] = 0


@lean
def has_doubled(learner, pair):
    """Whether a pair has as many visits since the last plan as before it, and at least one."""
    return learner.counts.visits[pair] >= max(1, 2 * learner.visits_used[pair])


@lean
def learn_step(constants, learner, pair, place, loss, arrived):
    """Learn from a step; ``arrived``: whether an episode ended with it. O(1) but for EB-SSP, which updates the pair now
    and then."""
    record(constants, learner.counts, pair, place, loss)
    learner.totals["steps"] += 1
    note_visit(constants, learner, pair, arrived)


@lean
def learn_steps(constants, learner, steps):
    """Learn from steps that anyone chose, in their order. No episode of the learner ends with them."""
    for t in range(len(steps.pairs)):
        learn_step(constants, learner, steps.pairs[t], steps.places[t], steps.losses[t], False)


@lean
def observe(constants, learner, episode, pair, place, loss):
    """Learn from a step of the episode."""
    if not is_known(constants, learner, pair):
        episode.progress["unknown_steps"] += 1
    arrived = constants.next_state[place] == len(constants.pair_start) - 1
    learn_step(constants, learner, pair, place, loss, arrived)
    episode.progress["steps"] += 1


@lean
def best_pair(constants, learner, episode, pairs):
    """Of some pairs the one with the least backup; ties go to the first."""
    best = np.inf
    chosen = pairs[0]
    for place in range(len(pairs)):
        pair = pairs[place]
        worth = backup(constants, learner, episode, pair)
        if worth < best:
            best = worth
            chosen = pair
    return chosen


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
        plans, unknown = episode.progress["intervals"], episode.progress["unknown_steps"]
        write_results(out, k, total, regret, start, plans, unknown, state != goal, steps)
    return len(contexts)


@lean
def shared_plan_holds(constants, learner, episode, state):
    """The episode follows the newest plan, and no other is due."""
    return learner.totals["stale"] == 0 and episode.progress["plan"] == learner.totals["plans"]


@lean
def follow_shared_plan(constants, learner, episode, sweeps):
    """Follow the plan of all episodes, made anew where one is due."""
    if learner.totals["stale"] != 0:
        if not make_plan(constants, learner, sweeps):
            return False
        begin_epoch(learner)
    follow_policy(learner.main.iteration, episode)
    return True


@lean
def plan_by_iteration(constants, learner, sweeps):
    """Value iteration from the last values on, in the sets of the learner."""
    return replan(constants, learner, learner.main, constants.tolerance, sweeps)


@lean
def pair_of_policy(constants, learner, episode, state):
    """The pair of the policy that the episode follows."""
    return int(episode.policy[state])


@lean
def note_doubling(constants, learner, pair, arrived):
    """The pair waits to be looked at; a plan is due once its visits have doubled."""
    mark_dirty(learner.main, pair)
    if has_doubled(learner, pair):
        learner.totals["stale"] = 1
    if arrived:
        learner.totals["goals"] += 1


@lean
def backup_in_sets(constants, learner, episode, pair):
    """The loss and the least value of the next state in the set of a pair."""
    model = learner.main
    least, _ = inner_minimum(model.sets, pair, model.iteration.values, model.iteration.dual[pair], np.inf)
    return model.sets.losses[pair] + least


@lean
def draw_nothing(constants, learner, rng):
    """Plans are made in what was seen."""


@lean
def update_nothing(constants, learner, pair):
    """Plans use nothing of a pair but how often it was visited."""


DEFAULTS = {
    update_pair: update_nothing,
    note_visit: note_doubling,
    plan_holds: shared_plan_holds,
    begin_plan: follow_shared_plan,
    make_plan: plan_by_iteration,
    chosen_pair: pair_of_policy,
    backup: backup_in_sets,
    draw_model: draw_nothing,
}
"""What a method does that says nothing else."""
