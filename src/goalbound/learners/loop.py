"""LR-CSSP (Algorithm 1) step by step.

"Line n" is line n of Algorithm 1 as printed, every ``end`` counted.

    lines 1, 2         no data: :func:`.doubling.reset_data`
    lines 3 to 5       an episode begins: :func:`begin`
    lines 6 to 9       it acts by its plan, and a step comes of it: :mod:`.episode`, or :mod:`.episode_loop`
    lines 10 to 12     the step enters the Gram matrix and the sums of its pair: :mod:`.visits`
    lines 13 to 20     the interval ends: :func:`observe`
    lines 22, 23       the regression and the projection of the pair: ``renew`` of the confidence model
    line 25            a new plan: :func:`plan`

Learners differ in what fills the slots: the set of a pair (:mod:`goalbound.confidence.protocol`), when and how they
explore (:mod:`goalbound.learners.explore.protocol`), and the bound of the loss (:mod:`.doubling`). The learner that
people drive step by step and the loop that plays whole runs call these same functions.
"""

import numpy as np

from goalbound.confidence.protocol import is_known, known_width, loss_set, row_set
from goalbound.confidence.regression import solve_context
from goalbound.jit.compile import Slot, lean
from goalbound.learners.explore.protocol import begin_exploring, ends, goes_on, outgrown
from goalbound.learners.state import CHANGE_LOG_SIZE
from goalbound.learners.visits import learn_outcome
from goalbound.planning.kernels.value_iteration import (
    INTERVAL_SET,
    improve_state,
    largest_value,
    minimum_of_shape,
    policy_iteration,
    relative_slack,
    value_iteration,
)

improve_plan = Slot("improve_plan")
"""``(constants, view, workspace, sweeps)`` value iteration in the sets of a view, to half the tolerance."""
contradicts_bound = Slot("contradicts_bound")
"""``(constants, state, view) -> bool`` whether the loss of the interval contradicts the loss bound."""


@lean
def improve_by_sweeps(constants, view, workspace, sweeps):
    """Value iteration."""
    value_iteration(view.sets, view.iteration, 0.5 * constants.tolerance, sweeps)


@lean
def improve_by_elimination(constants, view, workspace, sweeps):
    """Policies are evaluated too, by elimination: O(S^3), for few states."""
    policy_iteration(view.sets, view.iteration, 0.5 * constants.tolerance, sweeps, workspace)


@lean
def begin(constants, state, view, context):
    """An episode begins with this context (lines 3 to 5): nothing is known of it, planning starts from the plan that
    was followed last."""
    for j in range(len(context)):
        view.context[j] = context[j]
    invalidate(view)
    for pair in range(len(view.revision)):
        # What another episode left here must not be seen, not even in the last bit.
        view.iteration.dual[pair] = state.values[constants.pair_state[pair]] if view.sets.shape == INTERVAL_SET else 0.0
    for s in range(len(state.policy)):
        view.iteration.values[s] = state.values[s]
        view.iteration.policy[s] = state.policy[s]
    view.iteration.values[len(state.policy)] = 0.0
    view.iteration.progress["total_decrease"] = 0.0
    view.progress["intervals"] = 0
    view.progress["unknown_steps"] = 0
    view.progress["changes_read"] = 0
    view.progress["changes_known"] = state.totals["changes"]
    view.progress["restarts"] = 0
    view.progress["counted"] = 0
    view.progress["counted_norm"] = 0
    begin_exploring(constants, state, view)
    state.totals["episodes"] += 1
    view.progress["number"] = state.totals["episodes"]
    open_interval(state, view)


@lean
def open_interval(state, view):
    """A new interval: it has a number and no plan yet."""
    count_interval(state, view)
    view.progress["intervals"] += 1
    view.progress["planned"] = 0


@lean
def count_interval(state, view):
    """The next number; nothing was lost in it yet."""
    state.totals["intervals"] += 1
    view.progress["interval"] = state.totals["intervals"]
    view.progress["interval_loss"] = 0.0


@lean
def invalidate(view):
    """Nothing is known of the context: all pairs will be looked at again."""
    for pair in range(len(view.revision)):
        view.revision[pair] = -1
    view.iteration.progress["residual"] = np.inf


@lean
def look_at(constants, state, view, pair):
    """The plausible losses and rows of a pair under the context of the view. O(count d + d^2), and what the set adds.

    The true loss is not below its floor, so raising the set to it keeps the guarantee.
    """
    view.revision[pair] = state.revision[pair]
    view.log_det[pair] = state.log_det[pair]
    view.iteration.backup[pair] = -np.inf
    norm, slack, spread = solve_context(
        state.regression.gram[pair],
        state.regression.inverse[pair],
        view.context,
        constants.regularization,
        view.direction,
        view.residual,
    )
    view.norm[pair] = norm
    view.progress["slack"] = slack
    view.progress["spread"] = spread
    floor = constants.declared.floor[pair]
    low, high = loss_set(constants, state, view, pair)
    view.sets.losses[pair] = max(floor, low + constants.added_loss)
    view.loss_high[pair] = max(floor, high + constants.added_loss)
    width = row_set(constants, state, view, pair)
    view.known_width[pair] = known_width(constants, state, view, pair, low, high, width)


@lean
def update_sets(constants, state, view):
    """Compute the sets of the pairs that changed since: O(1) of them if few have, else all are checked."""
    iteration = view.iteration
    written = state.totals["changes"]
    read = view.progress["changes_read"]
    view.progress["changes_read"] = written
    if iteration.progress["residual"] == np.inf or written - read > CHANGE_LOG_SIZE:
        for pair in range(len(view.revision)):
            if view.revision[pair] != state.revision[pair]:
                look_at(constants, state, view, pair)
        iteration.progress["residual"] = np.inf
        return
    for entry in range(read, written):
        pair = state.change_log[entry % CHANGE_LOG_SIZE]
        if view.revision[pair] != state.revision[pair]:
            look_at(constants, state, view, pair)
            # Only the backup of this state changed; the residuals of the others grow by no more than its change.
            change = improve_state(
                view.sets, iteration, constants.pair_state[pair], iteration.progress["total_decrease"]
            )
            iteration.progress["residual"] += abs(change)
            iteration.progress["total_decrease"] -= min(change, 0.0)


@lean
def plan(constants, state, view, workspace, sweeps):
    """A new plan for the context of the view (line 25). Returns whether value iteration came to its end.

    Only pairs visited since the last plan are looked at again, and states are swept only if the residual asks for it.
    """
    update_sets(constants, state, view)
    if not view.iteration.progress["residual"] <= constants.tolerance:
        improve_plan(constants, view, workspace, sweeps)
    view.progress["planned"] = 1
    view.progress["loss_bound"] = state.totals["loss_bound"]
    return view.iteration.progress["residual"] <= constants.tolerance


@lean
def max_optimistic_value(constants, view):
    """The largest optimistic value of the plan, as a lower bound of the exact one."""
    largest = largest_value(view.iteration)
    return largest * (1.0 - relative_slack(view.iteration.progress["residual"], constants.loss_floor, largest))


@lean
def observe(constants, state, view, scratch, pair, place, loss):
    """Learn from a step of the episode (lines 8 to 25). Returns whether its interval ended.

    Reads the paper as: an interval ends if the pair just played was *unknown*, or at the goal (the listing says known).
    Departs from the paper: a step may also end it because the exploration rule says so, or because the loss of the
    interval contradicts the loss bound; and where ``constants.growth`` is above 0, an unknown step ends it only if its
    pair has learned much since the plan.
    """
    known = is_known(constants, state, view, pair)  # by the sets of the plan, before the step is learned
    at_goal = constants.next_state[place] == len(constants.pair_start) - 1
    if not known:
        view.progress["unknown_steps"] += 1
    ended = ends(constants, state, view, pair, loss)
    view.progress["interval_loss"] += loss + constants.added_loss
    ended = contradicts_bound(constants, state, view) or ended
    learn_outcome(constants, state, view, scratch, pair, place, loss)  # lines 10 to 12, 22 and 23
    ended = ended or at_goal or outgrown(constants, state, view, pair, known)  # line 13
    remember_plan(state, view)
    if ended:
        view.progress["planned"] = 0  # line 25 follows when the episode acts next
        if not at_goal:
            open_interval(state, view)  # lines 14 to 20
    else:
        goes_on(constants, state, view, known)
    return ended


@lean
def remember_plan(state, view):
    """The next context starts from the plan of this one."""
    for s in range(len(state.policy)):
        state.values[s] = view.iteration.values[s]
        state.policy[s] = view.iteration.policy[s]


@lean
def leave_plan(constants, state, view, pair):
    """A step was learned from that the plan of the episode did not choose: its interval ends if a step of its own would
    have ended it. What was lost in it says nothing about the plan, nor about the loss bound."""
    if view.progress["planned"] == 0:
        return
    if outgrown(constants, state, view, pair, is_known(constants, state, view, pair)):
        open_interval(state, view)


@lean
def best_pair(view, pairs):
    """Of some pairs the one with the least backup at the values of the plan; ties go to the first."""
    best = np.inf
    chosen = pairs[0]
    for place in range(len(pairs)):
        pair = pairs[place]
        least, _ = minimum_of_shape(view.sets, pair, view.iteration.values, view.iteration.dual[pair], np.inf)
        worth = view.sets.losses[pair] + least
        if worth < best:
            best = worth
            chosen = pair
    return chosen


@lean
def all_pair_sets(constants, state, view):
    """The sets of all pairs under the context of the view. O(M d + N d^2), with bounds by the variance O(M d^2)."""
    for pair in range(len(view.revision)):
        look_at(constants, state, view, pair)


@lean
def known_pairs(constants, state, view, out_known):
    """Which pairs are known, by the sets that the view holds: ``out_known`` [N]. O(N)."""
    for pair in range(len(out_known)):
        out_known[pair] = is_known(constants, state, view, pair)
