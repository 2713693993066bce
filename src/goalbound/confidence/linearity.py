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
from goalbound.jit.records import lazy_zeros, new_record, record_type
from goalbound.jit.struct import Struct
from goalbound.models import Support
from goalbound.models.files.ranges import MANY, around, within, within_record

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
    """An outcome is held against the sets of its visit, before they change: the loss against its interval and its
    declared floor, each next state against its interval. O(m) for the m next states of the pair.

    Where the visit counted already (:func:`test_missing`), what its outcome differs from the one assumed is added.
    """
    test = state.watch
    alarm_log = constants.watch.alarm_log
    episode = view.progress["number"]
    counted = view.progress["counted"] == 1
    part = simplex_part(view.context)
    paid, low, high, floor = loss, 1.0, 0.0, 1.0
    if not counted:
        test.steps[pair, part] += 1
        paid = loss + constants.added_loss
        low = view.sets.losses[pair]
        high = view.loss_high[pair]
        floor = constants.declared.floor[pair]
    count = test.steps[pair, part]
    sums = test.losses[pair, part]
    sums[2] += floor - paid
    if add_outcome(sums, paid, low, high, count, alarm_log):
        record_violation(test.violation, pair, FLOOR if contradicts(sums[2], count, alarm_log) else LOSS, part, episode)
    for k in range(constants.next_start[pair], constants.next_start[pair + 1]):
        low = 1.0 if counted else view.sets.low[k]
        high = 0.0 if counted else view.sets.high[k]
        if add_outcome(test.rows[k, part], 1.0 if k == place else 0.0, low, high, count, alarm_log):
            record_violation(test.violation, pair, k, part, episode)
    inner_learn(constants, state, view, pair, place, loss)


@lean
def test_missing(constants, state, view, pair, sign):
    """A visit without its outcome counts. Its outcome is the one that contradicts least: 0 against upper ends and 1
    against lower ends. O(m)."""
    if sign > 0:
        test = state.watch
        added = constants.added_loss
        part = simplex_part(view.context)
        test.steps[pair, part] += 1
        test.losses[pair, part, 0] -= view.loss_high[pair] - added
        test.losses[pair, part, 1] += (view.sets.losses[pair] - added) - 1.0
        test.losses[pair, part, 2] += (constants.declared.floor[pair] - added) - 1.0
        for k in range(constants.next_start[pair], constants.next_start[pair + 1]):
            test.rows[k, part, 0] -= view.sets.high[k]
            test.rows[k, part, 1] += view.sets.low[k] - 1.0
    inner_missing(constants, state, view, pair, sign)


@cache
def observed(inner: SetSlots) -> SetSlots:
    """The kernels of a confidence model of intervals, with the test of the linear model in front."""
    return inner._replace(
        learn=test_outcome.filled({inner_learn: inner.learn}),
        missing=test_missing.filled({inner_missing: inner.missing}),
    )


def check_watch(test: LinearityTest | Untested, support: Support) -> None:
    """Each step of the test adds at most 1 to a sum, or takes it. They are kept where data is forgotten."""
    within_record(
        "violation", test.violation, found=(0, 1), pair=(0, support.pairs - 1), place=(-2, support.triples - 1)
    )
    if isinstance(test, Untested):
        return
    within("linearity steps", test.steps, 0, MANY)
    sums = 2.0 * (test.steps.astype(np.float64)[:, :, None] + 1.0)
    within("linearity losses", test.losses, *around(0.0, sums))
    within("linearity rows", test.rows, *around(0.0, np.repeat(sums, np.diff(support.next_start), axis=0)))
