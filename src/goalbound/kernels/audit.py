"""What only someone who knows the truth can see of a learner: the good event of the paper, and where regret comes from.

Each step: :func:`audit_plan` after a new plan, :func:`audit_step` before the learner learns, :func:`audit_pair` after.
"""

from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import lean
from goalbound.jit.records import new_record, record_type
from goalbound.jit.struct import Struct
from goalbound.kernels.algorithm import is_known
from goalbound.kernels.environment import mixed
from goalbound.kernels.value_iteration import inner_minimum

TERMS = ("switching", "dynamics", "martingale", "losses", "planning")
"""The terms of the regret decomposition of the paper, and what value iteration left open."""

AUDIT_TOTALS = record_type(
    reals=(*TERMS, "widths", "rises", "noise", "optimal", "interval_share", "martingale_share", "potential"),
    integers=("intervals", "covered", "uncovered_pairs", "long_intervals", "episodes", "steps", "doublings"),
)
"""Fields of :attr:`RegretAudit.totals`: the terms; widths, as the regret bound counts them; rises of values at new
plans within an episode; losses less their means; optimal losses; three largest ones (interval loss over its bound,
martingale over its bound, n w^2); intervals, those that began with the truth in all sets, pairs outside now, intervals
too long, episodes begun, steps, doublings seen."""


class RegretAudit(Struct):
    """A running account. ``watch`` False: nothing is written."""

    _static = ("watch",)

    watch: bool
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


def new_regret_audit(pairs: int, size: int = 1, *, watch: bool = False, loss_bound: float = 1.0) -> RegretAudit:
    """An empty audit; without ``watch`` it stays empty."""
    return RegretAudit(
        watch=watch,
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
def truth_distances(components, constants, learner, pair, difference):
    """How far the true loss and the true rows are from the estimate of a pair, in the norm of its Gram matrix.

    The learner's row may hold next states that the true one has not: their true probability is 0.
    """
    goal = len(constants.pair_start) - 1
    size = len(difference)
    gram = learner.regression.gram[pair]
    for j in range(size):
        difference[j] = components.losses[pair, j] - learner.losses[pair, j]
    loss = squared_norm(gram, difference)
    rows = 0.0
    k = components.next_start[pair]
    end = components.next_start[pair + 1]
    for place in range(constants.next_start[pair], constants.next_start[pair + 1]):
        following = constants.next_state[place]
        while k < end and components.next_state[k] < following:
            k += 1
        possible = k < end and components.next_state[k] == following
        index = learner.regression.seen_index[place]
        if following == goal or (index < 0 and not possible):
            continue
        for j in range(size):
            estimate = 0.0 if index < 0 else learner.rows[constants.next_start[pair] + index, j]
            difference[j] = (components.probabilities[k, j] if possible else 0.0) - estimate
        rows += squared_norm(gram, difference)
    return sqrt(loss), sqrt(rows)


@lean
def audit_pair(audit, components, constants, learner, pair):
    """Whether the truth of a pair lies in both its sets now (high-probability event, items 1 and 2).

    Intervals are of a context: :func:`audit_intervals` tests them.
    """
    if constants.intervals.on:
        return
    loss, rows = truth_distances(components, constants, learner, pair, audit.scratch)
    outside = loss > learner.loss_radius[pair] or rows > learner.next_radius[pair]
    if outside != audit.uncovered[pair]:
        audit.uncovered[pair] = outside
        audit.totals["uncovered_pairs"] += 1 if outside else -1


@lean
def audit_intervals(audit, components, constants, episode):
    """Whether the truth of each pair lies in its intervals under the context of the episode.

    The learner's row may hold next states that the true one has not: they have probability 0.
    """
    sets = episode.sets
    outside_pairs = 0
    for pair in range(len(audit.uncovered)):
        loss = mixed(components.losses, pair, episode.context) + constants.added_loss
        tolerance = 1e-9 * (1.0 + loss)
        outside = loss < sets.losses[pair] - tolerance or loss > episode.loss_high[pair] + tolerance
        k = components.next_start[pair]
        last = components.next_start[pair + 1]
        for place in range(constants.next_start[pair], constants.next_start[pair + 1]):
            while k < last and components.next_state[k] < constants.next_state[place]:
                k += 1
            p = 0.0
            if k < last and components.next_state[k] == constants.next_state[place]:
                p = mixed(components.probabilities, k, episode.context)
            outside = outside or p < sets.low[place] - 1e-9 or p > sets.high[place] + 1e-9
        audit.uncovered[pair] = outside
        outside_pairs += 1 if outside else 0
    audit.totals["uncovered_pairs"] = outside_pairs


@lean
def audit_all_pairs(audit, components, constants, learner):
    """Test every pair: before the first step, and whenever all data was forgotten."""
    for pair in range(len(audit.uncovered)):
        audit_pair(audit, components, constants, learner, pair)
    audit.totals["doublings"] = learner.totals["doublings"]


@lean
def audit_plan(audit, components, constants, learner, episode, state, before, optimal):
    """An interval has its plan. ``before``: the value of the state under the plan before; NaN where an episode begins.

    ``optimal`` is the true value of the state: an episode that begins owes it.
    """
    if constants.forget and audit.totals["doublings"] != learner.totals["doublings"]:
        audit_all_pairs(audit, components, constants, learner)
    if constants.intervals.on:
        audit_intervals(audit, components, constants, episode)
    audit.totals["intervals"] += 1
    if audit.totals["uncovered_pairs"] == 0:
        audit.totals["covered"] += 1
    if np.isnan(before):
        audit.totals["episodes"] += 1
        audit.totals["optimal"] += optimal
        audit.totals["switching"] -= optimal
    else:
        audit.totals["rises"] += episode.iteration.values[state] - before


@lean
def add_regret_terms(audit, components, episode, context, state, pair, following, loss):
    """The four terms of the regret decomposition for one step, with the plan that it is played by."""
    values = episode.iteration.values
    optimistic, _ = inner_minimum(episode.sets, pair, values, episode.iteration.dual[pair], np.inf)
    expected = 0.0
    for k in range(components.next_start[pair], components.next_start[pair + 1]):
        expected += mixed(components.probabilities, k, context) * values[components.next_state[k]]
    audit.totals["switching"] += values[state] - values[following]
    audit.totals["dynamics"] += expected - optimistic
    audit.totals["martingale"] += values[following] - expected
    audit.totals["losses"] += loss - episode.sets.losses[pair]
    audit.totals["planning"] += episode.sets.losses[pair] + optimistic - values[state]
    audit.totals["noise"] += loss - mixed(components.losses, pair, context)


@lean
def add_widths(audit, constants, learner, episode, pair):
    """How far the optimistic model of a played pair may be from the truth, times what that may cost.

    Two members of a set are up to twice its radius apart: 2 B sqrt(S_i) R_i w for the rows, where P V - P~ V <= B in
    any case, and 2 rho_l w for the losses, which differ by 1 at most. The loss radius is that of now: it has only
    grown since the plan was made.
    """
    if constants.intervals.on:
        # Both are in the intervals: their L1 distance is at most the sum of the lengths, P V - P~ V at most B times
        # half of it.
        audit.totals["widths"] += audit.loss_bound * min(1.0, episode.known_width[pair]) + min(
            1.0, 2.0 * episode.known_width[pair]
        )
        return
    last = constants.next_start[pair + 1]
    length = last - constants.next_start[pair]
    if constants.next_state[last - 1] == len(constants.pair_start) - 1:
        length -= 1
    rows = min(1.0, 2.0 * sqrt(length * episode.sets.ball[pair]))
    loss = min(1.0, 2.0 * learner.loss_radius[pair] * episode.norm[pair])
    audit.totals["widths"] += audit.loss_bound * rows + loss


@lean
def audit_step(audit, components, constants, learner, episode, context, state, pair, following, loss):
    """A step is made, and not yet learned from. Items 3 and 4 of the high-probability event are followed as they go."""
    add_regret_terms(audit, components, episode, context, state, pair, following, loss)
    add_widths(audit, constants, learner, episode, pair)
    if not is_known(constants, episode, pair):
        audit.unknown[pair] += 1
    audit.totals["steps"] += 1
    steps = audit.totals["steps"]
    fair = audit.loss_bound * sqrt(steps * log(4.0 * steps / constants.delta))
    audit.totals["martingale_share"] = max(audit.totals["martingale_share"], audit.totals["martingale"] / fair)
    most = 48.0 * audit.loss_bound * log(4.0 * episode.progress["interval"] / constants.delta)
    paid = episode.progress["interval_loss"] + loss + constants.added_loss
    audit.totals["interval_share"] = max(audit.totals["interval_share"], paid / most)
    if paid > most >= episode.progress["interval_loss"]:
        audit.totals["long_intervals"] += 1
    plays = learner.revision[pair] - episode.revision[pair] + 1
    audit.totals["potential"] = max(audit.totals["potential"], plays * episode.norm[pair] * episode.norm[pair])
