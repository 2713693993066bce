"""The context-free learners step by step: begin an episode, plan, learn from a step.

The learner that people drive step by step and the loop that plays whole runs call these same functions.
"""

import numpy as np

from goalbound.baselines.kernels.confidence import record, update_pair
from goalbound.baselines.kernels.eb_ssp import eb_backup, plan_eb_ssp
from goalbound.baselines.kernels.planning import begin_attempt, follow_policy, mark_dirty, replan, update_sets
from goalbound.baselines.kernels.state import (
    EB,
    HOEFFDING,
    PSRL,
    UC,
    ULCVI,
)
from goalbound.baselines.kernels.ulcvi import plan_stages, stage_backups
from goalbound.jit.compile import lean
from goalbound.planning.kernels.value_iteration import inner_minimum, largest_value


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
    """Whether a pair has been played often enough to be trusted (Hoeffding-SSP)."""
    return learner.counts.visits[pair] > constants.known_after[pair]


@lean
def plan_is_valid(constants, learner, episode, state):
    """Whether the episode takes its next step by the plan that it follows."""
    if episode.progress["plan"] == 0:
        return False
    if constants.method == UC:
        return episode.progress["steps"] <= episode.progress["limit"]
    if constants.method == HOEFFDING:
        return episode.progress["steps"] == 0 or is_known(constants, learner, episode.policy[state])
    if constants.method == ULCVI:
        return episode.progress["steps"] < constants.horizon
    return learner.totals["stale"] == 0 and episode.progress["plan"] == learner.totals["plans"]


@lean
def needs_draws(constants, learner):
    """Whether the next plan is that of a model still to be drawn."""
    return constants.method == PSRL and learner.totals["stale"] != 0


@lean
def make_plan(constants, learner, sweeps):
    """A plan that all episodes may follow, in the planning state of the learner. Returns whether it came to an end."""
    if constants.method == EB:
        return plan_eb_ssp(constants, learner, sweeps)
    if constants.method == ULCVI:
        update_sets(constants, learner, learner.main)
        plan_stages(constants, learner)
        return True
    return replan(constants, learner, learner.main, constants.tolerance, sweeps)


@lean
def plan_episode(constants, learner, episode, sweeps):
    """Let the episode follow a plan that holds now, made anew if need be. Returns whether planning came to its end."""
    if constants.method == UC:
        if not begin_attempt(constants, learner, episode, sweeps):
            return False
        learner.totals["plans"] += 1
    else:
        if constants.method == HOEFFDING or learner.totals["stale"] != 0:
            if not make_plan(constants, learner, sweeps):
                return False
            begin_epoch(learner)
        follow_policy(learner.main.iteration, episode)
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
def chosen_pair(constants, learner, episode, state):
    """The pair to play."""
    if constants.method == ULCVI:
        return int(learner.workspace.table[episode.progress["steps"], state])
    return int(episode.policy[state])


@lean
def has_doubled(learner, pair):
    """Whether a pair has as many visits since the last plan as before it, and at least one."""
    return learner.counts.visits[pair] >= max(1, 2 * learner.visits_used[pair])


@lean
def note(constants, learner, pair, arrived):
    """A pair has one more visit: what this changes for the plans to come."""
    totals = learner.totals
    if constants.method == EB:
        n = learner.counts.visits[pair]
        if (n & (n - 1)) == 0:  # 1, 2, 4, 8, ...
            update_pair(constants, learner, pair)
            totals["triggers"] += 1
            totals["stale"] = 1
        return
    if constants.method != PSRL:
        mark_dirty(learner.main, pair)
    if constants.method == UC:
        mark_dirty(learner.unit, pair)
    if has_doubled(learner, pair):
        totals["stale"] = 1
    if arrived:
        totals["goals"] += 1
        if constants.method == PSRL and totals["goals"] > totals["goals_before"]:
            totals["stale"] = 1


@lean
def learn_step(constants, learner, pair, place, loss, arrived):
    """Learn from a step; ``arrived``: whether an episode ended with it. O(1) but for EB-SSP, which updates the pair now
    and then."""
    record(constants, learner.counts, pair, place, loss)
    learner.totals["steps"] += 1
    note(constants, learner, pair, arrived)


@lean
def learn_steps(constants, learner, steps):
    """Learn from steps that anyone chose, in their order. No episode of the learner ends with them."""
    for t in range(len(steps.pairs)):
        learn_step(constants, learner, steps.pairs[t], steps.places[t], steps.losses[t], False)


@lean
def observe(constants, learner, episode, pair, place, loss):
    """Learn from a step of the episode."""
    if constants.method == HOEFFDING and not is_known(constants, learner, pair):
        episode.progress["unknown_steps"] += 1
    arrived = constants.next_state[place] == len(constants.pair_start) - 1
    learn_step(constants, learner, pair, place, loss, arrived)
    episode.progress["steps"] += 1


@lean
def backup(constants, learner, episode, pair):
    """What a pair is worth to the plan that the episode follows, at its values (ULCVI: those of the first stage)."""
    model = learner.unit if constants.method == UC and episode.progress["intervals"] > 1 else learner.main
    iteration = model.iteration
    if constants.method == ULCVI:
        cap = (constants.horizon - episode.progress["steps"]) * (1.0 + constants.added_loss)
        cap += 8.0 * constants.loss_bound
        return stage_backups(constants, learner, pair, iteration.values, iteration.values, cap)[0]
    if constants.method == EB:
        if learner.visits_used[pair] == 0:
            return 0.0
        largest = largest_value(iteration)
        return eb_backup(constants, learner, pair, iteration.values, largest, learner.totals["loss_bound"])
    least, _ = inner_minimum(model.sets, pair, iteration.values, iteration.dual[pair], np.inf)
    return model.sets.losses[pair] + least


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
