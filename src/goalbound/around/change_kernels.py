"""Has the world changed? Shiryaev-Roberts sums of likelihood ratios, for the losses and next states of all pairs.

A *number* of a pair is its loss, or whether one of its next states follows. A number of an action is the loss, or
whether the goal follows, over all pairs with this action: what breaks in one state often breaks in all of them. Each
outcome x is in [0, 1]. Let p be the mean that is forecast before a visit, and r an odds ratio. Then

    e  =  (1 + (r - 1) x) / (1 + (r - 1) p)

is not negative and has mean 1 where x has mean p, whatever its law is; where x is 0 or 1 it is the likelihood ratio of
odds that are r times as high. With R <- (R + 1) e at each visit, let R(pair) and R(action) be the means of R over their
numbers and over the ratios. The sum over all pairs of R(pair) / 2 and over all actions of R(action) / 2, minus the
count of steps, is a supermartingale. So the mean number of steps until (R(pair) + R(action)) / 2 of a pair that was
played is at least A is at least A, and that happens within n steps with probability n / A at most (Roberts 1966;
Pollak 1985). CUSUM sums of log e beside them say since when: each begins anew where it is not positive.

Where the forecast is an estimate, e has mean 1 only approximately. Estimates are by ridge regression on all earlier
visits of the pair. Contexts sum to 1, so the d coefficients of a mean are their average and deviations from it, and the
ridge penalises the two apart: a Gram matrix begins as

    V0  =  lambda (I - 1 1' / d)  +  (mu / d) 1 1' / d

A pair then has mu invented visits, whatever d is. Their next states are all alike, their loss is the mean loss of all
visits so far, so that losses may be small beside the cap. The forecast that r > 1 is held against is :data:`CAUTION`
standard errors higher than the estimate, that of r < 1 so much lower: an error of the estimate is not mistaken for a
change. All of it is known before the visit, as the martingale needs.
"""

from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.regression import add_to_gram, dot
from goalbound.jit.compile import lean
from goalbound.jit.struct import Struct
from goalbound.models import Support

RATIOS = (1.0 / 8.0, 0.4, 2.5, 8.0)
"""The odds ratios of the alternatives."""
CAUTION = 1.0
DIFFERENCE = 1.0
"""lambda: components are expected to differ by about a standard deviation of one outcome."""
INVENTED = 1.0
"""mu"""
MOST_LEVERAGE = 0.5
"""A visit under a context that earlier visits say less of (two visits under this very context have 0.5) is no
evidence."""
NO_ALARM = -1
ROBERTS, CUSUM, STEP, CASE, COUNT, EXPECTED, OBSERVED = range(7)
"""The evidence of a number for one alternative: R; the sum of log e; how many steps were seen, and how many cases had
begun, when that sum began; and since then the visits, the forecasts without caution and the outcomes, added up."""
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class ChangeSums(Struct):
    """What was seen of N pairs under contexts of size d; M triples, A actions, F odds ratios.

    *Parts* are the N pairs and the A actions. The numbers of a pair are its loss and, after it, its next states; those
    of an action are the goal and the loss. They stand part by part: K = M + N + 2 A in all.
    """

    gram: Floats
    """[N, d, d] V0 + sum of c c^T; ``gram_low`` is what it lacks of the exact sum, ``inverse`` its inverse"""
    gram_low: Floats
    inverse: Floats
    outcome_sums: Floats
    """[M + N, d] of each number: sum of outcome * context, or its mean for each component where it is given"""
    overall: Floats
    """[2] the losses of all visits that were learned, added up, and the count of these visits"""
    visits: Integers
    """[N] since the pair's restart"""
    given: NDArray[np.bool_]
    """[N] whether the means of the pair before any change are given"""
    evidence: Floats
    """[K, F, 7] ROBERTS to OBSERVED"""
    alarm_step: Integers
    """[N + A] how many steps were seen when the alarm of a part was raised, or NO_ALARM; ``alarm_case``: how many cases
    had begun"""
    alarm_case: Integers
    steps: Integers
    """[1] how many were seen"""

    part_start: Integers
    """[N + A + 1] the first number of each part"""
    next_start: Integers
    pair_action: NDArray[np.int32]
    leads_to_goal: NDArray[np.bool_]
    """[N] whether the goal may follow; it is the last next state"""
    direction: Floats
    """[d] room to work in, as ``square`` [d, d] is"""
    square: Floats

    _unsaved = ("part_start", "next_start", "pair_action", "leads_to_goal", "direction", "square")


def by_number(support: Support, of_triples: NDArray[Any], of_losses: NDArray[Any]) -> NDArray[Any]:
    """[M + N, ...] one entry for each number of the pairs, from those of the M triples and the N losses."""
    entries: NDArray[Any] = np.insert(of_triples, support.next_start[:-1], of_losses, axis=0)
    return entries


def new_change_sums(support: Support, size: int) -> ChangeSums:
    """Nothing was seen; nothing is given. O(N d^2 + M d)."""
    pairs, parts = support.pairs, support.pairs + support.actions
    of_pairs = support.next_start + np.arange(pairs + 1)
    of_actions = of_pairs[-1] + 2 * np.arange(1, support.actions + 1)
    mean = np.full((size, size), 1.0 / size)
    ridge = DIFFERENCE * (np.eye(size) - mean) + INVENTED / size * mean
    return ChangeSums(
        gram=np.repeat(ridge[None], pairs, axis=0),
        gram_low=np.zeros((pairs, size, size)),
        inverse=np.repeat(np.linalg.inv(ridge)[None], pairs, axis=0),
        outcome_sums=np.zeros((of_pairs[-1], size)),
        overall=np.zeros(2),
        visits=np.zeros(pairs, dtype=np.int64),
        given=np.zeros(pairs, dtype=np.bool_),
        evidence=np.zeros((of_actions[-1], len(RATIOS), OBSERVED + 1)),
        alarm_step=np.full(parts, NO_ALARM, dtype=np.int64),
        alarm_case=np.full(parts, NO_ALARM, dtype=np.int64),
        steps=np.zeros(1, dtype=np.int64),
        part_start=np.concatenate((of_pairs, of_actions)),
        next_start=support.next_start,
        pair_action=support.pair_action,
        leads_to_goal=support.leads_to_goal,
        direction=np.zeros(size),
        square=np.zeros((size, size)),
    )


@lean
def evidence(outcome, forecast, ratio):
    """e: the likelihood ratio of odds that are ``ratio`` times those of the forecast."""
    return (1.0 + (ratio - 1.0) * outcome) / (1.0 + (ratio - 1.0) * forecast)


@lean
def test_number(sums, number, shared, pair, assumed, leverage, outcome, context, case):
    """Hold an outcome of a number of a pair, and of its action where it has it (``shared``, or -1), against the
    forecast. O(d + F). ``sums.direction`` is V^-1 c where the mean is estimated.

    As contexts sum to 1, the invented visits give V^-1 c the weight (mu / d) 1' V^-1 c in an estimate.
    """
    if sums.given[pair]:
        forecast = min(max(dot(sums.outcome_sums[number], context), 0.0), 1.0)
        spread = 0.0
    else:
        weight = 0.0
        for value in sums.direction:
            weight += value
        weight *= INVENTED / len(context)
        estimate = min(max(dot(sums.outcome_sums[number], sums.direction) + weight * assumed, 0.0), 1.0)
        forecast = (estimate + leverage * assumed) / (1.0 + leverage)
        spread = CAUTION * sqrt(forecast * (1.0 - forecast) * leverage / (1.0 + leverage))
    for at in range(len(RATIOS)):
        cautious = min(forecast + spread, 1.0) if RATIOS[at] > 1.0 else max(forecast - spread, 0.0)
        e = evidence(outcome, cautious, RATIOS[at])
        for tested in (number, shared):
            if tested >= 0:
                row = sums.evidence[tested, at]
                if row[CUSUM] <= 0.0:
                    row[CUSUM:] = 0.0
                    row[STEP], row[CASE] = sums.steps[0], case
                row[ROBERTS] = (row[ROBERTS] + 1.0) * e
                row[CUSUM] += log(e)
                row[COUNT] += 1.0
                row[EXPECTED] += forecast
                row[OBSERVED] += outcome


@lean
def test_visit(sums, pair, place, loss, context, case):
    """Hold a visit against what was forecast. O(d^2 + m (d + F)) for the m next states of the pair."""
    leverage = 0.0  # c V^-1 c
    if not sums.given[pair]:
        for r in range(len(context)):
            sums.direction[r] = dot(sums.inverse[pair, r], context)
        leverage = max(dot(sums.direction, context), 0.0)
    if leverage > MOST_LEVERAGE:
        return
    first, last = sums.part_start[pair], sums.part_start[pair + 1]
    of_goal = sums.part_start[len(sums.visits) + sums.pair_action[pair]]
    mean_loss = sums.overall[0] / max(sums.overall[1], 1.0)
    test_number(sums, first, of_goal + 1, pair, mean_loss, leverage, loss, context, case)
    for k in range(first + 1, last):
        shared = of_goal if k == last - 1 and sums.leads_to_goal[pair] else -1
        outcome = 1.0 if k - first - 1 == place - sums.next_start[pair] else 0.0
        test_number(sums, k, shared, pair, 1.0 / (last - first - 1), leverage, outcome, context, case)


@lean
def roberts_of(sums, part):
    """R(pair) or R(action): the mean of R over the numbers of a part and the ratios."""
    first, last = sums.part_start[part], sums.part_start[part + 1]
    total = 0.0
    for number in range(first, last):
        of_number = 0.0
        for at in range(len(RATIOS)):
            of_number += sums.evidence[number, at, ROBERTS]
        total += of_number
    return total / ((last - first) * len(RATIOS))


@lean
def learn_visit(sums, pair, place, loss, context):
    """What is forecast from now on knows this visit too. O(d^2)."""
    sums.visits[pair] += 1
    sums.overall[0] += loss
    sums.overall[1] += 1.0
    gram, low, inverse = sums.gram[pair], sums.gram_low[pair], sums.inverse[pair]
    least = min(DIFFERENCE, INVENTED / len(context))
    add_to_gram(gram, low, inverse, context, sums.visits[pair], least, sums.direction, sums.square)
    of_loss = sums.part_start[pair]
    of_place = of_loss + 1 + place - sums.next_start[pair]
    for j in range(len(context)):
        sums.outcome_sums[of_loss, j] += loss * context[j]
        sums.outcome_sums[of_place, j] += context[j]


@lean
def detect_changes(sums, steps, cases, run_length):
    """Enter steps in their order; how many alarms there were. O(d^2 + m (d + F)) for each.

    ``cases`` [n] is how many cases had begun before that of each step. A pair is left as it is while it, or its action,
    has an alarm. The alarm is that of the part with the larger R.
    """
    alarms = 0
    for t in range(len(steps.pairs)):
        pair, place, loss, context = steps.pairs[t], steps.places[t], steps.losses[t], steps.contexts[t]
        action = len(sums.visits) + sums.pair_action[pair]
        if sums.alarm_step[pair] == NO_ALARM and sums.alarm_step[action] == NO_ALARM:
            test_visit(sums, pair, place, loss, context, cases[t])
            own, shared = roberts_of(sums, pair), roberts_of(sums, action)
            if 0.5 * own + 0.5 * shared >= run_length:
                part = pair if own >= shared else action
                sums.alarm_step[part] = sums.steps[0] + 1
                sums.alarm_case[part] = cases[t]
                alarms += 1
            elif not sums.given[pair]:
                learn_visit(sums, pair, place, loss, context)
        sums.steps[0] += 1
    return alarms
