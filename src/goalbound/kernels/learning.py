"""The moves of LR-CSSP (Algorithm 1) and of its kin: begin an episode, plan, learn from a step.

Learners by ridge regression differ in how a pair looks to them (:mod:`goalbound.kernels.looks`) and in when they plan
anew; all else is written once.

The learner that people drive step by step and the loop that plays whole runs call these same functions. "Line n" is
line n of Algorithm 1 as printed, every ``end`` counted: 22 is the regression, 23 the projection, 25 the new plan.
"""

from math import log, sqrt

import numpy as np

from goalbound.kernels.boxes import add_variance, variance_level
from goalbound.kernels.gram import (
    add_to_log_det,
    projection_gap,
    record_outcome,
    record_visit,
    ridge,
    ridge_error,
    solve_context,
    take_visit,
)
from goalbound.kernels.jit import inlined, lean
from goalbound.kernels.learned import (
    BEGUN,
    COUNTED,
    COUNTED_NORM,
    DOUBLINGS,
    EPISODE,
    FAILED_PROJECTIONS,
    HOPE,
    INTERVAL,
    INTERVAL_LOSS,
    INTERVALS,
    JOURNAL,
    LOSS_BOUND,
    OPENED,
    PLANNED,
    READ,
    RESTART,
    RESTARTS,
    RMAX,
    UNKNOWN_STEPS,
    WRITTEN,
)
from goalbound.kernels.looks import look_at
from goalbound.kernels.optimism import (
    BOX,
    FALL,
    RESIDUAL,
    improve_state,
    largest_value,
    settle,
    settle_by_policies,
    shortfall,
)
from goalbound.kernels.pending import add_pending, in_units, pending_norm
from goalbound.kernels.projection import project
from goalbound.kernels.residuals import note_pending, note_reported, note_step
from goalbound.kernels.stochastic_rows import cannot_reach_goal, declare_rows
from goalbound.kernels.world import any_pair

LOG_2 = 0.6931471805599
RESTART_SHARE = 0.6079271018540267
"""6 / pi^2: data that is forgotten r times has the shares RESTART_SHARE / (r + 1)^2 of the failure probability."""


@inlined
def set_radii(rules, learned, pair, size, loss_error, gap):
    """The radii of a pair whose data has changed.

    eq. (loss-conf-set), eq. (dynamics-conf-set) and the beta of eq. (ineq-known).
    Reads the paper as: 1 + tau / lambda in all three.
    Departs from the paper: outcomes that are missing, an inexact ridge estimate (``loss_error``), an inexact projection
    (``gap``) and data that may be forgotten make the sets larger; all four are nearly always 0 or next to it.
    """
    grown = log(1.0 + learned.memory.visits[pair] / rules.regularization) + learned.restart_log[0]
    root = sqrt(rules.regularization)
    rho = sqrt(size * (rules.next_log + grown)) + root
    missing = pending_norm(learned.pending, pair)
    statistical = rules.loss_factor * (sqrt(size * (rules.loss_log + grown)) + root)
    learned.loss_radius[pair] = statistical + missing + loss_error
    radius = rules.next_factor[pair] * rho + missing
    learned.next_radius[pair] = sqrt(radius * radius + 2.0 * gap)
    excess = learned.next_radius[pair] - rules.next_factor[pair] * rho
    learned.doubt[pair] = rules.doubt_factor[pair] * rho + rules.width_factor[pair] * excess + loss_error


@inlined
def count_visit(rules, learned, desk, pair, context):
    """A visit enters the Gram matrix of its pair (lines 10 and 11). Returns the norm of its context before."""
    memory = learned.memory
    norm, _, _ = solve_context(
        memory.gram[pair], memory.inverse[pair], context, rules.regularization, desk.vector, desk.sums
    )
    learned.volume[pair] = add_to_log_det(learned.volume[pair], norm)
    record_visit(memory, pair, context, rules.regularization, desk.vector, desk.block)
    return norm


@inlined
def update_estimate(rules, learned, desk, pair, size):
    """The estimate and the radii of a pair, from its sums (lines 22 and 23).

    Only this pair's can have changed. O(count d^2) for the ``count`` next states that were seen, or that are declared
    where the goal is not.
    """
    memory = learned.memory
    first = rules.next_start[pair]
    count = memory.seen[pair]
    inverse = memory.inverse[pair]
    ridge(memory.loss_sums[pair : pair + 1], inverse, 1, learned.losses[pair : pair + 1])
    loss_error = 0.0
    gap = 0.0
    if not rules.box.on:  # boxes are made from the sums
        rows = learned.rows[first : first + count]
        ridge(memory.next_sums[first : first + count], inverse, count, desk.target)
        stochastic = cannot_reach_goal(rules, pair)
        failed = project(memory.gram[pair], inverse, count, stochastic, desk, rows) < 0
        if rules.attitude == HOPE:
            loss_error, gap = certify_estimate(rules, learned, pair, size)
        elif failed:
            learned.tally[FAILED_PROJECTIONS] += 1
    set_radii(rules, learned, pair, size, loss_error, gap)


@lean
def certify_estimate(rules, learned, pair, size):
    """How far the estimate of a pair may be from the exact one: the error of its loss, the gap of its projection.

    Where it is no number, 0 or a uniform row is put in its place: any estimate will do, with its error.
    """
    memory = learned.memory
    gram = memory.gram[pair]
    first = rules.next_start[pair]
    count = memory.seen[pair]
    sums = memory.next_sums[first : first + count]
    rows = learned.rows[first : first + count]
    loss_error = ridge_error(gram, memory.loss_sums[pair], learned.losses[pair], rules.regularization)
    if loss_error == np.inf:
        for j in range(size):
            learned.losses[pair, j] = 0.0
        loss_error = ridge_error(gram, memory.loss_sums[pair], learned.losses[pair], rules.regularization)
    stochastic = cannot_reach_goal(rules, pair)
    gap = projection_gap(gram, sums, rows, count, stochastic)
    if gap == np.inf:
        for r in range(count):
            for j in range(size):
                rows[r, j] = 1.0 / count if stochastic else 0.0
        gap = projection_gap(gram, sums, rows, count, stochastic)
    return loss_error, gap


@inlined
def mark_changed(learned, pair):
    """Views that hold this pair will look at it again."""
    learned.changes[pair] += 1
    learned.journal[learned.tally[WRITTEN] % JOURNAL] = pair
    learned.tally[WRITTEN] += 1


@lean
def count_pending(rules, learned, view, desk, pair):
    """The visit whose outcome the episode awaits begins to count, in the order in which its pair was played."""
    if view.tally[RESTART] != learned.tally[RESTARTS] or view.tally[COUNTED] == 1:
        return
    if rules.box.on:
        hold_pending_against_boxes(rules, learned, view, pair, 1)
    norm = in_units(count_visit(rules, learned, desk, pair, view.context))
    add_pending(learned.pending, pair, view.context, norm, 1)
    view.tally[COUNTED] = 1
    view.tally[COUNTED_NORM] = norm


@lean
def leave_pending(rules, learned, view, desk, pair):
    """The outcome of a visit will never come: it counts, as one that might have been anything."""
    count_pending(rules, learned, view, desk, pair)
    update_estimate(rules, learned, desk, pair, len(view.context))
    mark_changed(learned, pair)


@lean
def withdraw_visit(rules, learned, view, desk, pair):
    """A visit that counts is taken back: its outcome is missing for reasons that have nothing to do with it.

    The log-determinant stays, as an upper bound, and so do the sums of variances.
    """
    if view.tally[RESTART] != learned.tally[RESTARTS]:
        return
    if rules.box.on:
        hold_pending_against_boxes(rules, learned, view, pair, -1)
    add_pending(learned.pending, pair, view.context, view.tally[COUNTED_NORM], -1)
    take_visit(learned.memory, pair, view.context, rules.regularization, desk.block)
    update_estimate(rules, learned, desk, pair, len(view.context))
    mark_changed(learned, pair)
    view.tally[COUNTED] = 0


@inlined
def open_interval(learned, view):
    """A new interval: it has a number and no plan yet."""
    number_interval(learned, view)
    view.tally[INTERVALS] += 1
    view.tally[PLANNED] = 0


@inlined
def number_interval(learned, view):
    """The next number; nothing was lost in it yet."""
    learned.tally[OPENED] += 1
    view.tally[INTERVAL] = learned.tally[OPENED]
    view.gauge[INTERVAL_LOSS] = 0.0


@inlined
def begin(rules, learned, view, context):
    """An episode begins with this context: nothing is known of it, planning starts from the plan followed last."""
    for j in range(len(context)):
        view.context[j] = context[j]
    forget_looks(view)
    for pair in range(len(view.version)):
        # What another episode left here must not be seen, not even in the last bit.
        view.outlook.pull[pair] = learned.values[rules.pair_state[pair]] if view.plausible.shape == BOX else 0.0
    for s in range(len(learned.policy)):
        view.outlook.values[s] = learned.values[s]
        view.outlook.policy[s] = learned.policy[s]
    view.outlook.values[len(learned.policy)] = 0.0
    view.outlook.meter[FALL] = 0.0
    for place in range(len(view.tally)):
        view.tally[place] = 0
    learned.tally[BEGUN] += 1
    view.tally[EPISODE] = learned.tally[BEGUN]
    open_interval(learned, view)


@lean
def resample(view, rng):
    """New noise, for a new plan: every pair looks different."""
    for k in range(len(view.noise)):
        view.noise[k] = rng.standard_normal()
    forget_looks(view)


@inlined
def forget_looks(view):
    """Nothing is known of the context: all pairs will be looked at again."""
    for pair in range(len(view.version)):
        view.version[pair] = -1
    view.outlook.meter[RESIDUAL] = np.inf


@inlined
def choose(rules, view, state, rng):
    """The pair to play: that of the plan, or now and then any."""
    pair = view.outlook.policy[state]
    if rules.explore > 0.0 and rng.random() < rules.explore * view.tally[EPISODE] ** -rules.fade:
        return any_pair(rules.pair_start, state, rng.random())
    return pair


@inlined
def refresh(rules, learned, view):
    """Look again at the pairs that changed since: O(1) of them if the view has missed little, else all are checked."""
    outlook = view.outlook
    written = learned.tally[WRITTEN]
    read = view.tally[READ]
    view.tally[READ] = written
    if outlook.meter[RESIDUAL] == np.inf or written - read > JOURNAL:
        for pair in range(len(view.version)):
            if view.version[pair] != learned.changes[pair]:
                look_at(rules, learned, view, pair)
        outlook.meter[RESIDUAL] = np.inf
        return
    for entry in range(read, written):
        pair = learned.journal[entry % JOURNAL]
        if view.version[pair] != learned.changes[pair]:
            look_at(rules, learned, view, pair)
            # Only the backup of this state changed; the residuals of the others grow by no more than its change.
            change = improve_state(view.plausible, outlook, rules.pair_state[pair], outlook.meter[FALL])
            outlook.meter[RESIDUAL] += abs(change)
            outlook.meter[FALL] -= min(change, 0.0)


@inlined
def plan(rules, learned, view, bench, sweeps):
    """A new plan for the context of the view (line 25). Returns whether value iteration came to its end.

    Only pairs visited since the last plan are looked at again, and states are swept only if the residual asks for it.
    ``bench`` may be empty; with room in it, policies are evaluated too.
    """
    refresh(rules, learned, view)
    if not view.outlook.meter[RESIDUAL] <= rules.tolerance:
        if len(bench.leaving) > 0:
            settle_by_policies(view.plausible, view.outlook, 0.5 * rules.tolerance, sweeps, bench)
        else:
            settle(view.plausible, view.outlook, 0.5 * rules.tolerance, sweeps)
    view.tally[PLANNED] = 1
    view.gauge[LOSS_BOUND] = learned.bound[0]
    return view.outlook.meter[RESIDUAL] <= rules.tolerance


@inlined
def hoped_value(rules, view):
    """The largest optimistic value of the plan, as a lower bound of the exact one."""
    largest = largest_value(view.outlook)
    return largest * (1.0 - shortfall(view.outlook.meter[RESIDUAL], rules.loss_floor, largest))


@lean
def wipe(rules, learned):
    """Forget all data, as at the very beginning; the loss bound and the count of intervals stay.

    Visits whose outcome is awaited are forgotten too: which ones those are was settled before their outcomes.
    """
    memory = learned.memory
    size = learned.losses.shape[1]
    if rules.forget:
        share = RESTART_SHARE / (learned.tally[RESTARTS] + 1.0) ** 2
        learned.restart_log[0] = -log(share)
    for pair in range(len(memory.visits)):
        for r in range(size):
            for c in range(size):
                memory.gram[pair, r, c] = rules.regularization if r == c else 0.0
                memory.gram_low[pair, r, c] = 0.0
                memory.inverse[pair, r, c] = 1.0 / rules.regularization if r == c else 0.0
            memory.loss_sums[pair, r] = 0.0
            memory.loss_low[pair, r] = 0.0
            memory.goal_sums[pair, r] = 0.0
            memory.goal_low[pair, r] = 0.0
            learned.losses[pair, r] = 0.0
            learned.pending.contexts[pair, r] = 0
        learned.pending.visits[pair] = 0
        learned.pending.norms[pair] = 0
        learned.volume[pair] = 0.0
        memory.visits[pair] = 0
        memory.seen[pair] = 0
        set_radii(rules, learned, pair, size, 0.0, 0.0)
        learned.changes[pair] += 1
    learned.tally[WRITTEN] += JOURNAL + 1  # nobody's view is up to date
    for k in range(len(memory.slot)):
        memory.slot[k] = -1
        for j in range(size):
            memory.next_sums[k, j] = 0.0
            memory.next_low[k, j] = 0.0
            learned.rows[k, j] = 0.0
    declare_rows(rules, learned)
    for k in range(len(learned.variance)):
        learned.level[k] = variance_level(0.0, size, rules.box.variance_log + learned.restart_log[0])
        for r in range(size):
            for c in range(size):
                learned.variance[k, r, c] = 0.0


@inlined
def restart(rules, learned):
    """The bound has doubled, and all data is forgotten. New data is as sure as before all restarts together: the
    shares of the failure probability sum to 1. (Departs from the paper, which gives each the whole.)"""
    learned.tally[RESTARTS] += 1
    wipe(rules, learned)


@inlined
def prepare(rules, learned, view, bench, sweeps):
    """A plan under a loss bound that it does not contradict: the first half of the doubling trick. Returns whether
    value iteration came to its end.

    Departs from the paper: the confidence sets do not depend on B, so the data is kept unless ``forget`` asks for it.
    """
    while True:
        ended = plan(rules, learned, view, bench, sweeps)
        if not rules.doubling:
            return ended
        hoped = hoped_value(rules, view)
        if hoped <= view.gauge[LOSS_BOUND]:
            return ended
        while view.gauge[LOSS_BOUND] < hoped:
            view.gauge[LOSS_BOUND] *= 2.0
        if not rules.forget:
            return ended
        learned.bound[0] = view.gauge[LOSS_BOUND]
        learned.tally[DOUBLINGS] += 1
        restart(rules, learned)
        forget_looks(view)


@inlined
def is_known(rules, view, pair):
    """eq. (ineq-known), with the Gram matrix and the visits at the start of the interval; strict as printed.

    Attitudes without confidence sets know nothing for sure; RMAX has a test of its own.
    """
    if rules.told.row_known[pair] and rules.told.loss_known[pair]:
        return True
    if rules.attitude != HOPE:
        return rules.attitude == RMAX and view.doubt[pair] <= rules.threshold
    scale = 10.0 * view.gauge[LOSS_BOUND]
    if scale * view.doubt[pair] >= rules.loss_floor:
        return False
    wide = sqrt(log(4.0 * view.tally[INTERVAL] / rules.delta))
    return scale * wide * view.norm[pair] < rules.loss_floor


@inlined
def hold_against_boxes(rules, learned, view, pair, place, loss):
    """What a step says about the intervals of its pair, before it is learned from."""
    first = rules.next_start[pair]
    last = rules.next_start[pair + 1]
    low = view.plausible.low[first:last]
    high = view.plausible.high[first:last]
    if len(learned.excess.steps) > 0:
        losses = (view.plausible.losses[pair], view.loss_high[pair], rules.told.floor[pair])
        note_step(
            learned.excess, pair, first, place, loss + rules.added_loss, losses, low, high, view.context,
            rules.alarm_log, view.tally[EPISODE],
        )  # fmt: skip
    if rules.box.variance:
        count_variance(rules, learned, view, pair)


@inlined
def count_variance(rules, learned, view, pair):
    """Bounds of the variance of a visit, from the intervals that it was planned with."""
    first = rules.next_start[pair]
    last = rules.next_start[pair + 1]
    add_variance(
        view.plausible.low[first:last], view.plausible.high[first:last], view.context,
        rules.box.variance_log + learned.restart_log[0], learned.variance[first:last], learned.level[first:last],
    )  # fmt: skip


@inlined
def hold_pending_against_boxes(rules, learned, view, pair, sign):
    """A visit without its outcome begins to count (``sign`` 1), or is taken back (-1): in the test of the linear model
    its outcome is the one that contradicts nothing."""
    first = rules.next_start[pair]
    last = rules.next_start[pair + 1]
    if len(learned.excess.steps) > 0:
        losses = (
            view.plausible.losses[pair] - rules.added_loss, view.loss_high[pair] - rules.added_loss,
            rules.told.floor[pair] - rules.added_loss,
        )  # fmt: skip
        low = view.plausible.low[first:last]
        high = view.plausible.high[first:last]
        note_pending(learned.excess, pair, first, losses, low, high, view.context, sign)
    if rules.box.variance and sign > 0:
        count_variance(rules, learned, view, pair)


@lean
def settle_pending(rules, learned, view, pair, place, loss):
    """The outcome of a visit that counts already has come."""
    if rules.box.on and len(learned.excess.steps) > 0:
        first = rules.next_start[pair]
        count = rules.next_start[pair + 1] - first
        note_reported(
            learned.excess, pair, first, count, place, loss, view.context, rules.alarm_log, view.tally[EPISODE]
        )
    add_pending(learned.pending, pair, view.context, view.tally[COUNTED_NORM], -1)
    view.tally[COUNTED] = 0


@inlined
def learn(rules, learned, view, desk, pair, place, loss):
    """Enter a step and bring the estimate of its pair up to date (lines 10 to 12, 22 and 23). O(count d^2).

    A step whose data was forgotten on the way is not learned from: it may be the one that had it forgotten.
    """
    if view.tally[RESTART] != learned.tally[RESTARTS]:
        view.tally[COUNTED] = 0
        return
    if view.tally[COUNTED] == 1:
        settle_pending(rules, learned, view, pair, place, loss)
    else:
        if rules.box.on:
            hold_against_boxes(rules, learned, view, pair, place, loss)
        count_visit(rules, learned, desk, pair, view.context)
    goal = len(rules.pair_start) - 1
    record_outcome(learned.memory, rules.next_start, rules.next_state, goal, pair, place, loss, view.context)
    update_estimate(rules, learned, desk, pair, len(view.context))
    mark_changed(learned, pair)


@inlined
def observe(rules, learned, view, desk, pair, place, loss):
    """Learn from a step of the episode (lines 10 to 20). Returns whether its interval ended.

    ``rules.growth`` above 0 departs from the paper: an unknown step ends the interval only if the pair has learned
    much since the plan.
    Reads the paper as: an interval ends if the pair just played was *unknown*, or at the goal (the listing says known).
    Departs from the paper: while the bound B is being sought, an interval whose loss exceeds 48 B log(4 m / delta)
    contradicts B, which is doubled; else a B too small could call pairs known that go round for ever.
    """
    known = is_known(rules, view, pair)
    at_goal = rules.next_state[place] == len(rules.pair_start) - 1
    ended = False
    if not known:
        view.tally[UNKNOWN_STEPS] += 1
    view.gauge[INTERVAL_LOSS] += loss + rules.added_loss
    if rules.doubling:
        bound = view.gauge[LOSS_BOUND]
        if bound > learned.bound[0]:
            learned.bound[0] = bound
            learned.tally[DOUBLINGS] += 1
        too_much = view.gauge[INTERVAL_LOSS] > 48.0 * bound  # log(4 m / delta) > 1: most steps need no logarithm
        if too_much and view.gauge[INTERVAL_LOSS] > 48.0 * bound * log(4.0 * view.tally[INTERVAL] / rules.delta):
            ended = True
            if learned.bound[0] <= bound:
                learned.bound[0] = 2.0 * bound
                learned.tally[DOUBLINGS] += 1
                if rules.forget:
                    restart(rules, learned)
    learn(rules, learned, view, desk, pair, place, loss)
    grown = learned.volume[pair] - view.volume[pair]
    # Below 0: the data was forgotten since. What Rmax knows is not known for sure, so it may not go round for ever.
    enough = LOG_2 if known and rules.attitude == RMAX else rules.growth
    may_end = not known or rules.attitude == RMAX
    ended = ended or at_goal or (may_end and (grown >= enough or grown < 0.0))
    for s in range(len(learned.policy)):
        learned.values[s] = view.outlook.values[s]
        learned.policy[s] = view.outlook.policy[s]
    if ended:
        view.tally[PLANNED] = 0
        if not at_goal:
            open_interval(learned, view)
    elif rules.attitude == HOPE and not known:
        number_interval(learned, view)  # an interval of the proof, though the plan stays
    return ended
