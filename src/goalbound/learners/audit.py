"""What only someone who knows the truth can see of a learner: the good event of the paper, and where regret comes from.

Each step: :func:`audit_plan` after a new plan, :func:`audit_step` before the learner learns, ``test_pair`` after.
"""

from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.protocol import is_known
from goalbound.jit.compile import Kernel, Slot, lean
from goalbound.jit.records import new_record, record_type
from goalbound.jit.struct import Struct
from goalbound.learners.doubling import LONG_INTERVAL
from goalbound.learners.episode_loop import watch_pair, watch_plan, watch_step
from goalbound.models.simulated import mixed
from goalbound.planning.kernels.value_iteration import INTERVAL_SET, minimum_of_shape

test_pair = Slot("test_pair")
"""``(audit, components, constants, state, pair)`` whether the truth of a pair lies in its sets now, where that does not
depend on the context."""
test_view = Slot("test_view")
add_widths = Slot("add_widths")

TERMS = ("switching", "dynamics", "martingale", "losses", "planning")
"""The terms of the regret decomposition of the paper, and what value iteration left open."""

AUDIT_TOTALS = record_type(
    reals=(*TERMS, "widths", "rises", "noise", "optimal", "interval_share", "martingale_share", "potential"),
    integers=("intervals", "covered", "uncovered_pairs", "long_intervals", "episodes", "steps", "restarts"),
)
"""Fields of :attr:`RegretAudit.totals`: the terms; widths, as the regret bound counts them; rises of values at new
plans within an episode; losses less their means; optimal losses; three largest ones (interval loss over its bound,
martingale over its bound, n w^2); intervals, those that began with the truth in all sets, pairs outside now, intervals
too long, episodes begun, steps, restarts of the learner that were seen."""


class RegretAudit(Struct):
    """A running account."""

    loss_bound: float
    """the B of the checks"""
    totals: np.void
    """fields: AUDIT_TOTALS"""
    uncovered: NDArray[np.bool_]
    """[N] whether the truth of a pair lies outside its sets now"""
    unknown: NDArray[np.int64]
    """[N] visits of a pair while unknown"""
    scratch: NDArray[np.float64]
    """[d] to work in"""


def new_regret_audit(pairs: int, size: int = 1, *, loss_bound: float = 1.0) -> RegretAudit:
    """An empty audit."""
    return RegretAudit(
        loss_bound=loss_bound,
        totals=new_record(AUDIT_TOTALS),
        uncovered=np.zeros(pairs, dtype=np.bool_),
        unknown=np.zeros(pairs, dtype=np.int64),
        scratch=np.zeros(size),
    )


@lean
def squared_norm(gram, vector):
    """x^T V x."""
    total = 0.0
    for a in range(len(vector)):
        for b in range(len(vector)):
            total += vector[a] * gram[a, b] * vector[b]
    return max(total, 0.0)


@lean
def truth_distances(components, constants, state, pair, difference):
    """How far the true loss and the true rows are from the estimate of a pair, in the norm of its Gram matrix.

    The learner's row may hold next states that the true one has not: their true probability is 0.
    """
    goal = len(constants.pair_start) - 1
    size = len(difference)
    gram = state.regression.gram[pair]
    for j in range(size):
        difference[j] = components.losses[pair, j] - state.sets.losses[pair, j]
    loss = squared_norm(gram, difference)
    rows = 0.0
    k = components.next_start[pair]
    end = components.next_start[pair + 1]
    for place in range(constants.next_start[pair], constants.next_start[pair + 1]):
        following = constants.next_state[place]
        while k < end and components.next_state[k] < following:
            k += 1
        possible = k < end and components.next_state[k] == following
        index = state.regression.seen_index[place]
        if following == goal or (index < 0 and not possible):
            continue
        for j in range(size):
            estimate = 0.0 if index < 0 else state.sets.rows[constants.next_start[pair] + index, j]
            difference[j] = (components.probabilities[k, j] if possible else 0.0) - estimate
        rows += squared_norm(gram, difference)
    return sqrt(loss), sqrt(rows)


@lean
def no_balls(audit, components, constants, state, pair):
    """Intervals are of a context: :func:`audit_intervals` tests them."""


@lean
def no_intervals(audit, components, constants, view):
    """Balls are of all contexts: :func:`audit_ball` tests them."""


@lean
def audit_ball(audit, components, constants, state, pair):
    """Whether the truth of a pair lies in both its balls now (high-probability event, items 1 and 2)."""
    loss, rows = truth_distances(components, constants, state, pair, audit.scratch)
    outside = loss > state.sets.loss_radius[pair] or rows > state.sets.next_radius[pair]
    if outside != audit.uncovered[pair]:
        audit.uncovered[pair] = outside
        audit.totals["uncovered_pairs"] += 1 if outside else -1


@lean
def audit_intervals(audit, components, constants, view):
    """Whether the truth of each pair lies in its intervals under the context of the view.

    The learner's row may hold next states that the true one has not: they have probability 0.
    """
    sets = view.sets
    outside_pairs = 0
    for pair in range(len(audit.uncovered)):
        loss = mixed(components.losses, pair, view.context) + constants.added_loss
        tolerance = 1e-9 * (1.0 + loss)
        outside = loss < sets.losses[pair] - tolerance or loss > view.loss_high[pair] + tolerance
        k = components.next_start[pair]
        last = components.next_start[pair + 1]
        for place in range(constants.next_start[pair], constants.next_start[pair + 1]):
            while k < last and components.next_state[k] < constants.next_state[place]:
                k += 1
            p = 0.0
            if k < last and components.next_state[k] == constants.next_state[place]:
                p = mixed(components.probabilities, k, view.context)
            outside = outside or p < sets.low[place] - 1e-9 or p > sets.high[place] + 1e-9
        audit.uncovered[pair] = outside
        outside_pairs += 1 if outside else 0
    audit.totals["uncovered_pairs"] = outside_pairs


@lean
def audit_all_pairs(audit, components, constants, state):
    """Test every pair: before the first step, and whenever all data was forgotten."""
    for pair in range(len(audit.uncovered)):
        test_pair(audit, components, constants, state, pair)
    audit.totals["restarts"] = state.totals["restarts"]


@lean
def audit_plan(audit, components, constants, state, view, s, before, optimal):
    """An interval has its plan. ``before``: the value of the state under the plan before; NaN where an episode
    begins.

    ``optimal`` is the true value of the state: an episode that begins owes it.
    """
    if audit.totals["restarts"] != state.totals["restarts"]:
        audit_all_pairs(audit, components, constants, state)
    test_view(audit, components, constants, view)
    audit.totals["intervals"] += 1
    if audit.totals["uncovered_pairs"] == 0:
        audit.totals["covered"] += 1
    if np.isnan(before):
        audit.totals["episodes"] += 1
        audit.totals["optimal"] += optimal
        audit.totals["switching"] -= optimal
    else:
        audit.totals["rises"] += view.iteration.values[s] - before


@lean
def add_regret_terms(audit, components, view, context, s, pair, following, loss):
    """The four terms of the regret decomposition for one step, with the plan that it is played by."""
    values = view.iteration.values
    optimistic, _ = minimum_of_shape(view.sets, pair, values, view.iteration.dual[pair], np.inf)
    expected = 0.0
    for k in range(components.next_start[pair], components.next_start[pair + 1]):
        expected += mixed(components.probabilities, k, context) * values[components.next_state[k]]
    audit.totals["switching"] += values[s] - values[following]
    audit.totals["dynamics"] += expected - optimistic
    audit.totals["martingale"] += values[following] - expected
    audit.totals["losses"] += loss - view.sets.losses[pair]
    audit.totals["planning"] += view.sets.losses[pair] + optimistic - values[s]
    audit.totals["noise"] += loss - mixed(components.losses, pair, context)


@lean
def add_interval_widths(audit, constants, state, view, pair):
    """How far the optimistic model of a played pair may be from the truth, times what that may cost: both are in the
    intervals, their L1 distance is at most the sum of the lengths, P V - P~ V at most B times half of it."""
    width = view.known_width[pair]
    audit.totals["widths"] += audit.loss_bound * min(1.0, width) + min(1.0, 2.0 * width)


@lean
def add_ball_widths(audit, constants, state, view, pair):
    """How far the optimistic model of a played pair may be from the truth, times what that may cost.

    Two members of a set are up to twice its radius apart: 2 B sqrt(S_i) R_i w for the rows, where P V - P~ V <= B in
    any case, and 2 rho_l w for the losses, which differ by 1 at most. The loss radius is that of now: it has only
    grown since the plan was made.
    """
    last = constants.next_start[pair + 1]
    length = last - constants.next_start[pair]
    if constants.next_state[last - 1] == len(constants.pair_start) - 1:
        length -= 1
    rows = min(1.0, 2.0 * sqrt(length * view.sets.ball[pair]))
    loss = min(1.0, 2.0 * state.sets.loss_radius[pair] * view.norm[pair])
    audit.totals["widths"] += audit.loss_bound * rows + loss


@lean
def audit_step(audit, components, constants, state, view, context, s, pair, following, loss):
    """A step is made, and not yet learned from. Items 3 and 4 of the high-probability event are followed as they go."""
    add_regret_terms(audit, components, view, context, s, pair, following, loss)
    add_widths(audit, constants, state, view, pair)
    if not is_known(constants, state, view, pair):
        audit.unknown[pair] += 1
    audit.totals["steps"] += 1
    steps = audit.totals["steps"]
    fair = audit.loss_bound * sqrt(steps * log(4.0 * steps / constants.delta))
    audit.totals["martingale_share"] = max(audit.totals["martingale_share"], audit.totals["martingale"] / fair)
    most = LONG_INTERVAL * audit.loss_bound * log(4.0 * view.progress["interval"] / constants.delta)
    paid = view.progress["interval_loss"] + loss + constants.added_loss
    audit.totals["interval_share"] = max(audit.totals["interval_share"], paid / most)
    if paid > most >= view.progress["interval_loss"]:
        audit.totals["long_intervals"] += 1
    plays = state.revision[pair] - view.revision[pair] + 1
    audit.totals["potential"] = max(audit.totals["potential"], plays * view.norm[pair] * view.norm[pair])


def audit_slots(shape: int) -> dict[Slot, Kernel]:
    """The slots of an audit of a learner whose sets have this shape: the paper's balls, or intervals of any room."""
    watching: dict[Slot, Kernel] = {watch_plan: audit_plan, watch_step: audit_step}
    if shape == INTERVAL_SET:
        tests = {watch_pair: no_balls, test_pair: no_balls, test_view: audit_intervals, add_widths: add_interval_widths}
    else:
        tests = {watch_pair: audit_ball, test_pair: audit_ball, test_view: no_intervals, add_widths: add_ball_widths}
    return watching | tests
