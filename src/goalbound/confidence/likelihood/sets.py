"""Likelihood-ratio sets: all coefficients under which the outcomes of a number were not too unlikely.

A *number* is the loss of a pair, or the indicator of one of its next states: y in [0, 1] with mean p c under the
context c, for coefficients p in [0, 1]^d. Those of a pair follow each other: its loss, then its m next states in the
order of the support. docs/explanation/likelihood.md has the proofs of what follows.

**The set.** Before each visit forecasts f of y are made: the mean of what was seen; a ridge regression of it on
contexts, around that mean; the most likely coefficients of what was seen, computed again now and then. With A the
cumulative log-loss of a forecaster and F(p) = - sum of y log(p c) + (1 - y) log(1 - p c) that of p, exp(F(p) - A) is a
supermartingale at the true p, and so is the mean over the forecasters: with probability 1 - failure the true p has
F(p) <= log(1 / failure) - log(mean of exp(-A)) at all times. The set is the smaller the better the best of them does.

**Cells.** Contexts are put into the cell of their nearest vertex of a lattice on the simplex. For any positive numbers
h and h' of a visit

    F(p) = shift + D(p),    shift = - sum of y log(h) + (1 - y) log(h'),
    D(p) = - sum of y log(p c / h) + (1 - y) log((1 - p) c / h').

A cell keeps the sums of c / h weighted by y, and of c / h' weighted by 1 - y. By Jensen's inequality the D of the cells
is at most that of the visits. With h the ratio of p c to p times the mean context of the cell, by an estimate of p,
contexts of a cell that differ in p c are alike in p c / h, and little is lost.

**Bounds.** At each vertex c the least and the largest p c over the set are bounded
(:mod:`goalbound.confidence.likelihood.bounds`). The least p c is a concave function of c, so that for other contexts
bounds are interpolated between vertices. A bound holds for ever; it is computed again when the visits of its pair have
grown by a factor.
"""

from math import exp, log

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.likelihood.bounds import (
    ROUNDING,
    BoundWorkspace,
    Lattice,
    fit_number,
    interpolate,
    least_value_from,
    locate,
    nearest_vertex,
    sum_rounding,
)
from goalbound.confidence.regression import UNIT, dot, in_units, missing_weight, solve_context
from goalbound.confidence.sharp import (
    SharpConstants,
    SharpState,
    erase_variance,
    sharp_loss,
    sharp_row,
    take_over_variance,
)
from goalbound.jit.compile import lean
from goalbound.jit.struct import Struct

FORECASTERS = 3
"""How many forecasts there are of a number."""
MEAN, RIDGE, FITTED = range(FORECASTERS)
LEAST_FORECAST = 1e-12
"""Forecasts keep this distance from 0 and 1."""
FIT_GROWTH = 1.1
"""The most likely coefficients are computed again when the visits of their pair have grown by this factor, and one."""
FIRST_VISITS, GROWTH = 2, 1.1
"""Bounds are computed after so many visits of their pair, and again when the visits have grown by this factor."""
MOST_TILT = 1e6
"""Ratios of :func:`tilts` are between this and its inverse."""
LEAST_OUTCOMES = 2.0
"""A lower bound is computed where y sums to so much, an upper one where 1 - y does: before, they would say little."""


class LikelihoodConstants(Struct):
    """How likelihood-ratio sets are made."""

    sharp: SharpConstants
    """of the intervals that they are intersected with"""
    loss_log: float
    """log(1 / failure) of a loss"""
    row_log: float
    """log(1 / failure) of a next state"""
    vertices: Lattice
    """K points at which numbers are bounded"""
    cells: Lattice
    """L points; a context belongs to the nearest of them"""
    tracked: NDArray[np.bool_]
    """[N + M] by pair, its loss and then its next states: the numbers that have a set. What is known has none, nor what
    follows from another number"""


class LikelihoodState(Struct):
    """Sums of Q = N + M numbers, the losses of the N pairs and the M next states, over L cells; their bounds at K
    vertices.

    Arrays have room for all pairs, and memory is taken where something was written
    (:func:`goalbound.jit.records.lazy_zeros`).
    Pairs, their numbers, and the cells in which a number was seen are put next to each other, in the order in which
    they are seen first: what was never seen shares no page with what was. A *place* is that of a pair among those in
    use."""

    _unsaved = ("work",)

    sharp: SharpState
    """of the intervals that these sets are intersected with"""

    place: NDArray[np.int64]
    """[N] the place of a pair, plus 1; 0: it was never played"""
    first: NDArray[np.int64]
    """[N] the number of its loss; those of its next states follow, in the order of the support"""
    visits: NDArray[np.int64]
    """[N] how many visits there were whose outcomes are known"""
    fitted: NDArray[np.int64]
    """[N] ``visits`` when ``estimate`` was computed"""
    bounded: NDArray[np.int64]
    """[N] ``visits`` when the bounds of a pair were computed"""
    contexts: NDArray[np.float64]
    """[N, d] by place: the sum of the contexts of the visits"""
    cell_rows: NDArray[np.int32]
    """[N, L] by place: the row of the visits in a cell"""
    log_loss: NDArray[np.float64]
    """[Q, FORECASTERS] cumulative"""
    estimate: NDArray[np.float64]
    """[Q, d] the most likely coefficients when they were computed last"""
    missing: NDArray[np.int64]
    """[Q] what outcomes that are missing may add to both, in UNITs of :mod:`goalbound.confidence.regression`"""
    ones: NDArray[np.float64]
    """[Q] sum of y"""
    shift: NDArray[np.float64]
    """[Q] sum of - y log(h) - (1 - y) log(h'), h and h' the ratios of :func:`tilts`"""
    outcome_rows: NDArray[np.int32]
    """[Q, 2, L] the row of y c / h in a cell, and of (1 - y) c / h'"""
    low: NDArray[np.float64]
    """[Q, K] the least p c at each vertex"""
    high: NDArray[np.float64]
    """[Q, K] the largest"""
    rows: NDArray[np.float64]
    """[1 + N L + 2 Q L, d + 1] the sums of contexts of a cell, and last their weight: the count of the visits, the sum
    of y, or of 1 - y. Row 0 stays zero: it is that of cells without visits"""
    used: np.void
    """how many ``pairs``, ``numbers`` and ``rows`` there are, row 0 not counted"""
    work: BoundWorkspace


class LikelihoodView(Struct):
    """What is forecast of the pair that is played."""

    forecast: NDArray[np.float64]
    """[m + 1, FORECASTERS] the forecasts of the numbers of the pair, for m the most next states of one"""


@lean
def begin_pair(state, pair, next_states):
    """Room for a pair that has none yet, and for the numbers of its loss and of its next states. O(m (d + K + L))."""
    if state.place[pair] > 0:
        return
    place = state.used["pairs"]
    number = state.used["numbers"]
    state.place[pair] = place + 1
    state.first[pair] = number
    state.used["pairs"] = place + 1
    state.used["numbers"] = number + 1 + next_states
    state.contexts[place] = 0.0
    state.cell_rows[place] = 0
    last = number + 1 + next_states
    state.log_loss[number:last] = 0.0
    state.estimate[number:last] = 0.5
    state.missing[number:last] = 0
    state.ones[number:last] = 0.0
    state.shift[number:last] = 0.0
    state.low[number:last] = 0.0
    state.high[number:last] = 1.0
    state.outcome_rows[number:last] = 0


@lean
def row_of(state, index, cell):
    """The row of a cell, by the rows ``index`` [L] of a number or a pair; a new one, of zeros, if it has none."""
    if index[cell] == 0:
        row = state.used["rows"] + 1
        state.used["rows"] = row
        state.rows[row] = 0.0
        index[cell] = row
    return index[cell]


@lean
def forecast_mean(state, number, pair):
    """The forecast without contexts: (sum y + 1/2) / (n + 1)."""
    return (state.ones[number] + 0.5) / (state.visits[pair] + 1.0)


@lean
def forecast_ridge(contexts, sums, direction, square, mean):
    """The forecast by ridge regression of y on contexts, around the mean; drawn towards it where the context is new.

    ``contexts`` [d] is the sum of c over the visits, ``sums`` [d] that of y c, ``direction`` is V^-1 c and ``square``
    c V^-1 c.
    """
    guess = mean
    for j in range(len(direction)):
        guess += direction[j] * (sums[j] - mean * contexts[j])
    guess = min(max(guess, 0.0), 1.0)
    return clipped((guess + square * mean) / (1.0 + square))


@lean
def forecast_fitted(state, number, context):
    """The forecast by the most likely coefficients of what was seen when they were computed; 1/2 before."""
    return clipped(dot(state.estimate[number], context))


@lean
def clipped(forecast):
    """Within (0, 1), by a little."""
    return min(max(forecast, LEAST_FORECAST), 1.0 - LEAST_FORECAST)


@lean
def log_loss(forecast, outcome):
    """- y log f - (1 - y) log(1 - f)."""
    loss = 0.0
    if outcome > 0.0:
        loss -= outcome * log(forecast)
    if outcome < 1.0:
        loss -= (1.0 - outcome) * log(1.0 - forecast)
    return loss


@lean
def worst_log_loss(forecast):
    """Of all forecasts, under any outcome."""
    least = 0.5
    for k in range(FORECASTERS):
        least = min(least, min(forecast[k], 1.0 - forecast[k]))
    return -log(least)


@lean
def first_number(constants, kept, pair):
    """The number of the loss of a pair, which has room from now on, where it is in ``constants.sets.tracked``, and how
    many numbers the pair has."""
    first = constants.next_start[pair]
    count = constants.next_start[pair + 1] - first
    begin_pair(kept, pair, count)
    return kept.first[pair], first + pair, count + 1


@lean
def outcome_of(constants, pair, at, place, loss):
    """The outcome of the number of a pair that stands at ``at``: the loss, or whether a next state followed."""
    if at == 0:
        return loss
    return 1.0 if constants.next_start[pair] + at - 1 == place else 0.0


@lean
def sums_of(constants, regression, pair, at):
    """[d] the sum of the contexts times the outcomes of a number of a pair; whether there is one, or the next state was
    never seen."""
    if at == 0:
        return regression.loss_sums[pair], True
    first = constants.next_start[pair]
    if constants.next_state[first + at - 1] == len(constants.pair_start) - 1:
        return regression.goal_sums[pair], True
    index = regression.seen_index[first + at - 1]
    return regression.next_sums[first + max(index, 0)], index >= 0


@lean
def make_forecasts(constants, state, view, pair):
    """Forecasts of the numbers of a pair that is about to be played, into ``view.room.forecast``. O(m d + d^2).

    They are made when the action is taken, from what was reported until then: an outcome that is reported late, or
    never, cannot have changed them.
    """
    kept, regression, forecast = state.sets, state.regression, view.room.forecast
    solve_context(
        regression.gram[pair],
        regression.inverse[pair],
        view.context,
        constants.regularization,
        view.direction,
        view.residual,
    )
    square = max(dot(view.direction, view.context), 0.0)
    number, base, count = first_number(constants, kept, pair)
    contexts = kept.contexts[kept.place[pair] - 1]
    for at in range(count):
        if constants.sets.tracked[base + at]:
            mean = forecast_mean(kept, number + at, pair)
            sums, seen = sums_of(constants, regression, pair, at)
            ridge = clipped(mean)
            if seen:
                ridge = forecast_ridge(contexts, sums, view.direction, square, mean)
            forecast[at, MEAN] = mean
            forecast[at, RIDGE] = ridge
            forecast[at, FITTED] = forecast_fitted(kept, number + at, view.context)


@lean
def count_missing_forecasts(constants, state, view, pair, sign):
    """A visit without its outcome begins to count (``sign`` 1), or its outcome has come (-1): whatever the outcome is,
    no forecast f of it has a log-loss above - log min(f, 1 - f)."""
    number, base, count = first_number(constants, state.sets, pair)
    for at in range(count):
        if constants.sets.tracked[base + at]:
            state.sets.missing[number + at] += sign * in_units(worst_log_loss(view.room.forecast[at]))


@lean
def learn_likelihood(constants, state, view, pair, place, loss):
    """Enter an outcome into the likelihoods of its pair; bounds are computed again where enough was seen since."""
    kept, context = state.sets, view.context
    number, base, count = first_number(constants, kept, pair)
    locate(constants.sets.cells, kept.work.cells, context)
    cell = nearest_vertex(kept.work.cells)
    visits = record_pair(kept, pair, context, cell)
    for at in range(count):
        if constants.sets.tracked[base + at]:
            outcome = outcome_of(constants, pair, at, place, loss)
            record_number(kept, number + at, visits, context, cell, outcome, view.room.forecast[at])
    kept.visits[pair] += 1
    if kept.visits[pair] >= FIT_GROWTH * kept.fitted[pair] + 1.0:
        kept.fitted[pair] = kept.visits[pair]
        for at in range(count):
            if constants.sets.tracked[base + at]:
                fit_number(kept, number + at, pair)
    if kept.visits[pair] >= max(FIRST_VISITS, GROWTH * kept.bounded[pair]):
        bound_pair(constants, state, pair)


@lean
def bound_pair(constants, state, pair):
    """The bounds of all numbers of a pair."""
    kept, ratios = state.sets, constants.sets
    kept.bounded[pair] = kept.visits[pair]
    number, base, count = first_number(constants, kept, pair)
    for at in range(count):
        if ratios.tracked[base + at]:
            failure_log = ratios.loss_log if at == 0 else ratios.row_log
            bound_number(ratios.vertices, kept, number + at, pair, failure_log + state.totals["restart_log"])


@lean
def record_pair(state, pair, context, cell):
    """Enter a visit of a pair whose outcome is known, before all its numbers; returns the row of its cell."""
    size = len(context)
    place = state.place[pair] - 1
    row = row_of(state, state.cell_rows[place], cell)
    state.rows[row, size] += 1.0
    for j in range(size):
        state.contexts[place, j] += context[j]
        state.rows[row, j] += context[j]
    return row


@lean
def record_number(state, number, visits, context, cell, outcome, forecast):
    """Enter an outcome of a number, and the forecasts of it. Its visit is in the row ``visits`` of the cell already."""
    size = len(context)
    for k in range(FORECASTERS):
        state.log_loss[number, k] += log_loss(forecast[k], outcome)
    state.ones[number] += outcome
    ratios = tilts(state.estimate[number], context, state.rows[visits])
    for side in range(2):
        weight = outcome if side == 0 else 1.0 - outcome
        ratio = ratios[0] if side == 0 else ratios[1]
        if weight > 0.0:
            row = row_of(state, state.outcome_rows[number, side], cell)
            state.shift[number] -= weight * log(ratio)
            state.rows[row, size] += weight
            for j in range(size):
                state.rows[row, j] += weight * context[j] / ratio


@lean
def tilts(estimate, context, visits):
    """How p c and (1 - p) c differ from their values at the mean context of the cell, by the estimate of p: ratios.
    ``visits`` [d + 1] has the sum of the contexts of the cell, and last their count.

    Any positive numbers are valid; with these little is lost by replacing contexts by the mean of their cell.
    """
    hit = 0.0
    mean_hit = 0.0
    for j in range(len(context)):
        hit += estimate[j] * context[j]
        mean_hit += estimate[j] * visits[j] / visits[len(context)]
    return within_tilt(hit, mean_hit), within_tilt(1.0 - hit, 1.0 - mean_hit)


@lean
def within_tilt(one, other):
    """The ratio, from 1 / MOST_TILT to MOST_TILT."""
    if not one * MOST_TILT > other:
        return 1.0 / MOST_TILT
    if not other * MOST_TILT > one:
        return MOST_TILT
    return one / other


@lean
def threshold(state, number, pair, failure_log):
    """beta, not rounded down: log(1 / failure) and what the forecasters lost, relative to ``shift``."""
    least = np.inf
    for k in range(FORECASTERS):
        least = min(least, state.log_loss[number, k])
    total = 0.0
    for k in range(FORECASTERS):
        total += exp(least - state.log_loss[number, k])
    mixed = least + log(float(FORECASTERS)) - log(total)
    shift = state.shift[number]
    more = ROUNDING * (failure_log + mixed + abs(shift) + UNIT * state.missing[number])
    return failure_log + (mixed - shift) + UNIT * state.missing[number] + more + sum_rounding(state, pair)


@lean
def bound_number(lattice, state, number, pair, failure_log):
    """The bounds of a number at all vertices, from what was seen of it. O(K) solutions, each O(L d^2 + d^3) a step."""
    work = state.work
    size = len(work.point)
    beta = threshold(state, number, pair, failure_log)
    count = state.visits[pair]
    for side in range(2):
        if (state.ones[number] if side == 0 else count - state.ones[number]) < LEAST_OUTCOMES:
            continue  # the bound is 0, or 1
        mean = forecast_mean(state, number, pair)
        for j in range(size):
            work.point[j] = mean
        value = np.nan
        for vertex in range(len(lattice.vertices)):
            for j in range(size):
                weight = lattice.vertices[vertex, j] / lattice.steps
                work.target[j] = weight if side == 0 else -weight
            bound, value = least_value_from(state, number, pair, beta, value)
            if side == 0:
                state.low[number, vertex] = min(max(state.low[number, vertex], bound), 1.0)
            else:
                state.high[number, vertex] = max(min(state.high[number, vertex], -bound), 0.0)


@lean
def likelihood_loss(constants, state, view, pair):
    """The interval of the loss, cut by its likelihood-ratio set; as it is where both contradict each other."""
    low, high = sharp_loss(constants, state, view, pair)
    kept = state.sets
    if kept.bounded[pair] == 0 or not constants.sets.tracked[constants.next_start[pair] + pair]:
        return low, high
    locate(constants.sets.vertices, kept.work.vertices, view.context)
    number = kept.first[pair]
    least = max(low, interpolate(kept.work.vertices, kept.low[number]))
    most = min(high, interpolate(kept.work.vertices, kept.high[number]))
    if least > most:
        return low, high
    return least, most


@lean
def likelihood_row(constants, state, view, pair):
    """The intervals of the next states of a pair, cut by their likelihood-ratio sets; returns their lengths in all.

    All stay as they are where no row would be left: then one of the sets has failed.
    """
    sides = sharp_row(constants, state, view, pair)
    kept, sets = state.sets, view.sets
    first = constants.next_start[pair]
    last = constants.next_start[pair + 1]
    if kept.bounded[pair] == 0 or not constants.sets.tracked[first + pair + 1]:
        return sides
    locate(constants.sets.vertices, kept.work.vertices, view.context)
    number = kept.first[pair] + 1
    least_sum = 0.0
    most_sum = 0.0
    for place in range(first, last):
        least, most = cut_interval(kept, sets, number, first, last, place)
        if least > most:
            return sides
        least_sum += least
        most_sum += most
    if least_sum > 1.0 or most_sum < 1.0:
        return sides
    for place in range(first, last):
        sets.low[place], sets.high[place] = cut_interval(kept, sets, number, first, last, place)
    return most_sum - least_sum


@lean
def cut_interval(state, sets, number, first, last, place):
    """The interval of one next state of a pair, whose first one has this number; of two next states the second has what
    the first leaves."""
    at = number + place - first
    if last - first == 2 and place > first:
        least = 1.0 - interpolate(state.work.vertices, state.high[number])
        most = 1.0 - interpolate(state.work.vertices, state.low[number])
    else:
        least = interpolate(state.work.vertices, state.low[at])
        most = interpolate(state.work.vertices, state.high[at])
    return max(sets.low[place], least), min(sets.high[place], most)


@lean
def erase_likelihood(constants, state, pair):
    """Nothing was seen of a pair, nor of any other: its room is free."""
    erase_variance(constants, state, pair)
    kept = state.sets
    kept.place[pair] = 0
    kept.first[pair] = 0
    kept.visits[pair] = 0
    kept.fitted[pair] = 0
    kept.bounded[pair] = 0
    kept.used["pairs"] = 0
    kept.used["numbers"] = 0
    kept.used["rows"] = 0


@lean
def take_over_likelihood(constants, state, pair):
    """Sums came from another learner: likelihoods begin with the next step. Forecasts regress the sums of all visits on
    their contexts; as contexts sum to 1, so do the columns of V without its ridge to the sum of the contexts."""
    take_over_variance(constants, state, pair)
    kept, gram = state.sets, state.regression.gram[pair]
    first_number(constants, kept, pair)
    for r in range(len(gram)):
        total = -constants.regularization - missing_weight(state, pair, r)
        for c in range(len(gram)):
            total += gram[r, c]
        kept.contexts[kept.place[pair] - 1, r] = max(total, 0.0)
