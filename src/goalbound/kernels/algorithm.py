"""LR-CSSP (Algorithm 1) and its relatives step by step: begin an episode, plan, learn from a step.

Learners by ridge regression differ in the set of a pair (:mod:`goalbound.kernels.confidence`) and in when they plan
anew; all else is written once.

The learner that people drive step by step and the loop that plays whole runs call these same functions. "Line n" is
line n of Algorithm 1 as printed, every ``end`` counted: 22 is the regression, 23 the projection, 25 the new plan.
"""

from math import log, sqrt

import numpy as np

from goalbound.jit.compile import lean
from goalbound.kernels.confidence import bonus_visits, optimistic_worth, pair_set
from goalbound.kernels.environment import uniform_pair
from goalbound.kernels.interchangeable import row_concentration
from goalbound.kernels.intervals import count_variance, variance_log_det_bound
from goalbound.kernels.likelihood import add_pending_forecasts, learn_likelihood
from goalbound.kernels.likelihood_state import reset_likelihood
from goalbound.kernels.linearity_test import test_pending, test_reported, test_step
from goalbound.kernels.loss_shrinkage import set_loss_shrinkage
from goalbound.kernels.model_prior import begin_with_models
from goalbound.kernels.pending import add_pending, in_units, pending_norm
from goalbound.kernels.projection import project
from goalbound.kernels.radii import ball_radii, visits_log
from goalbound.kernels.regression import (
    count_visit,
    count_visit_of_norm,
    projection_gap,
    record_outcome,
    ridge,
    ridge_error,
)
from goalbound.kernels.sparse_policy_iteration import sparse_policy_iteration
from goalbound.kernels.state import (
    CHANGE_LOG_SIZE,
    LOCAL,
    OPTIMISTIC,
    RMAX,
)
from goalbound.kernels.stochastic_rows import cannot_reach_goal, declare_rows
from goalbound.kernels.value_iteration import (
    INTERVAL_SET,
    MOST_DOUBLINGS,
    doubled_beyond,
    improve_state,
    inner_minimum,
    largest_value,
    policy_iteration,
    relative_slack,
    value_iteration,
)

LOG_2 = 0.6931471805599
RESTART_SHARE = 0.6079271018540267
"""6 / pi^2: data that is forgotten r times has the shares RESTART_SHARE / (r + 1)^2 of the failure probability."""


@lean
def set_radii(constants, learner, pair, size, loss_error, gap):
    """The radii of a pair whose data has changed.

    eq. (loss-conf-set), eq. (dynamics-conf-set) and the beta of eq. (ineq-known).
    """
    missing = pending_norm(learner.pending, pair)
    grown = visits_log(learner.regression.visits[pair], constants.regularization, learner.totals["restart_log"])
    learner.loss_radius[pair], learner.next_radius[pair], rho = ball_radii(
        size, constants.loss_log, constants.next_log, grown, constants.regularization, constants.loss_factor,
        constants.next_factor[pair], missing, loss_error, gap,
    )  # fmt: skip
    excess = learner.next_radius[pair] - constants.next_factor[pair] * rho
    learner.known_width[pair] = constants.known_factor[pair] * rho + constants.width_factor[pair] * excess + loss_error


@lean
def update_estimate(constants, learner, scratch, pair, size):
    """The estimate and the radii of a pair, from its sums (lines 22 and 23).

    Only this pair's can have changed. O(count d^2) for the ``count`` next states that were seen, or that are declared
    where the goal is not.
    """
    regression = learner.regression
    first = constants.next_start[pair]
    count = regression.seen[pair]
    inverse = regression.inverse[pair]
    ridge(regression.loss_sums[pair : pair + 1], inverse, 1, learner.losses[pair : pair + 1])
    loss_error = 0.0
    gap = 0.0
    if not constants.intervals.on:  # intervals are made from the sums
        rows = learner.rows[first : first + count]
        ridge(regression.next_sums[first : first + count], inverse, count, scratch.target)
        stochastic = cannot_reach_goal(constants, pair)
        failed = project(regression.gram[pair], inverse, count, stochastic, scratch, rows) < 0
        if constants.exploration == OPTIMISTIC:
            loss_error, gap = certify_estimate(constants, learner, pair, size)
        elif failed:
            learner.totals["failed_projections"] += 1
    set_radii(constants, learner, pair, size, loss_error, gap)


@lean
def certify_estimate(constants, learner, pair, size):
    """How far the estimate of a pair may be from the exact one: the error of its loss, the gap of its projection.

    Where it is no number, 0 or a uniform row is put in its place: any estimate will do, with its error.
    """
    regression = learner.regression
    gram = regression.gram[pair]
    first = constants.next_start[pair]
    count = regression.seen[pair]
    sums = regression.next_sums[first : first + count]
    rows = learner.rows[first : first + count]
    loss_error = ridge_error(gram, regression.loss_sums[pair], learner.losses[pair], constants.regularization)
    if loss_error == np.inf:
        for j in range(size):
            learner.losses[pair, j] = 0.0
        loss_error = ridge_error(gram, regression.loss_sums[pair], learner.losses[pair], constants.regularization)
    stochastic = cannot_reach_goal(constants, pair)
    gap = projection_gap(gram, sums, rows, count, stochastic)
    if gap == np.inf:
        for r in range(count):
            for j in range(size):
                rows[r, j] = 1.0 / count if stochastic else 0.0
        gap = projection_gap(gram, sums, rows, count, stochastic)
    return loss_error, gap


@lean
def mark_changed(learner, pair):
    """Episodes that hold the set of this pair will compute it again."""
    learner.revision[pair] += 1
    learner.change_log[learner.totals["changes"] % CHANGE_LOG_SIZE] = pair
    learner.totals["changes"] += 1


@lean
def count_pending(constants, learner, episode, scratch, pair):
    """The visit whose outcome the episode awaits begins to count, in the order in which its pair was played."""
    if episode.progress["restarts"] != learner.totals["restarts"] or episode.progress["counted"] == 1:
        return
    if constants.intervals.on:
        audit_pending_against_intervals(constants, learner, episode, pair)
    if constants.likelihood.on:
        add_pending_forecasts(constants, learner, episode, pair, 1)
    norm = in_units(count_visit(constants, learner, scratch, pair, episode.context))
    add_pending(learner.pending, pair, episode.context, norm, 1)
    episode.progress["counted"] = 1
    episode.progress["counted_norm"] = norm


@lean
def keep_pending(constants, learner, episode, scratch, pair):
    """The outcome of a visit will never come: it counts, as one that might have been anything."""
    count_pending(constants, learner, episode, scratch, pair)
    update_estimate(constants, learner, scratch, pair, len(episode.context))
    mark_changed(learner, pair)


@lean
def open_interval(learner, episode):
    """A new interval: it has a number and no plan yet."""
    count_interval(learner, episode)
    episode.progress["intervals"] += 1
    episode.progress["planned"] = 0


@lean
def count_interval(learner, episode):
    """The next number; nothing was lost in it yet."""
    learner.totals["intervals"] += 1
    episode.progress["interval"] = learner.totals["intervals"]
    episode.progress["interval_loss"] = 0.0


@lean
def begin(constants, learner, episode, context):
    """An episode begins with this context: nothing is known of it, planning starts from the plan followed last."""
    for j in range(len(context)):
        episode.context[j] = context[j]
    invalidate(episode)
    for pair in range(len(episode.revision)):
        # What another episode left here must not be seen, not even in the last bit.
        episode.iteration.dual[pair] = (
            learner.values[constants.pair_state[pair]] if episode.sets.shape == INTERVAL_SET else 0.0
        )
    for s in range(len(learner.policy)):
        episode.iteration.values[s] = learner.values[s]
        episode.iteration.policy[s] = learner.policy[s]
    episode.iteration.values[len(learner.policy)] = 0.0
    episode.iteration.progress["total_decrease"] = 0.0
    episode.progress["intervals"] = 0
    episode.progress["unknown_steps"] = 0
    episode.progress["changes_read"] = 0
    episode.progress["changes_known"] = learner.totals["changes"]
    episode.progress["restarts"] = 0
    episode.progress["counted"] = 0
    episode.progress["counted_norm"] = 0
    episode.progress["planned_loss"] = 0.0
    episode.progress["optimistic"] = 0
    if constants.exploration == LOCAL:
        set_loss_shrinkage(constants, learner, episode)
    if constants.interchangeable.on:
        episode.progress["concentration"] = row_concentration(constants, learner)
    learner.totals["episodes"] += 1
    episode.progress["number"] = learner.totals["episodes"]
    open_interval(learner, episode)


@lean
def draw_noise(constants, episode, rng):
    """What is random in a new plan: whether it is optimistic, and noise, by which every pair looks different."""
    episode.progress["optimistic"] = 0
    if constants.optimism > 0.0 and rng.random() < constants.optimism:
        episode.progress["optimistic"] = 1
    for k in range(len(episode.noise)):
        episode.noise[k] = rng.standard_normal()
    invalidate(episode)


@lean
def invalidate(episode):
    """Nothing is known of the context: all pairs will be looked at again."""
    for pair in range(len(episode.revision)):
        episode.revision[pair] = -1
    episode.iteration.progress["residual"] = np.inf


@lean
def locally_optimistic_pair(constants, episode, state):
    """LOCAL: the pair of the least worth less its bonus; ties go to the plan's, then to the first. O(m) for m next
    states of the state's pairs."""
    planned = episode.iteration.policy[state]
    visits = bonus_visits(episode, planned)
    chosen = planned
    best = optimistic_worth(constants, episode, planned, visits)
    for pair in range(constants.pair_start[state], constants.pair_start[state + 1]):
        worth = optimistic_worth(constants, episode, pair, visits)
        if worth < best:
            best = worth
            chosen = pair
    return chosen


@lean
def select_pair(constants, episode, state, rng):
    """The pair to play: that of the plan, or now and then any; LOCAL: the one of the least worth less its bonus."""
    pair = episode.iteration.policy[state]
    if constants.exploration == LOCAL:
        return locally_optimistic_pair(constants, episode, state)
    if constants.explore > 0.0 and rng.random() < constants.explore * episode.progress["number"] ** -constants.fade:
        return uniform_pair(constants.pair_start, state, rng.random())
    return pair


@lean
def update_sets(constants, learner, episode):
    """Compute the sets of the pairs that changed since: O(1) of them if few have, else all are checked."""
    iteration = episode.iteration
    written = learner.totals["changes"]
    read = episode.progress["changes_read"]
    episode.progress["changes_read"] = written
    if iteration.progress["residual"] == np.inf or written - read > CHANGE_LOG_SIZE:
        for pair in range(len(episode.revision)):
            if episode.revision[pair] != learner.revision[pair]:
                pair_set(constants, learner, episode, pair)
        iteration.progress["residual"] = np.inf
        return
    for entry in range(read, written):
        pair = learner.change_log[entry % CHANGE_LOG_SIZE]
        if episode.revision[pair] != learner.revision[pair]:
            pair_set(constants, learner, episode, pair)
            # Only the backup of this state changed; the residuals of the others grow by no more than its change.
            change = improve_state(
                episode.sets, iteration, constants.pair_state[pair], iteration.progress["total_decrease"]
            )
            iteration.progress["residual"] += abs(change)
            iteration.progress["total_decrease"] -= min(change, 0.0)


@lean
def plan(constants, learner, episode, workspace, sweeps):
    """A new plan for the context of the episode (line 25). Returns whether value iteration came to its end.

    Only pairs visited since the last plan are looked at again, and states are swept only if the residual asks for it.
    ``workspace`` may be empty; if it is not, policies are evaluated too, by elimination or, if it is sparse, by the
    Krylov method.
    """
    update_sets(constants, learner, episode)
    if not episode.iteration.progress["residual"] <= constants.tolerance:
        if workspace.sparse:
            sparse_policy_iteration(episode.sets, episode.iteration, 0.5 * constants.tolerance, sweeps, workspace)
        elif constants.policy_iteration:
            policy_iteration(episode.sets, episode.iteration, 0.5 * constants.tolerance, sweeps, workspace)
        else:
            value_iteration(episode.sets, episode.iteration, 0.5 * constants.tolerance, sweeps)
    episode.progress["planned"] = 1
    episode.progress["loss_bound"] = learner.totals["loss_bound"]
    return episode.iteration.progress["residual"] <= constants.tolerance


@lean
def max_optimistic_value(constants, episode):
    """The largest optimistic value of the plan, as a lower bound of the exact one."""
    largest = largest_value(episode.iteration)
    return largest * (1.0 - relative_slack(episode.iteration.progress["residual"], constants.loss_floor, largest))


@lean
def erase_pair(constants, learner, pair, size):
    """All sums of a pair become what they are without data."""
    regression = learner.regression
    for r in range(size):
        for c in range(size):
            regression.gram[pair, r, c] = constants.regularization if r == c else 0.0
            regression.gram_low[pair, r, c] = 0.0
            regression.inverse[pair, r, c] = 1.0 / constants.regularization if r == c else 0.0
        regression.loss_sums[pair, r] = 0.0
        regression.loss_low[pair, r] = 0.0
        regression.goal_sums[pair, r] = 0.0
        regression.goal_low[pair, r] = 0.0
        learner.losses[pair, r] = 0.0
        learner.pending.contexts[pair, r] = 0
    learner.pending.visits[pair] = 0
    learner.pending.norms[pair] = 0
    learner.log_det[pair] = 0.0
    regression.visits[pair] = 0
    regression.seen[pair] = 0
    for k in range(constants.next_start[pair], constants.next_start[pair + 1]):
        regression.seen_index[k] = -1
        for j in range(size):
            regression.next_sums[k, j] = 0.0
            regression.next_low[k, j] = 0.0
            if len(learner.rows) > 0:
                learner.rows[k, j] = 0.0
        if len(learner.variance) > 0:
            for j in range(learner.variance.shape[1]):
                learner.variance[k, j] = 0.0


@lean
def reset_data(constants, learner):
    """Forget all data, as at the very beginning; the loss bound and the count of intervals stay.

    Visits whose outcome is awaited are forgotten too: which ones those are was settled before their outcomes. Before
    the first restart there is nothing to erase, and what is not written to takes no memory (:mod:`.lazy_arrays`).
    """
    size = learner.losses.shape[1]
    learner.totals["squared_losses"] = 0.0
    learner.totals["logged"] = 0
    if constants.forget:
        share = RESTART_SHARE / (learner.totals["restarts"] + 1.0) ** 2
        learner.totals["restart_log"] = -log(share)
    for pair in range(len(learner.revision)):
        if learner.totals["restarts"] > 0:
            erase_pair(constants, learner, pair, size)
            if constants.likelihood.on:
                reset_likelihood(learner, pair)
        set_radii(constants, learner, pair, size, 0.0, 0.0)
        learner.revision[pair] += 1
    learner.totals["changes"] += CHANGE_LOG_SIZE + 1  # nobody's view is up to date
    declare_rows(constants, learner)
    begin_with_models(constants, learner)
    level = variance_log_det_bound(0.0, size, constants.intervals.variance_log + learner.totals["restart_log"])
    for k in range(len(learner.variance)):
        learner.variance_log_det[k] = level


@lean
def restart(constants, learner):
    """The bound has doubled, and all data is forgotten. New data is as sure as before all restarts together: the
    shares of the failure probability sum to 1. (Departs from the paper, which gives each the whole.)"""
    learner.totals["restarts"] += 1
    reset_data(constants, learner)


@lean
def plan_with_doubling(constants, learner, episode, workspace, sweeps):
    """A plan under a loss bound that it does not contradict: the first half of the doubling trick. Returns whether
    value iteration came to its end.

    Departs from the paper: the confidence sets do not depend on B, so the data is kept unless ``forget`` asks for it.
    """
    ended = False
    for _ in range(MOST_DOUBLINGS):
        ended = plan(constants, learner, episode, workspace, sweeps)
        if not constants.doubling:
            return ended
        optimistic = max_optimistic_value(constants, episode)
        if not optimistic > episode.progress["loss_bound"]:
            return ended
        episode.progress["loss_bound"] = doubled_beyond(episode.progress["loss_bound"], optimistic)
        if not constants.forget:
            return ended
        learner.totals["loss_bound"] = episode.progress["loss_bound"]
        learner.totals["doublings"] += 1
        restart(constants, learner)
        invalidate(episode)
    return ended


@lean
def is_known(constants, episode, pair):
    """eq. (ineq-known), with the Gram matrix and the visits at the start of the interval; strict as printed.

    Ways of exploring without confidence sets know nothing for sure; RMAX has a test of its own.
    """
    if constants.prior.row_known[pair] and constants.prior.loss_known[pair]:
        return True
    if constants.exploration != OPTIMISTIC:
        return constants.exploration == RMAX and episode.known_width[pair] <= constants.threshold
    scale = 10.0 * episode.progress["loss_bound"]
    if scale * episode.known_width[pair] >= constants.loss_floor:
        return False
    wide = sqrt(log(4.0 * episode.progress["interval"] / constants.delta))
    return scale * wide * episode.norm[pair] < constants.loss_floor


@lean
def audit_step_against_intervals(constants, learner, episode, pair, place, loss):
    """What a step says about the intervals of its pair, before it is learned from."""
    first = constants.next_start[pair]
    last = constants.next_start[pair + 1]
    low = episode.sets.low[first:last]
    high = episode.sets.high[first:last]
    if constants.tests_linearity:
        losses = (episode.sets.losses[pair], episode.loss_high[pair], constants.prior.floor[pair])
        test_step(
            learner.linearity, pair, first, place, loss + constants.added_loss, losses, low, high, episode.context,
            constants.alarm_log, episode.progress["number"],
        )  # fmt: skip
    if constants.intervals.variance:
        count_variance(constants, learner, episode, pair)


@lean
def audit_pending_against_intervals(constants, learner, episode, pair):
    """A visit without its outcome begins to count: in the test of the linear model its outcome is the one that
    contradicts nothing."""
    first = constants.next_start[pair]
    last = constants.next_start[pair + 1]
    if constants.tests_linearity:
        losses = (
            episode.sets.losses[pair] - constants.added_loss, episode.loss_high[pair] - constants.added_loss,
            constants.prior.floor[pair] - constants.added_loss,
        )  # fmt: skip
        low = episode.sets.low[first:last]
        high = episode.sets.high[first:last]
        test_pending(learner.linearity, pair, first, losses, low, high, episode.context)
    if constants.intervals.variance:
        count_variance(constants, learner, episode, pair)


@lean
def resolve_pending(constants, learner, episode, pair, place, loss):
    """The outcome of a visit that counts already has come."""
    if constants.tests_linearity:
        first = constants.next_start[pair]
        count = constants.next_start[pair + 1] - first
        test_reported(
            learner.linearity,
            pair,
            first,
            count,
            place,
            loss,
            episode.context,
            constants.alarm_log,
            episode.progress["number"],
        )
    if constants.likelihood.on:
        add_pending_forecasts(constants, learner, episode, pair, -1)
    add_pending(learner.pending, pair, episode.context, episode.progress["counted_norm"], -1)
    episode.progress["counted"] = 0


@lean
def is_set_current(learner, episode, pair):
    """Whether the set of a pair is that of its Gram matrix as it is now. Visits that are awaited change the matrix
    before the pair is marked as changed."""
    return episode.revision[pair] == learner.revision[pair] and learner.pending.visits[pair] == 0


@lean
def update_regression(constants, learner, episode, scratch, pair, place, loss):
    """Enter a step and bring the estimate of its pair up to date (lines 10 to 12, 22 and 23). O(count d^2).

    A step whose data was forgotten on the way is not learned from: it may be the one that had it forgotten.
    """
    if episode.progress["restarts"] != learner.totals["restarts"]:
        episode.progress["counted"] = 0
        return
    if episode.progress["counted"] == 1:
        resolve_pending(constants, learner, episode, pair, place, loss)
    else:
        if constants.intervals.on:
            audit_step_against_intervals(constants, learner, episode, pair, place, loss)
        if is_set_current(learner, episode, pair):
            count_visit_of_norm(constants, learner, scratch, pair, episode.context, episode.norm[pair])
        else:
            count_visit(constants, learner, scratch, pair, episode.context)
    learner.totals["squared_losses"] += loss * loss
    goal = len(constants.pair_start) - 1
    record_outcome(
        learner.regression, constants.next_start, constants.next_state, goal, pair, place, loss, episode.context
    )
    if constants.likelihood.on:
        learn_likelihood(constants, learner, episode, pair, place, loss)
    update_estimate(constants, learner, scratch, pair, len(episode.context))
    mark_changed(learner, pair)


@lean
def has_outgrown_plan(constants, learner, episode, pair, known):
    """Whether so much was learned of a pair since the plan of the episode that a new one is due.

    Of an interchangeable pair also when its visits reach a power of two: the first say most of where it leads.
    """
    if constants.interchangeable.on and constants.interchangeable.pairs[pair]:
        visits = learner.regression.visits[pair]
        if visits & (visits - 1) == 0:
            return True
    grown = learner.log_det[pair] - episode.log_det[pair]
    # Below 0: the data was forgotten since. What Rmax knows is not known for sure, so it may not go round for ever.
    enough = LOG_2 if known and constants.exploration == RMAX else constants.growth
    may_end = not known or constants.exploration == RMAX
    return may_end and (grown >= enough or grown < 0.0)


@lean
def leave_plan(constants, learner, episode, pair):
    """A step was learned from that the plan of the episode did not choose: its interval ends if a step of its own would
    have ended it. What was lost in it says nothing about the plan, nor about the loss bound."""
    if episode.progress["planned"] == 0:
        return
    if has_outgrown_plan(constants, learner, episode, pair, is_known(constants, episode, pair)):
        open_interval(learner, episode)


@lean
def best_pair(episode, pairs):
    """Of some pairs the one with the least backup at the values of the plan; ties go to the first."""
    best = np.inf
    chosen = pairs[0]
    for place in range(len(pairs)):
        pair = pairs[place]
        least, _ = inner_minimum(
            episode.sets, pair, episode.iteration.values, episode.iteration.dual[pair], np.inf
        )  # fmt: skip
        worth = episode.sets.losses[pair] + least
        if worth < best:
            best = worth
            chosen = pair
    return chosen


@lean
def observe(constants, learner, episode, scratch, pair, place, loss):
    """Learn from a step of the episode (lines 10 to 20). Returns whether its interval ended.

    ``constants.growth`` above 0 departs from the paper: an unknown step ends the interval only if the pair has learned
    much since the plan.
    Reads the paper as: an interval ends if the pair just played was *unknown*, or at the goal (the listing says known).
    Departs from the paper: while the bound B is being sought, an interval whose loss exceeds 48 B log(4 m / delta)
    contradicts B, which is doubled. The paper's own trigger is enough for its bound (docs/theory/paper_checked.md).
    ``constants.patience``: a plan that loses far more than it expected ends too. A draw may be a plan that never
    arrives, and where its pairs were played often, no determinant doubles soon.
    """
    known = is_known(constants, episode, pair)
    at_goal = constants.next_state[place] == len(constants.pair_start) - 1
    ended = False
    if not known:
        episode.progress["unknown_steps"] += 1
    if constants.patience < np.inf and episode.progress["interval_loss"] == 0.0:
        episode.progress["planned_loss"] = episode.iteration.values[constants.pair_state[pair]]
    episode.progress["interval_loss"] += loss + constants.added_loss
    if constants.patience < np.inf:
        expected = 1.0 + episode.progress["planned_loss"]
        ended = episode.progress["interval_loss"] > constants.patience * expected
    if constants.doubling:
        bound = episode.progress["loss_bound"]
        if bound > learner.totals["loss_bound"]:
            learner.totals["loss_bound"] = bound
            learner.totals["doublings"] += 1
        too_much = (
            episode.progress["interval_loss"] > 48.0 * bound
        )  # log(4 m / delta) > 1: most steps need no logarithm
        if too_much and episode.progress["interval_loss"] > 48.0 * bound * log(
            4.0 * episode.progress["interval"] / constants.delta
        ):
            ended = True
            if learner.totals["loss_bound"] <= bound:
                learner.totals["loss_bound"] = 2.0 * bound
                learner.totals["doublings"] += 1
                if constants.forget:
                    restart(constants, learner)
    update_regression(constants, learner, episode, scratch, pair, place, loss)
    ended = ended or at_goal or has_outgrown_plan(constants, learner, episode, pair, known)
    if constants.exploration == LOCAL and pair != episode.iteration.policy[constants.pair_state[pair]]:
        ended = True  # the bonus is of before the step, and would be paid again
    for s in range(len(learner.policy)):
        learner.values[s] = episode.iteration.values[s]
        learner.policy[s] = episode.iteration.policy[s]
    if ended:
        episode.progress["planned"] = 0
        if not at_goal:
            open_interval(learner, episode)
    elif constants.exploration == OPTIMISTIC and not known:
        count_interval(learner, episode)  # an interval of the proof, though the plan stays
    return ended
