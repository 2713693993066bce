"""Likelihood-ratio sets: all coefficients under which the outcomes of a number were not too unlikely.

A *number* is the loss of a pair, or the indicator of one of its next states: y in [0, 1] with mean p c under the
context c, for coefficients p in [0, 1]^d. docs/explanation/likelihood.md has the proofs of what follows.

**The set.** Before each visit forecasts f of y are made (:mod:`.forecasts`). With A the cumulative
log-loss of a forecaster and F(p) = - sum of y log(p c) + (1 - y) log(1 - p c) that of p, exp(F(p) - A) is a
supermartingale at the true p, and so is the mean over the forecasters: with probability 1 - failure the true p has
F(p) <= log(1 / failure) - log(mean of exp(-A)) at all times.

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

from goalbound.confidence.likelihood.bounds import ROUNDING, least_value_from, sum_rounding
from goalbound.confidence.likelihood.forecasts import (
    FIT_GROWTH,
    fit_pair,
    forecast_mean,
    log_loss,
    worst_log_loss,
)
from goalbound.confidence.likelihood.lattice import Lattice, interpolate, locate, nearest_vertex
from goalbound.confidence.likelihood.state import FORECASTERS, begin_pair, row_of
from goalbound.confidence.pending import UNIT, in_units
from goalbound.confidence.sharp_kernels import SharpConstants
from goalbound.jit.compile import lean
from goalbound.jit.struct import Struct

MOST_CELLS = 12
"""Of a lattice of cells; unless the corners alone are more."""
MOST_VERTICES, MOST_PAIR_BOUNDS = 36, 180
"""Of a lattice, and in all for the numbers of one pair; unless the corners alone are more."""
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
    """[N + M] the numbers that have a set: not what is known, or follows from another number"""


@lean
def record_number(state, number, visits, context, cell, outcome, forecast):
    """Enter an outcome of a number, and the forecasts of it. Its visit is in the row ``visits`` of the cell already."""
    size = len(context)
    for k in range(FORECASTERS):
        state.log_loss[number, k] += log_loss(forecast[k], outcome)
    state.ones[number] += outcome
    hit, miss = tilts(state.estimate[number], context, state.rows[visits])
    if outcome > 0.0:
        row = row_of(state, state.hit_rows[number], cell)
        state.shift[number] -= outcome * log(hit)
        state.rows[row, size] += outcome
        for j in range(size):
            state.rows[row, j] += outcome * context[j] / hit
    if outcome < 1.0:
        row = row_of(state, state.miss_rows[number], cell)
        state.shift[number] -= (1.0 - outcome) * log(miss)
        state.rows[row, size] += 1.0 - outcome
        for j in range(size):
            state.rows[row, j] += (1.0 - outcome) * context[j] / miss


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
    more = ROUNDING * (failure_log + mixed + abs(shift) + UNIT * state.pending[number])
    return failure_log + (mixed - shift) + UNIT * state.pending[number] + more + sum_rounding(state, pair)


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
def learn_likelihood(constants, state, view, pair, place, loss):
    """Enter an outcome into the likelihoods of its pair; bounds are computed again where enough was seen since."""
    kept, context, forecast = state.sets, view.context, view.room.forecast
    tracked = constants.sets.tracked
    pairs = len(kept.visits)
    first = constants.next_start[pair]
    last = constants.next_start[pair + 1]
    begin_pair(kept, pair, last - first)
    locate(constants.sets.cells, kept.work.cells, context)
    cell = nearest_vertex(kept.work.cells)
    visits = record_pair(kept, pair, context, cell)
    number = kept.first[pair]
    if tracked[pair]:
        record_number(kept, number, visits, context, cell, loss, forecast[0])
    for k in range(first, last):
        if tracked[pairs + k]:
            outcome = 1.0 if k == place else 0.0
            at = 1 + k - first
            record_number(kept, number + at, visits, context, cell, outcome, forecast[at])
    kept.visits[pair] += 1
    if kept.visits[pair] >= FIT_GROWTH * kept.fitted[pair] + 1.0:
        fit_pair(constants, kept, pair)
    if kept.visits[pair] >= max(FIRST_VISITS, GROWTH * kept.bounded[pair]):
        bound_pair(constants, state, pair)


@lean
def bound_pair(constants, state, pair):
    """The bounds of all numbers of a pair."""
    kept, ratios = state.sets, constants.sets
    pairs = len(kept.visits)
    kept.bounded[pair] = kept.visits[pair]
    restart_log = state.totals["restart_log"]
    first, number = constants.next_start[pair], kept.first[pair]
    if ratios.tracked[pair]:
        bound_number(ratios.vertices, kept, number, pair, ratios.loss_log + restart_log)
    for place in range(first, constants.next_start[pair + 1]):
        if ratios.tracked[pairs + place]:
            bound_number(ratios.vertices, kept, number + 1 + place - first, pair, ratios.row_log + restart_log)


@lean
def count_missing_forecasts(constants, state, view, pair, sign):
    """A visit without its outcome begins to count (``sign`` 1), or its outcome has come (-1): whatever the outcome is,
    no forecast f of it has a log-loss above - log min(f, 1 - f)."""
    kept, forecast = state.sets, view.room.forecast
    tracked = constants.sets.tracked
    pairs = len(kept.visits)
    first = constants.next_start[pair]
    last = constants.next_start[pair + 1]
    begin_pair(kept, pair, last - first)
    number = kept.first[pair]
    if tracked[pair]:
        kept.pending[number] += sign * in_units(worst_log_loss(forecast[0]))
    for place in range(first, last):
        if tracked[pairs + place]:
            at = 1 + place - first
            kept.pending[number + at] += sign * in_units(worst_log_loss(forecast[at]))


@lean
def take_over_contexts(constants, state, pair):
    """Sums came from another learner. Forecasts regress the sums of all visits on their contexts; as contexts sum to
    1, so do the columns of V without its ridge to the sum of the contexts."""
    kept, gram = state.sets, state.regression.gram[pair]
    begin_pair(kept, pair, constants.next_start[pair + 1] - constants.next_start[pair])
    for r in range(len(gram)):
        total = -constants.regularization - UNIT * state.pending.contexts[pair, r]
        for c in range(len(gram)):
            total += gram[r, c]
        kept.contexts[kept.place[pair] - 1, r] = max(total, 0.0)


@lean
def intersect_loss(constants, state, context, pair, low, high):
    """The interval of a loss, cut by its likelihood-ratio set; as it is where both contradict each other."""
    kept = state.sets
    if not constants.sets.tracked[pair] or kept.bounded[pair] == 0:
        return low, high
    locate(constants.sets.vertices, kept.work.vertices, context)
    number = kept.first[pair]
    least = max(low, interpolate(kept.work.vertices, kept.low[number]))
    most = min(high, interpolate(kept.work.vertices, kept.high[number]))
    if least > most:
        return low, high
    return least, most


@lean
def intersect_row(constants, state, view, pair, sides):
    """Cut the intervals of the next states of a pair by their likelihood-ratio sets; returns their lengths in all.

    All stay as they are where no row would be left: then one of the sets has failed.
    """
    kept, sets = state.sets, view.sets
    pairs = len(kept.visits)
    first = constants.next_start[pair]
    last = constants.next_start[pair + 1]
    if kept.bounded[pair] == 0 or not constants.sets.tracked[pairs + first]:
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
        least, most = cut_interval(kept, sets, number, first, last, place)
        sets.low[place] = least
        sets.high[place] = most
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
