"""Likelihood-ratio sets: all coefficients under which the outcomes of a number were not too unlikely.

A *number* is the loss of a pair, or the indicator of one of its next states: y in [0, 1] with mean p c under the
context c, for coefficients p in [0, 1]^d. docs/explanation/likelihood.md has the proofs of what follows.

**The set.** Before each visit forecasts f of y are made (:mod:`goalbound.kernels.forecasts`). With A the cumulative
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
(:mod:`goalbound.kernels.likelihood_bounds`). The least p c is a concave function of c, so that for other contexts
bounds are interpolated between vertices. A bound holds for ever; it is computed again when the visits of its pair have
grown by a factor.
"""

from math import exp, log

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import lean
from goalbound.jit.struct import Struct
from goalbound.kernels.forecasts import (
    FIT_GROWTH,
    fit_pair,
    forecast_mean,
    log_loss,
    worst_log_loss,
)
from goalbound.kernels.lattice import Lattice, interpolate, locate, nearest_vertex
from goalbound.kernels.likelihood_bounds import ROUNDING, least_value_from, sum_rounding
from goalbound.kernels.likelihood_state import FORECASTERS, begin_pair, row_of
from goalbound.kernels.pending import UNIT, in_units

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

    _static = ("on",)

    on: bool
    """whether intervals are intersected with them; if not, nothing below matters"""
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
def learn_likelihood(constants, learner, episode, pair, place, loss):
    """Enter an outcome into the likelihoods of its pair; bounds are computed again where enough was seen since."""
    state, context = learner.likelihood, episode.context
    pairs = len(state.visits)
    first = constants.next_start[pair]
    last = constants.next_start[pair + 1]
    begin_pair(state, pair, last - first)
    locate(constants.likelihood.cells, state.work.cells, context)
    cell = nearest_vertex(state.work.cells)
    visits = record_pair(state, pair, context, cell)
    number = state.first[pair]
    if constants.likelihood.tracked[pair]:
        record_number(state, number, visits, context, cell, loss, episode.forecast[0])
    for k in range(first, last):
        if constants.likelihood.tracked[pairs + k]:
            outcome = 1.0 if k == place else 0.0
            at = 1 + k - first
            record_number(state, number + at, visits, context, cell, outcome, episode.forecast[at])
    state.visits[pair] += 1
    if state.visits[pair] >= FIT_GROWTH * state.fitted[pair] + 1.0:
        fit_pair(constants, state, pair)
    if state.visits[pair] >= max(FIRST_VISITS, GROWTH * state.bounded[pair]):
        bound_pair(constants, learner, pair)


@lean
def bound_pair(constants, learner, pair):
    """The bounds of all numbers of a pair."""
    state = learner.likelihood
    pairs = len(state.visits)
    state.bounded[pair] = state.visits[pair]
    restart_log = learner.totals["restart_log"]
    first, number = constants.next_start[pair], state.first[pair]
    if constants.likelihood.tracked[pair]:
        bound_number(constants.likelihood.vertices, state, number, pair, constants.likelihood.loss_log + restart_log)
    for place in range(first, constants.next_start[pair + 1]):
        if constants.likelihood.tracked[pairs + place]:
            bound_number(
                constants.likelihood.vertices, state, number + 1 + place - first, pair,
                constants.likelihood.row_log + restart_log,
            )  # fmt: skip


@lean
def add_pending_forecasts(constants, learner, episode, pair, sign):
    """A visit without its outcome begins to count (``sign`` 1), or its outcome has come (-1): whatever the outcome is,
    no forecast f of it has a log-loss above - log min(f, 1 - f)."""
    state = learner.likelihood
    pairs = len(state.visits)
    first = constants.next_start[pair]
    last = constants.next_start[pair + 1]
    begin_pair(state, pair, last - first)
    number = state.first[pair]
    if constants.likelihood.tracked[pair]:
        state.pending[number] += sign * in_units(worst_log_loss(episode.forecast[0]))
    for place in range(first, last):
        if constants.likelihood.tracked[pairs + place]:
            at = 1 + place - first
            state.pending[number + at] += sign * in_units(worst_log_loss(episode.forecast[at]))


@lean
def intersect_loss(constants, learner, context, pair, low, high):
    """The interval of a loss, cut by its likelihood-ratio set; as it is where both contradict each other."""
    state = learner.likelihood
    if not constants.likelihood.tracked[pair] or state.bounded[pair] == 0:
        return low, high
    locate(constants.likelihood.vertices, state.work.vertices, context)
    number = state.first[pair]
    least = max(low, interpolate(state.work.vertices, state.low[number]))
    most = min(high, interpolate(state.work.vertices, state.high[number]))
    if least > most:
        return low, high
    return least, most


@lean
def intersect_row(constants, learner, episode, pair, sides):
    """Cut the intervals of the next states of a pair by their likelihood-ratio sets; returns their lengths in all.

    All stay as they are where no row would be left: then one of the sets has failed.
    """
    state, sets = learner.likelihood, episode.sets
    pairs = len(state.visits)
    first = constants.next_start[pair]
    last = constants.next_start[pair + 1]
    if state.bounded[pair] == 0 or not constants.likelihood.tracked[pairs + first]:
        return sides
    locate(constants.likelihood.vertices, state.work.vertices, episode.context)
    number = state.first[pair] + 1
    least_sum = 0.0
    most_sum = 0.0
    for place in range(first, last):
        least, most = cut_interval(state, sets, number, first, last, place)
        if least > most:
            return sides
        least_sum += least
        most_sum += most
    if least_sum > 1.0 or most_sum < 1.0:
        return sides
    for place in range(first, last):
        least, most = cut_interval(state, sets, number, first, last, place)
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


@lean
def add_rows(state, index, theirs, their_index):
    """Add the rows of the cells of another learner."""
    for cell in range(len(index)):
        other = their_index[cell]
        if other > 0:
            row = row_of(state, index, cell)
            for j in range(state.rows.shape[1]):
                state.rows[row, j] += theirs.rows[other, j]


@lean
def merge_number(state, number, theirs, other):
    """Sums add up; the bounds of one are not those of both."""
    for k in range(FORECASTERS):
        state.log_loss[number, k] += theirs.log_loss[other, k]
    state.pending[number] += theirs.pending[other]
    state.ones[number] += theirs.ones[other]
    state.shift[number] += theirs.shift[other]
    for vertex in range(state.low.shape[1]):
        state.low[number, vertex] = 0.0
        state.high[number, vertex] = 1.0
    add_rows(state, state.hit_rows[number], theirs, theirs.hit_rows[other])
    add_rows(state, state.miss_rows[number], theirs, theirs.miss_rows[other])


@lean
def merge_likelihood(constants, learner, other, pair):
    """The likelihoods of a pair over the steps of two learners: the forecasts of each were made before its outcomes."""
    state, theirs = learner.likelihood, other.likelihood
    if theirs.place[pair] == 0:
        return
    next_states = constants.next_start[pair + 1] - constants.next_start[pair]
    begin_pair(state, pair, next_states)
    place, their_place = state.place[pair] - 1, theirs.place[pair] - 1
    state.visits[pair] += theirs.visits[pair]
    for j in range(state.contexts.shape[1]):
        state.contexts[place, j] += theirs.contexts[their_place, j]
    add_rows(state, state.cell_rows[place], theirs, theirs.cell_rows[their_place])
    for k in range(1 + next_states):
        merge_number(state, state.first[pair] + k, theirs, theirs.first[pair] + k)
    fit_pair(constants, state, pair)
    bound_pair(constants, learner, pair)
