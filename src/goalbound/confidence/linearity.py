"""Is the environment linear in the context? Outcomes against the intervals that were plausible before they came.

While the model is right and the intervals hold the truth, an outcome of [0, 1] has a mean of at most the upper end, so
with S the sum of (outcome - upper end) over n steps, exp(z S - z^2 n / 8) is a supermartingale for every z >= 0. Mixed
over a half-normal z it gives P(some n has S >= sqrt((n / 4 + r) (log((n / 4 + r) / r) + 2 log(1 / failure)))) <=
failure, for any r > 0. Linear regression in an environment that is not is right on average and wrong in parts of the
simplex, so sums are kept for each part: the heaviest component, and how heavy it is. A third sum holds losses against
the floor that was declared: where it alone is a contradiction, that floor is wrong, whatever the environment is.
"""

from functools import cache
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.protocol import SetSlots
from goalbound.jit.compile import Slot, lean
from goalbound.jit.lazy_arrays import lazy_zeros
from goalbound.jit.records import new_record, record_type
from goalbound.jit.struct import Struct

inner_learn = Slot("inner_learn")
inner_missing = Slot("inner_missing")

PARTS = 4
"""Into how many parts the weight of the heaviest component is cut."""
LOSS, FLOOR = -1, -2
"""In the place of a next state: the loss was not in its interval, or it was below its declared floor."""
NO_EPISODE = 0
"""In the place of the number of an episode: the step was none of an episode of the learner."""
MIXTURE_VARIANCE = 10.0
"""r: the bound is tightest where n / 4 is some ten times this."""


VIOLATION = record_type(integers=("found", "pair", "place", "part", "episode"))
"""The pair, the place in the row (LOSS or FLOOR: the loss), the part of the simplex, the episode; found: 0 or 1."""


class LinearityConstants(Struct):
    """``constants.watch``."""

    alarm_log: float
    """log(1 / failure) of one test"""


class LinearityTest(Struct):
    """``state.watch``: by how much outcomes were outside the intervals that were plausible before, by part of the
    simplex (q parts)."""

    steps: NDArray[np.int64]
    """[N, q]"""
    losses: NDArray[np.float64]
    """[N, q, 3] sums of loss - high, of low - loss and of declared floor - loss"""
    rows: NDArray[np.float64]
    """[M, q, 2] of each next state, without the last"""
    violation: np.void
    """the first contradiction; fields: VIOLATION"""


class Untested(Struct):
    """``state.watch`` where nothing is tested; a contradiction may come with the data of another learner."""

    violation: np.void
    """fields: VIOLATION"""


def new_linearity_test(pairs: int, triples: int, parts: int) -> LinearityTest:
    """Nothing was seen."""
    return LinearityTest(
        steps=np.zeros((pairs, parts), dtype=np.int64),
        losses=lazy_zeros((pairs, parts, 3)),
        rows=lazy_zeros((triples, parts, 2)),
        violation=new_record(VIOLATION),
    )


@lean
def simplex_part(context):
    """The part of the simplex that a context lies in: 0 to PARTS d - 1."""
    heaviest = 0
    for j in range(1, len(context)):
        if context[j] > context[heaviest]:
            heaviest = j
    least = 1.0 / len(context)
    share = (context[heaviest] - least) / (1.0 - least) if len(context) > 1 else 0.0
    return PARTS * heaviest + min(int(PARTS * share), PARTS - 1)


@lean
def contradicts(excess, count, alarm_log):
    """Whether so large a sum over so many steps contradicts the intervals."""
    if excess <= 0.0:
        return False
    variance = 0.25 * count + MIXTURE_VARIANCE
    return excess >= sqrt(variance * (log(variance / MIXTURE_VARIANCE) + 2.0 * alarm_log))


@lean
def add_outcome(sums, outcome, low, high, count, alarm_log):
    """Enter an outcome and its interval; whether they contradict each other now."""
    sums[0] += outcome - high
    sums[1] += low - outcome
    return contradicts(sums[0], count, alarm_log) or contradicts(sums[1], count, alarm_log)


@lean
def test_step(test, pair, first, place, loss, losses, low, high, context, alarm_log, episode):
    """Before a step is learned from. O(m) for the m next states of the pair, whose places begin at ``first``.

    ``loss`` is held against ``losses`` (low, high, the declared floor, which low is not below), each next state against
    ``low`` and ``high`` [m].
    """
    part = simplex_part(context)
    test.steps[pair, part] += 1
    count = test.steps[pair, part]
    sums = test.losses[pair, part]
    sums[2] += losses[2] - loss
    if add_outcome(sums, loss, losses[0], losses[1], count, alarm_log):
        record_violation(test.violation, pair, FLOOR if contradicts(sums[2], count, alarm_log) else LOSS, part, episode)
    for k in range(len(low)):
        outcome = 1.0 if first + k == place else 0.0
        if add_outcome(test.rows[first + k, part], outcome, low[k], high[k], count, alarm_log):
            record_violation(test.violation, pair, first + k, part, episode)


@lean
def test_pending(test, pair, first, losses, low, high, context):
    """A visit counts whose outcome is missing. O(m).

    Its outcome is the one that contradicts least: 0 against upper ends and 1 against lower ends.
    """
    part = simplex_part(context)
    test.steps[pair, part] += 1
    test.losses[pair, part, 0] -= losses[1]
    test.losses[pair, part, 1] += losses[0] - 1.0
    test.losses[pair, part, 2] += losses[2] - 1.0
    for k in range(len(low)):
        test.rows[first + k, part, 0] -= high[k]
        test.rows[first + k, part, 1] += low[k] - 1.0


@lean
def test_reported(test, pair, first, count, place, loss, context, alarm_log, episode):
    """The outcome of a visit of :func:`test_pending` has come. O(m) for the m = ``count`` next states."""
    part = simplex_part(context)
    steps = test.steps[pair, part]
    sums = test.losses[pair, part]
    sums[2] += 1.0 - loss
    if add_outcome(sums, loss, 1.0, 0.0, steps, alarm_log):
        record_violation(test.violation, pair, FLOOR if contradicts(sums[2], steps, alarm_log) else LOSS, part, episode)
    for k in range(count):
        outcome = 1.0 if first + k == place else 0.0
        if add_outcome(test.rows[first + k, part], outcome, 1.0, 0.0, steps, alarm_log):
            record_violation(test.violation, pair, first + k, part, episode)


@lean
def record_violation(violation, pair, place, part, episode):
    """Only the first one is kept."""
    if violation["found"] == 0:
        violation["found"] = 1
        violation["pair"] = pair
        violation["place"] = place
        violation["part"] = part
        violation["episode"] = episode


@lean
def test_outcome(constants, state, view, pair, place, loss):
    """An outcome is held against the sets of its visit, before they change; or, where the visit counted already, its
    part of the sums is settled."""
    first = constants.next_start[pair]
    last = constants.next_start[pair + 1]
    alarm_log = constants.watch.alarm_log
    episode = view.progress["number"]
    if view.progress["counted"] == 1:
        test_reported(state.watch, pair, first, last - first, place, loss, view.context, alarm_log, episode)
    else:
        losses = (view.sets.losses[pair], view.loss_high[pair], constants.declared.floor[pair])
        low = view.sets.low[first:last]
        high = view.sets.high[first:last]
        paid = loss + constants.added_loss
        test_step(state.watch, pair, first, place, paid, losses, low, high, view.context, alarm_log, episode)
    inner_learn(constants, state, view, pair, place, loss)


@lean
def test_missing(constants, state, view, pair, sign):
    """A visit without its outcome counts: in the test its outcome is the one that contradicts nothing."""
    if sign > 0:
        first = constants.next_start[pair]
        last = constants.next_start[pair + 1]
        added = constants.added_loss
        losses = (
            view.sets.losses[pair] - added,
            view.loss_high[pair] - added,
            constants.declared.floor[pair] - added,
        )
        low = view.sets.low[first:last]
        high = view.sets.high[first:last]
        test_pending(state.watch, pair, first, losses, low, high, view.context)
    inner_missing(constants, state, view, pair, sign)


@cache
def observed(inner: SetSlots) -> SetSlots:
    """The kernels of a confidence model of intervals, with the test of the linear model in front."""
    return inner._replace(
        learn=test_outcome.filled({inner_learn: inner.learn}),
        missing=test_missing.filled({inner_missing: inner.missing}),
    )
