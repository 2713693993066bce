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

from goalbound.kernels.compile import lean
from goalbound.kernels.forecasts import (
    FIT_GROWTH,
    FORECASTERS,
    fit_pair,
    forecast_mean,
    log_loss,
    worst_log_loss,
)
from goalbound.kernels.lattice import Lattice, Located, interpolate, locate, nearest_vertex, new_located
from goalbound.kernels.lazy_arrays import lazy_zeros
from goalbound.kernels.likelihood_bounds import ROUNDING, least_value, sum_rounding
from goalbound.kernels.pending import UNIT, in_units
from goalbound.kernels.struct import Struct

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


class LikelihoodWorkspace(Struct):
    """Scratch arrays."""

    target: NDArray[np.float64]
    """[d] the vertex at which a number is bounded, with the sign of the bound"""
    point: NDArray[np.float64]
    """[d] p0"""
    gradient: NDArray[np.float64]
    """[d]"""
    step: NDArray[np.float64]
    """[d]"""
    across: NDArray[np.float64]
    """[d]"""
    trial: NDArray[np.float64]
    """[d]"""
    hessian: NDArray[np.float64]
    """[d, d]"""
    free: NDArray[np.bool_]
    """[d]"""
    vertices: Located
    """the context of the last set, among the vertices"""
    cells: Located
    """the context of the last step, among the cells"""


class LikelihoodState(Struct):
    """Sums of Q = N + M numbers, the losses of the N pairs and then the M next states, over L cells; their bounds at K
    vertices."""

    log_loss: NDArray[np.float64]
    """[Q, FORECASTERS] cumulative"""
    estimate: NDArray[np.float64]
    """[Q, d] the most likely coefficients when they were computed last"""
    fitted: NDArray[np.int64]
    """[N] ``visits`` when that was"""
    pending: NDArray[np.int64]
    """[Q] what outcomes that are missing may add to both, in UNITs of :mod:`.pending`"""
    ones: NDArray[np.float64]
    """[Q] sum of y"""
    shift: NDArray[np.float64]
    """[Q] sum of - y log(h) - (1 - y) log(h'), h and h' the ratios of :func:`tilts`"""
    contexts: NDArray[np.float64]
    """[N, d] sum of the contexts of the visits of a pair whose outcomes are known"""
    visits: NDArray[np.int64]
    """[N] how many these are"""
    cell_weight: NDArray[np.float64]
    """[N, L] visits of a pair by cell"""
    cell_contexts: NDArray[np.float64]
    """[N, L, d] the sum of their contexts"""
    hit_weight: NDArray[np.float64]
    """[Q, L] sum of y by cell"""
    hit_contexts: NDArray[np.float64]
    """[Q, L, d] sum of y c / h"""
    miss_weight: NDArray[np.float64]
    """[Q, L] sum of 1 - y by cell"""
    miss_contexts: NDArray[np.float64]
    """[Q, L, d] sum of (1 - y) c / h'"""
    low: NDArray[np.float64]
    """[Q, K] the least p c at each vertex"""
    high: NDArray[np.float64]
    """[Q, K] the largest"""
    bounded: NDArray[np.int64]
    """[N] ``visits`` when the bounds of a pair were computed"""
    work: LikelihoodWorkspace


def new_likelihood_state(pairs: int, triples: int, size: int, vertices: int, cells: int) -> LikelihoodState:
    """Nothing was seen. ``vertices`` 0: there are no such sets."""
    pairs, triples = (pairs, triples) if vertices else (0, 0)
    numbers = pairs + triples
    return LikelihoodState(
        log_loss=np.zeros((numbers, FORECASTERS)),
        estimate=np.full((numbers, size), 0.5),
        fitted=np.zeros(pairs, dtype=np.int64),
        pending=np.zeros(numbers, dtype=np.int64),
        ones=np.zeros(numbers),
        shift=np.zeros(numbers),
        contexts=np.zeros((pairs, size)),
        visits=np.zeros(pairs, dtype=np.int64),
        cell_weight=np.zeros((pairs, cells)),
        cell_contexts=lazy_zeros((pairs, cells, size)),
        hit_weight=np.zeros((numbers, cells)),
        hit_contexts=lazy_zeros((numbers, cells, size)),
        miss_weight=np.zeros((numbers, cells)),
        miss_contexts=lazy_zeros((numbers, cells, size)),
        low=np.zeros((numbers, vertices)),
        high=np.ones((numbers, vertices)),
        bounded=np.zeros(pairs, dtype=np.int64),
        work=LikelihoodWorkspace(
            target=np.zeros(size),
            point=np.zeros(size),
            gradient=np.zeros(size),
            step=np.zeros(size),
            across=np.zeros(size),
            trial=np.zeros(size),
            hessian=np.zeros((size, size)),
            free=np.zeros(size, dtype=np.bool_),
            vertices=new_located(size),
            cells=new_located(size),
        ),
    )


@lean
def record_number(state, number, pair, cell, context, outcome, forecast):
    """Enter an outcome of a number, and the forecasts of it. Its visit is in the sums of the cell already."""
    for k in range(FORECASTERS):
        state.log_loss[number, k] += log_loss(forecast[k], outcome)
    state.ones[number] += outcome
    hit, miss = tilts(state.estimate[number], context, state.cell_contexts[pair, cell], state.cell_weight[pair, cell])
    if outcome > 0.0:
        state.shift[number] -= outcome * log(hit)
        state.hit_weight[number, cell] += outcome
        for j in range(len(context)):
            state.hit_contexts[number, cell, j] += outcome * context[j] / hit
    if outcome < 1.0:
        state.shift[number] -= (1.0 - outcome) * log(miss)
        state.miss_weight[number, cell] += 1.0 - outcome
        for j in range(len(context)):
            state.miss_contexts[number, cell, j] += (1.0 - outcome) * context[j] / miss


@lean
def tilts(estimate, context, contexts, weight):
    """How p c and (1 - p) c differ from their values at the mean context of the cell, by the estimate of p: ratios.

    Any positive numbers are valid; with these little is lost by replacing contexts by the mean of their cell.
    """
    hit = 0.0
    mean_hit = 0.0
    for j in range(len(context)):
        hit += estimate[j] * context[j]
        mean_hit += estimate[j] * contexts[j] / weight
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
def record_pair(state, pair, cell, context):
    """Enter a visit of a pair whose outcome is known, before all its numbers."""
    state.cell_weight[pair, cell] += 1.0
    for j in range(len(context)):
        state.contexts[pair, j] += context[j]
        state.cell_contexts[pair, cell, j] += context[j]


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
        for vertex in range(len(lattice.vertices)):
            for j in range(size):
                weight = lattice.vertices[vertex, j] / lattice.steps
                work.target[j] = weight if side == 0 else -weight
            bound = least_value(state, number, pair, beta)
            if side == 0:
                state.low[number, vertex] = min(max(state.low[number, vertex], bound), 1.0)
            else:
                state.high[number, vertex] = max(min(state.high[number, vertex], -bound), 0.0)


@lean
def learn_likelihood(constants, learner, episode, pair, place, loss):
    """Enter an outcome into the likelihoods of its pair; bounds are computed again where enough was seen since."""
    state, context = learner.likelihood, episode.context
    pairs = len(state.visits)
    locate(constants.likelihood.cells, state.work.cells, context)
    cell = nearest_vertex(state.work.cells)
    record_pair(state, pair, cell, context)
    if constants.likelihood.tracked[pair]:
        record_number(state, pair, pair, cell, context, loss, episode.forecast[0])
    first = constants.next_start[pair]
    for k in range(first, constants.next_start[pair + 1]):
        if constants.likelihood.tracked[pairs + k]:
            outcome = 1.0 if k == place else 0.0
            record_number(state, pairs + k, pair, cell, context, outcome, episode.forecast[1 + k - first])
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
    if constants.likelihood.tracked[pair]:
        bound_number(constants.likelihood.vertices, state, pair, pair, constants.likelihood.loss_log + restart_log)
    for place in range(constants.next_start[pair], constants.next_start[pair + 1]):
        if constants.likelihood.tracked[pairs + place]:
            bound_number(
                constants.likelihood.vertices, state, pairs + place, pair, constants.likelihood.row_log + restart_log
            )


@lean
def add_pending_forecasts(constants, learner, episode, pair, sign):
    """A visit without its outcome begins to count (``sign`` 1), or its outcome has come (-1): whatever the outcome is,
    no forecast f of it has a log-loss above - log min(f, 1 - f)."""
    state = learner.likelihood
    pairs = len(state.visits)
    if constants.likelihood.tracked[pair]:
        state.pending[pair] += sign * in_units(worst_log_loss(episode.forecast[0]))
    first = constants.next_start[pair]
    for place in range(first, constants.next_start[pair + 1]):
        if constants.likelihood.tracked[pairs + place]:
            state.pending[pairs + place] += sign * in_units(worst_log_loss(episode.forecast[1 + place - first]))


@lean
def intersect_loss(constants, learner, context, pair, low, high):
    """The interval of a loss, cut by its likelihood-ratio set; as it is where both contradict each other."""
    state = learner.likelihood
    if not constants.likelihood.tracked[pair] or state.bounded[pair] == 0:
        return low, high
    locate(constants.likelihood.vertices, state.work.vertices, context)
    least = max(low, interpolate(state.work.vertices, state.low[pair]))
    most = min(high, interpolate(state.work.vertices, state.high[pair]))
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
    least_sum = 0.0
    most_sum = 0.0
    for place in range(first, last):
        least, most = cut_interval(constants, state, sets, pairs, first, last, place)
        if least > most:
            return sides
        least_sum += least
        most_sum += most
    if least_sum > 1.0 or most_sum < 1.0:
        return sides
    for place in range(first, last):
        least, most = cut_interval(constants, state, sets, pairs, first, last, place)
        sets.low[place] = least
        sets.high[place] = most
    return most_sum - least_sum


@lean
def cut_interval(constants, state, sets, pairs, first, last, place):
    """The interval of one next state; of two next states the second has what the first leaves."""
    if last - first == 2 and place > first:
        least = 1.0 - interpolate(state.work.vertices, state.high[pairs + first])
        most = 1.0 - interpolate(state.work.vertices, state.low[pairs + first])
    else:
        least = interpolate(state.work.vertices, state.low[pairs + place])
        most = interpolate(state.work.vertices, state.high[pairs + place])
    return max(sets.low[place], least), min(sets.high[place], most)


@lean
def reset_likelihood(learner, pair, first, last):
    """Nothing was seen of a pair, whose next states stand from ``first`` on, before ``last``."""
    state = learner.likelihood
    pairs = len(state.visits)
    state.visits[pair] = 0
    state.fitted[pair] = 0
    state.bounded[pair] = 0
    for j in range(state.contexts.shape[1]):
        state.contexts[pair, j] = 0.0
    for cell in range(state.cell_weight.shape[1]):
        state.cell_weight[pair, cell] = 0.0
        for j in range(state.contexts.shape[1]):
            state.cell_contexts[pair, cell, j] = 0.0
    reset_number(state, pair)
    for place in range(first, last):
        reset_number(state, pairs + place)


@lean
def reset_number(state, number):
    """Nothing was seen of a number."""
    for k in range(FORECASTERS):
        state.log_loss[number, k] = 0.0
    for j in range(state.estimate.shape[1]):
        state.estimate[number, j] = 0.5
    state.pending[number] = 0
    state.ones[number] = 0.0
    state.shift[number] = 0.0
    for vertex in range(state.low.shape[1]):
        state.low[number, vertex] = 0.0
        state.high[number, vertex] = 1.0
    for cell in range(state.hit_weight.shape[1]):
        state.hit_weight[number, cell] = 0.0
        state.miss_weight[number, cell] = 0.0
        for j in range(state.hit_contexts.shape[2]):
            state.hit_contexts[number, cell, j] = 0.0
            state.miss_contexts[number, cell, j] = 0.0


@lean
def merge_number(state, theirs, number):
    """Sums add up; the bounds of one are not those of both."""
    for k in range(FORECASTERS):
        state.log_loss[number, k] += theirs.log_loss[number, k]
    state.pending[number] += theirs.pending[number]
    state.ones[number] += theirs.ones[number]
    state.shift[number] += theirs.shift[number]
    for vertex in range(state.low.shape[1]):
        state.low[number, vertex] = 0.0
        state.high[number, vertex] = 1.0
    for cell in range(state.hit_weight.shape[1]):
        state.hit_weight[number, cell] += theirs.hit_weight[number, cell]
        state.miss_weight[number, cell] += theirs.miss_weight[number, cell]
        for j in range(state.hit_contexts.shape[2]):
            state.hit_contexts[number, cell, j] += theirs.hit_contexts[number, cell, j]
            state.miss_contexts[number, cell, j] += theirs.miss_contexts[number, cell, j]


@lean
def merge_likelihood(constants, learner, other, pair):
    """The likelihoods of a pair over the steps of two learners: the forecasts of each were made before its outcomes."""
    state, theirs = learner.likelihood, other.likelihood
    pairs = len(state.visits)
    state.visits[pair] += theirs.visits[pair]
    for j in range(state.contexts.shape[1]):
        state.contexts[pair, j] += theirs.contexts[pair, j]
    for cell in range(state.cell_weight.shape[1]):
        state.cell_weight[pair, cell] += theirs.cell_weight[pair, cell]
        for j in range(state.contexts.shape[1]):
            state.cell_contexts[pair, cell, j] += theirs.cell_contexts[pair, cell, j]
    merge_number(state, theirs, pair)
    for place in range(constants.next_start[pair], constants.next_start[pair + 1]):
        merge_number(state, theirs, pairs + place)
    fit_pair(constants, state, pair)
    bound_pair(constants, learner, pair)
