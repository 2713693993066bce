"""The moves of LR-CSSP (Algorithm 1) and of its kin: begin an episode, plan, learn from a step.

Learners by ridge regression differ in how a pair looks to them (:mod:`goalbound.kernels.looks`) and in when they plan
anew; all else is written once.

The learner that people drive step by step and the loop that plays whole runs call these same functions. "Line n" is
line n of Algorithm 1 as printed, every ``end`` counted: 22 is the regression, 23 the projection, 25 the new plan.
"""

from math import log, sqrt

import numpy as np

from goalbound.kernels.boxes import add_variance, variance_level
from goalbound.kernels.gram import quadratic, record, ridge
from goalbound.kernels.jit import inlined, lean
from goalbound.kernels.learned import (
    BEGUN,
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
from goalbound.kernels.projection import project
from goalbound.kernels.residuals import note_step
from goalbound.kernels.world import any_pair

LOG_2 = 0.6931471805599


@inlined
def set_radii(rules, learned, pair, size):
    """The radii of a pair whose data has changed.

    eq. (loss-conf-set), eq. (dynamics-conf-set) and the beta of eq. (ineq-known).
    Reads the paper as: 1 + tau / lambda in all three.
    """
    grown = log(1.0 + learned.memory.visits[pair] / rules.regularization)
    root = sqrt(rules.regularization)
    rho = sqrt(size * (rules.next_log + grown)) + root
    learned.loss_radius[pair] = rules.loss_factor * (sqrt(size * (rules.loss_log + grown)) + root)
    learned.next_radius[pair] = rules.next_factor[pair] * rho
    learned.doubt[pair] = rules.doubt_factor[pair] * rho
    learned.changes[pair] += 1


@inlined
def learn(rules, learned, desk, pair, place, loss, context):
    """Enter a step and bring the estimate of its pair up to date (lines 10 to 12, 22 and 23).

    Only this pair's estimate can have changed. O(count d^2) for the ``count`` next states that were seen.
    """
    memory = learned.memory
    size = len(context)
    goal = len(rules.pair_start) - 1
    learned.volume[pair] += log(1.0 + quadratic(memory.inverse[pair], context))
    record(memory, rules.next_start, rules.next_state, goal, pair, place, loss, context, desk.vector)
    first = rules.next_start[pair]
    count = memory.seen[pair]
    inverse = memory.inverse[pair]
    ridge(memory.loss_sums[pair : pair + 1], inverse, 1, learned.losses[pair : pair + 1])
    if not rules.box.on:  # boxes are made from the sums
        ridge(memory.next_sums[first : first + count], inverse, count, desk.target)
        if project(memory.gram[pair], inverse, count, desk, learned.rows[first : first + count]) < 0:
            learned.tally[FAILED_PROJECTIONS] += 1
    set_radii(rules, learned, pair, size)
    learned.journal[learned.tally[WRITTEN] % JOURNAL] = pair
    learned.tally[WRITTEN] += 1


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
    """Forget all data, as at the very beginning; the loss bound and the count of intervals stay."""
    memory = learned.memory
    size = learned.losses.shape[1]
    for pair in range(len(memory.visits)):
        for r in range(size):
            for c in range(size):
                memory.gram[pair, r, c] = rules.regularization if r == c else 0.0
                memory.inverse[pair, r, c] = 1.0 / rules.regularization if r == c else 0.0
            memory.loss_sums[pair, r] = 0.0
            memory.goal_sums[pair, r] = 0.0
            learned.losses[pair, r] = 0.0
        learned.volume[pair] = 0.0
        memory.visits[pair] = 0
        memory.seen[pair] = 0
        set_radii(rules, learned, pair, size)
    learned.tally[WRITTEN] += JOURNAL + 1  # nobody's view is up to date
    for k in range(len(memory.slot)):
        memory.slot[k] = -1
        for j in range(size):
            memory.next_sums[k, j] = 0.0
            learned.rows[k, j] = 0.0
    for k in range(len(learned.variance)):
        learned.level[k] = variance_level(0.0, size, rules.box.variance_log)
        for r in range(size):
            for c in range(size):
                learned.variance[k, r, c] = 0.0


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
        wipe(rules, learned)
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
        variance = learned.variance[first:last]
        add_variance(low, high, view.context, rules.box.variance_log, variance, learned.level[first:last])


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
                    wipe(rules, learned)
    if rules.box.on:
        hold_against_boxes(rules, learned, view, pair, place, loss)
    learn(rules, learned, desk, pair, place, loss, view.context)
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
