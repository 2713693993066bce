"""The loss bound B: given, or found by doubling, and the data that doubling forgets.

Departs from the paper: while B is being sought, an interval whose loss exceeds 48 B log(4 m / delta) contradicts B too,
which is doubled. The paper's own trigger, an optimistic value above B, is enough for its bound
(docs/theory/paper_checked.md).
"""

from math import log
from typing import NamedTuple

from goalbound.confidence.declared import begin_sums_with_models
from goalbound.confidence.pooling import begin_gram
from goalbound.confidence.protocol import erase, start
from goalbound.jit.compile import Kernel, Slot, lean
from goalbound.learners.loop import contradicts_bound, invalidate, max_optimistic_value, plan
from goalbound.learners.state import CHANGE_LOG_SIZE
from goalbound.learners.visits import forget_missing
from goalbound.planning.kernels.stochastic_rows import cannot_reach_goal
from goalbound.planning.kernels.value_iteration import MOST_DOUBLINGS, doubled_beyond

RESTART_SHARE = 0.6079271018540267
"""6 / pi^2: data that is forgotten r times has the shares RESTART_SHARE / (r + 1)^2 of the failure probability."""
LONG_INTERVAL = 48.0
"""Of an interval that contradicts the bound."""

plan_under_bound = Slot("plan_under_bound")
"""``(constants, state, view, workspace, sweeps) -> bool`` a plan under the loss bound, and whether value iteration came
to its end."""
bound_doubled = Slot("bound_doubled")
"""``(constants, state)`` an interval has doubled the loss bound."""
restart_log = Slot("restart_log")
"""``(state) -> log`` of the share of the failure probability that the data since the last restart has."""


@lean
def never_contradicts(constants, state, view):
    """A bound that was given stays."""
    return False


@lean
def data_is_kept(constants, state):
    """Departs from the paper: the confidence sets do not depend on B, so the data is kept unless ``forget`` asks for
    it."""


@lean
def whole_failure(state):
    """Data that is never forgotten has all of it."""
    return 0.0


@lean
def share_after_restarts(state):
    """The shares of all restarts sum to 1. (Departs from the paper, which gives each the whole.)"""
    share = RESTART_SHARE / (state.totals["restarts"] + 1.0) ** 2
    return -log(share)


@lean
def plan_and_double(constants, state, view, workspace, sweeps):
    """The first half of the doubling trick: a plan that contradicts the loss bound raises its own. The bound of the
    learner follows if the plan is followed."""
    ended = plan(constants, state, view, workspace, sweeps)
    view.progress["loss_bound"] = doubled_beyond(view.progress["loss_bound"], max_optimistic_value(constants, view))
    return ended


@lean
def plan_and_forget(constants, state, view, workspace, sweeps):
    """The same as printed: where the bound is raised the data is forgotten, and planning starts over."""
    ended = False
    for _ in range(MOST_DOUBLINGS):
        ended = plan(constants, state, view, workspace, sweeps)
        optimistic = max_optimistic_value(constants, view)
        if not optimistic > view.progress["loss_bound"]:
            return ended
        view.progress["loss_bound"] = doubled_beyond(view.progress["loss_bound"], optimistic)
        state.totals["loss_bound"] = view.progress["loss_bound"]
        state.totals["doublings"] += 1
        restart(constants, state)
        invalidate(view)
    return ended


@lean
def contradicts_by_loss(constants, state, view):
    """The second half: the bound of a plan that is followed is that of the learner, and an interval that lost too much
    doubles it. Returns whether it did."""
    bound = view.progress["loss_bound"]
    if bound > state.totals["loss_bound"]:
        state.totals["loss_bound"] = bound
        state.totals["doublings"] += 1
    if not view.progress["interval_loss"] > LONG_INTERVAL * bound:
        return False  # log(4 m / delta) > 1: most steps need no logarithm
    if not view.progress["interval_loss"] > LONG_INTERVAL * bound * log(
        4.0 * view.progress["interval"] / constants.delta
    ):
        return False
    if state.totals["loss_bound"] <= bound:
        state.totals["loss_bound"] = 2.0 * bound
        state.totals["doublings"] += 1
        bound_doubled(constants, state)
    return True


@lean
def restart(constants, state):
    """The bound has doubled, and all data is forgotten. New data is as sure as before all restarts together."""
    state.totals["restarts"] += 1
    reset_data(constants, state)


class BoundSlots(NamedTuple):
    """The kernels of a loss bound."""

    plan_under_bound: Kernel
    contradicts_bound: Kernel
    bound_doubled: Kernel = data_is_kept
    restart_log: Kernel = whole_failure

    def filling(self) -> dict[Slot, Kernel]:
        """The kernels by their slots."""
        return dict(zip((plan_under_bound, contradicts_bound, bound_doubled, restart_log), self, strict=True))


GIVEN = BoundSlots(plan, never_contradicts)
"""The bound that was given, or none: for learners whose plans need no bound."""
DOUBLING = BoundSlots(plan_and_double, contradicts_by_loss)
"""The bound is sought from 1 on, and the data is kept."""
FORGETTING = BoundSlots(plan_and_forget, contradicts_by_loss, restart, share_after_restarts)
"""The bound is sought from 1 on, and the data is forgotten whenever it is raised."""


@lean
def reset_data(constants, state):
    """Forget all data, as at the very beginning; the loss bound and the count of intervals stay.

    Visits whose outcome is awaited are forgotten too: which ones those are was settled before their outcomes. Before
    the first restart there is nothing to erase, and what is not written to takes no memory.
    """
    state.totals["squared_losses"] = 0.0
    state.totals["logged"] = 0
    state.totals["restart_log"] = restart_log(state)
    for pair in range(len(state.revision)):
        if state.totals["restarts"] > 0:
            erase_sums(constants, state, pair)
            erase(constants, state, pair)
        declare_next_states(constants, state.regression, pair)
        state.revision[pair] += 1
    state.totals["changes"] += CHANGE_LOG_SIZE + 1  # nobody's view is up to date
    begin_sums_with_models(constants, state.regression)
    for pair in range(len(state.revision)):
        start(constants, state, pair)


@lean
def erase_sums(constants, state, pair):
    """All sums of a pair become what they are without data."""
    regression = state.regression
    first = constants.next_start[pair]
    last = constants.next_start[pair + 1]
    begin_gram(constants, regression.gram[pair], regression.inverse[pair], pair)
    regression.gram_low[pair] = 0.0
    regression.loss_sums[pair] = 0.0
    regression.loss_low[pair] = 0.0
    regression.goal_sums[pair] = 0.0
    regression.goal_low[pair] = 0.0
    regression.next_sums[first:last] = 0.0
    regression.next_low[first:last] = 0.0
    regression.seen_index[first:last] = -1
    regression.seen[pair] = 0
    regression.visits[pair] = 0
    forget_missing(state, pair)
    state.log_det[pair] = 0.0


@lean
def declare_next_states(constants, regression, pair):
    """Where the goal cannot follow, all next states get their indices at the beginning, in the order of the support."""
    if not cannot_reach_goal(constants, pair):
        return
    first = constants.next_start[pair]
    count = constants.next_start[pair + 1] - first
    regression.seen[pair] = count
    for k in range(count):
        regression.seen_index[first + k] = k
        regression.seen_state[first + k] = constants.next_state[first + k]
