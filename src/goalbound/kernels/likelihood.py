"""Likelihood-ratio sets: all coefficients under which the outcomes of a number were not too unlikely.

A *number* is the loss of a pair, or the indicator of one of its next states: y in [0, 1] with mean p c under the
context c, for coefficients p in [0, 1]^d. docs/explanation/likelihood.md has the proofs of what follows.

**The set.** Before each visit a forecast f of y is made. With A the cumulative log-loss of the forecasts and
F(p) = - sum of y log(p c) + (1 - y) log(1 - p c) that of p, exp(F(p) - A) is a supermartingale at the true p. Two
forecasters are mixed: beta = log(1 / failure) - log(exp(-A) / 2 + exp(-B) / 2). With probability 1 - failure the true p
has F(p) <= beta at all times.

**Cells.** Contexts are put into the cell of their nearest vertex of a lattice on the simplex, and a cell keeps sums of
its contexts, weighted by y and by 1 - y. By Jensen's inequality the F of the cells is at most that of the visits.

**Bounds.** At each vertex c the least and the largest p c over the set are bounded. F is convex: for every p0 with
gradient g, every s > 0 and r = c + g / s, all p of the set have

    c p  >=  c p0 - (beta - F(p0)) / s + sum over j of min(-r_j p0_j, r_j (1 - p0_j)).

Newton's method only proposes p0 and s, so that stopping early costs tightness and nothing else. The least p c is a
concave function of c, so that for other contexts bounds are interpolated between vertices. A bound holds for ever; it
is computed again when the visits of its pair have grown by a factor.
"""

from math import exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

from goalbound.kernels.compile import lean
from goalbound.kernels.pending import UNIT, in_units
from goalbound.kernels.regression import EPS, dot, solve_context
from goalbound.kernels.struct import Struct

MOST_VERTICES, MOST_PAIR_BOUNDS = 36, 180
"""Of a lattice, and in all for the numbers of one pair; unless the corners alone are more."""
FINEST = 12
"""The most steps of a lattice from corner to corner."""
FIRST_VISITS, GROWTH = 4, 1.2
"""Bounds are computed after so many visits of their pair, and again when the visits have grown by this factor."""
LEAST_OUTCOMES = 2.0
"""A lower bound is computed where y sums to so much, an upper one where 1 - y does: before, they would say little."""
LEAST_FORECAST = 1e-12
"""Forecasts keep this distance from 0 and 1."""
MOST_STEPS = 20
"""Of Newton's method, for one bound."""
STRIDE = 1.5
"""The longest step, in the norm of the Hessian."""
CONVERGED = 1e-4
"""A step of this squared length would change nothing that can be seen."""
EDGE = 1e-9
"""Newton's method keeps p this far inside the box."""
ROUNDING = 1e-12
"""More than the relative error of F and beta, but for that of sums over many visits (:func:`sum_rounding`)."""


class LikelihoodConstants(Struct):
    """How likelihood-ratio sets are made."""

    _static = ("on",)

    on: bool
    """whether intervals are intersected with them; if not, nothing below matters"""
    loss_log: float
    """log(1 / failure) of a loss"""
    row_log: float
    """log(1 / failure) of a next state"""
    steps: int
    """of the lattice, from corner to corner"""
    vertices: NDArray[np.int64]
    """[K, d] of the lattice, in steps: each sums to ``steps``"""
    tracked: NDArray[np.bool_]
    """[N + M] the numbers that have a set: not what is known, or follows from another number"""


class LikelihoodWorkspace(Struct):
    """Scratch arrays."""

    index: NDArray[np.int64]
    """[d] the vertices around a context"""
    share: NDArray[np.float64]
    """[d] the weight of each"""
    order: NDArray[np.int64]
    """[d]"""
    corner: NDArray[np.int64]
    """[d] a vertex"""
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


class LikelihoodState(Struct):
    """Sums of Q = N + M numbers, the losses of the N pairs and then the M next states, over K cells."""

    log_loss: NDArray[np.float64]
    """[Q, 2] cumulative, of both forecasters"""
    pending: NDArray[np.int64]
    """[Q] what outcomes that are missing may add to both, in UNITs of :mod:`.pending`"""
    ones: NDArray[np.float64]
    """[Q] sum of y"""
    contexts: NDArray[np.float64]
    """[N, d] sum of the contexts of the visits of a pair whose outcomes are known"""
    visits: NDArray[np.int64]
    """[N] how many these are"""
    cell_weight: NDArray[np.float64]
    """[N, K] visits of a pair by cell"""
    cell_contexts: NDArray[np.float64]
    """[N, K, d] the sum of their contexts"""
    hit_weight: NDArray[np.float64]
    """[Q, K] sum of y by cell"""
    hit_contexts: NDArray[np.float64]
    """[Q, K, d] sum of y c"""
    low: NDArray[np.float64]
    """[Q, K] the least p c at each vertex"""
    high: NDArray[np.float64]
    """[Q, K] the largest"""
    bounded: NDArray[np.int64]
    """[N] ``visits`` when the bounds of a pair were computed"""
    work: LikelihoodWorkspace


def lattice_vertices(size: int, most: int) -> tuple[int, NDArray[np.int64]]:
    """The finest lattice of at most ``most`` vertices on the simplex of ``size`` corners: its steps, and its vertices
    [K, d]; the corners at least.

    >>> lattice_vertices(3, 6)
    (2, array([[0, 0, 2],
           [0, 1, 1],
           [0, 2, 0],
           [1, 0, 1],
           [1, 1, 0],
           [2, 0, 0]]))
    """
    steps = 1
    while size > 1 and steps < FINEST and _lattice_count(size, steps + 1) <= most:
        steps += 1
    return steps, np.array(_compositions(steps, size), dtype=np.int64).reshape(-1, size)


def _lattice_count(size: int, steps: int) -> int:
    """(steps + size - 1) choose steps."""
    count = 1
    for k in range(1, steps + 1):
        count = count * (size - 1 + k) // k
    return count


def _compositions(total: int, parts: int) -> list[tuple[int, ...]]:
    if parts == 1:
        return [(total,)]
    return [(first, *rest) for first in range(total + 1) for rest in _compositions(total - first, parts - 1)]


def new_likelihood_state(pairs: int, triples: int, size: int, vertices: int) -> LikelihoodState:
    """Nothing was seen. ``vertices`` 0: there are no such sets."""
    pairs, triples = (pairs, triples) if vertices else (0, 0)
    numbers = pairs + triples
    return LikelihoodState(
        log_loss=np.zeros((numbers, 2)),
        pending=np.zeros(numbers, dtype=np.int64),
        ones=np.zeros(numbers),
        contexts=np.zeros((pairs, size)),
        visits=np.zeros(pairs, dtype=np.int64),
        cell_weight=np.zeros((pairs, vertices)),
        cell_contexts=np.zeros((pairs, vertices, size)),
        hit_weight=np.zeros((numbers, vertices)),
        hit_contexts=np.zeros((numbers, vertices, size)),
        low=np.zeros((numbers, vertices)),
        high=np.ones((numbers, vertices)),
        bounded=np.zeros(pairs, dtype=np.int64),
        work=LikelihoodWorkspace(
            index=np.zeros(size, dtype=np.int64),
            share=np.zeros(size),
            order=np.zeros(size, dtype=np.int64),
            corner=np.zeros(size, dtype=np.int64),
            target=np.zeros(size),
            point=np.zeros(size),
            gradient=np.zeros(size),
            step=np.zeros(size),
            across=np.zeros(size),
            trial=np.zeros(size),
            hessian=np.zeros((size, size)),
            free=np.zeros(size, dtype=np.bool_),
        ),
    )


@lean
def locate(constants, work, context):
    """The vertices around a context and their weights into ``work.index`` and ``work.share``. O(d^2 + K d).

    The triangulation of Freudenthal: with u_j the sum of the entries from j on, in steps, the vertices are the floors
    of u, raised by one in the order of falling fractions.
    """
    size = len(context)
    total = 0.0
    for j in range(size - 1, 0, -1):  # work.share: fractions of u_1 to u_{d-1}; work.corner: floors
        total += context[j]
        u = min(total, 1.0) * constants.steps
        whole = min(int(u), constants.steps)
        work.corner[j] = whole
        work.share[j] = u - whole
    for j in range(size - 2, 0, -1):  # u may not rise: rounding of sums
        if work.corner[j] < work.corner[j + 1]:
            work.corner[j] = work.corner[j + 1]
            work.share[j] = 0.0
    for j in range(1, size):  # sorted by falling fractions; ties: the lower j first, which keeps u falling
        place = j - 1
        while place > 0 and work.share[work.order[place - 1]] < work.share[j]:
            work.order[place] = work.order[place - 1]
            place -= 1
        work.order[place] = j
    work.corner[0] = constants.steps
    before = 1.0
    for k in range(size):
        following = work.share[work.order[k]] if k < size - 1 else 0.0
        work.index[k] = vertex_index(constants, work.corner)
        work.step[k] = max(before - following, 0.0)
        before = following
        if k < size - 1:
            work.corner[work.order[k]] += 1
    for k in range(size):
        work.share[k] = work.step[k]


@lean
def vertex_index(constants, levels):
    """The vertex whose entries from j on sum to ``levels[j]``, or -1."""
    size = len(levels)
    for k in range(len(constants.vertices)):
        rest = constants.steps
        found = True
        for j in range(size):
            if rest != levels[j]:
                found = False
                break
            rest -= constants.vertices[k, j]
        if found:
            return k
    return -1


@lean
def nearest_vertex(work):
    """Of the vertices of :func:`locate` the one with the largest weight: the cell of the context."""
    best = 0
    for k in range(1, len(work.share)):
        if work.share[k] > work.share[best]:
            best = k
    return work.index[best]


@lean
def forecast_mean(state, number, pair):
    """The forecast without contexts: (sum y + 1/2) / (n + 1)."""
    return (state.ones[number] + 0.5) / (state.visits[pair] + 1.0)


@lean
def forecast_ridge(state, number, pair, sums, direction, square, mean):
    """The forecast by ridge regression of y on contexts, around the mean; drawn towards it where the context is new.

    ``sums`` [d] is the sum of y c, ``direction`` is V^-1 c and ``square`` c V^-1 c.
    """
    guess = mean
    for j in range(len(direction)):
        guess += direction[j] * (sums[j] - mean * state.contexts[pair, j])
    guess = min(max(guess, 0.0), 1.0)
    return clipped((guess + square * mean) / (1.0 + square))


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
def record_number(state, number, cell, context, outcome, ridge, mean):
    """Enter an outcome of a number, and both forecasts of it."""
    state.log_loss[number, 0] += log_loss(ridge, outcome)
    state.log_loss[number, 1] += log_loss(mean, outcome)
    state.ones[number] += outcome
    if outcome > 0.0:
        state.hit_weight[number, cell] += outcome
        for j in range(len(context)):
            state.hit_contexts[number, cell, j] += outcome * context[j]


@lean
def record_pair(state, pair, cell, context):
    """Enter a visit of a pair whose outcome is known, after all its numbers."""
    state.visits[pair] += 1
    state.cell_weight[pair, cell] += 1.0
    for j in range(len(context)):
        state.contexts[pair, j] += context[j]
        state.cell_contexts[pair, cell, j] += context[j]


@lean
def sum_rounding(state, pair):
    """What rounding may have changed in a log-loss: the sums of n visits have relative errors of at most n EPS / 2, and
    means of p c and of forecasts enter n logarithms."""
    count = float(state.visits[pair])
    return 2.0 * EPS * count * count


@lean
def threshold(state, number, pair, failure_log):
    """beta, not rounded down."""
    ridge, mean = state.log_loss[number, 0], state.log_loss[number, 1]
    least = min(ridge, mean)
    most = max(ridge, mean)
    mixed = least + log(2.0) - log(1.0 + exp(least - most))
    return (failure_log + mixed + UNIT * state.pending[number]) * (1.0 + ROUNDING) + sum_rounding(state, pair)


@lean
def evaluate(state, number, pair, point, out_gradient, out_hessian):
    """F of the cells at a point, its gradient and its Hessian; infinity where the outcomes are impossible. O(K d^2).

    Weights of a cell that may be nothing but rounding are left out: no term of F is negative, so the set only grows.
    """
    size = len(point)
    value = 0.0
    noise = ROUNDING + 4.0 * EPS * state.visits[pair]
    for j in range(size):
        out_gradient[j] = 0.0
        for k in range(j + 1):
            out_hessian[j, k] = 0.0
    for cell in range(state.cell_weight.shape[1]):
        total = state.cell_weight[pair, cell]
        if total <= 0.0:
            continue
        hits = state.hit_weight[number, cell]
        hit = 0.0
        all_contexts = 0.0
        for j in range(size):
            hit += point[j] * state.hit_contexts[number, cell, j]
            all_contexts += point[j] * state.cell_contexts[pair, cell, j]
        misses = total - hits
        if hits > noise * total:  # the mean of p c over the hits is hit / hits
            if hit <= 0.0:
                return np.inf
            value -= hits * log(hit / hits)
            slope = hits / hit
            curve = slope / hit
            for j in range(size):
                c = state.hit_contexts[number, cell, j]
                out_gradient[j] -= slope * c
                for k in range(j + 1):
                    out_hessian[j, k] += curve * c * state.hit_contexts[number, cell, k]
        if misses > noise * total:
            left = misses - (all_contexts - hit)
            if left <= 0.0:
                return np.inf
            value -= misses * log(left / misses)
            slope = misses / left
            curve = slope / left
            for j in range(size):
                c = state.cell_contexts[pair, cell, j] - state.hit_contexts[number, cell, j]
                out_gradient[j] += slope * c
                for k in range(j + 1):
                    other = state.cell_contexts[pair, cell, k] - state.hit_contexts[number, cell, k]
                    out_hessian[j, k] += curve * c * other
    return value * (1.0 - ROUNDING) - sum_rounding(state, pair)


@lean
def certificate(work, value, beta, s, visits):
    """A lower bound of ``work.target`` times p over the set, from F and its gradient at ``work.point``, whose relative
    error is at most 2 ``visits`` EPS."""
    size = len(work.point)
    bound = -(beta - value) / s
    for j in range(size):
        p = work.point[j]
        bound += work.target[j] * p - 2.0 * EPS * visits * abs(work.gradient[j]) / s
        r = work.target[j] + work.gradient[j] / s
        bound += min(-r * p, r * (1.0 - p))
    return bound


@lean
def factorise(work):
    """The Cholesky factor of the Hessian over the free entries, in place; a little is added where it is singular."""
    size = len(work.point)
    trace = 0.0
    for j in range(size):
        trace += work.hessian[j, j]
    ridge = 1e-12 * trace + 1e-9
    for j in range(size):
        if not work.free[j]:
            continue
        for k in range(j + 1):
            if not work.free[k]:
                continue
            total = work.hessian[j, k] + (ridge if j == k else 0.0)
            for i in range(k):
                if work.free[i]:
                    total -= work.hessian[j, i] * work.hessian[k, i]
            work.hessian[j, k] = sqrt(max(total, ridge)) if j == k else total / work.hessian[k, k]


@lean
def solve_free(work, right, out):
    """``out`` = H^-1 ``right`` over the free entries, 0 elsewhere; returns the squared norm of ``right`` in H^-1."""
    size = len(right)
    square = 0.0
    for j in range(size):
        out[j] = 0.0
        if work.free[j]:
            total = right[j]
            for i in range(j):
                if work.free[i]:
                    total -= work.hessian[j, i] * out[i]
            out[j] = total / work.hessian[j, j]
            square += out[j] * out[j]
    for j in range(size - 1, -1, -1):
        if work.free[j]:
            total = out[j]
            for i in range(j + 1, size):
                if work.free[i]:
                    total -= work.hessian[i, j] * out[i]
            out[j] = total / work.hessian[j, j]
    return square


@lean
def set_free(work, s):
    """Which entries may move: not those at an edge of the box that F + s target would leave."""
    for j in range(len(work.point)):
        slope = work.gradient[j] + s * work.target[j]
        work.free[j] = not ((work.point[j] <= EDGE and slope > 0.0) or (work.point[j] >= 1.0 - EDGE and slope < 0.0))


@lean
def least_value(state, number, pair, beta):
    """A lower bound of ``work.target`` times p over the set, by Newton's method from ``work.point``, which moves.

    For F + s target the step is - H^-1 (g + s target), and the quadratic model of F after it is
    F - g H^-1 g / 2 + s^2 target H^-1 target / 2: s is chosen so that this is beta. Steps are at most STRIDE long in
    the norm of H, which keeps them where the model is good.
    """
    work = state.work
    size = len(work.point)
    best = -np.inf
    s = 0.0
    value = evaluate(state, number, pair, work.point, work.gradient, work.hessian)
    if not value < np.inf:
        return best  # a certificate needs a point at which F is a number
    for _ in range(MOST_STEPS):
        if s > 0.0:
            set_free(work, s)
        else:
            for j in range(size):
                work.free[j] = True
        factorise(work)
        downhill = solve_free(work, work.gradient, work.step)
        reach = solve_free(work, work.target, work.across)
        if reach <= 0.0:
            break
        s = sqrt(2.0 * max(beta - value + 0.5 * downhill, 1e-3) / reach)
        best = max(best, certificate(work, value, beta, s, state.visits[pair]))
        square = downhill + s * s * reach
        for j in range(size):
            square += 2.0 * s * work.step[j] * work.target[j]
        if square < CONVERGED:
            break
        length = min(1.0, STRIDE / sqrt(max(square, 1e-300)))
        value = np.inf
        while not value < np.inf and length > 1e-6:
            for j in range(size):
                work.trial[j] = min(max(work.point[j] - length * (work.step[j] + s * work.across[j]), EDGE), 1.0 - EDGE)
            value = evaluate(state, number, pair, work.trial, work.gradient, work.hessian)
            length *= 0.5
        if not value < np.inf:
            break
        for j in range(size):
            work.point[j] = work.trial[j]
    return best


@lean
def bound_number(constants, state, number, pair, failure_log):
    """The bounds of a number at all vertices, from what was seen of it. O(K) solutions, each O(K d^2 + d^3) a step."""
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
        for vertex in range(len(constants.vertices)):
            for j in range(size):
                weight = constants.vertices[vertex, j] / constants.steps
                work.target[j] = weight if side == 0 else -weight
            bound = least_value(state, number, pair, beta)
            if side == 0:
                state.low[number, vertex] = min(max(state.low[number, vertex], bound), 1.0)
            else:
                state.high[number, vertex] = max(min(state.high[number, vertex], -bound), 0.0)


@lean
def interpolate(work, values):
    """A number at the vertices [K], between the vertices of :func:`locate`."""
    total = 0.0
    for k in range(len(work.share)):
        if work.share[k] > 0.0:
            total += work.share[k] * values[work.index[k]]
    return total


@lean
def sums_of(constants, regression, pair, place):
    """[d] the sum of the contexts of the steps that led to a next state; of none where it was never seen."""
    goal = len(constants.pair_start) - 1
    if constants.next_state[place] == goal:
        return regression.goal_sums[pair], True
    index = regression.seen_index[place]
    return regression.next_sums[constants.next_start[pair] + max(index, 0)], index >= 0


@lean
def make_forecasts(constants, learner, episode, pair):
    """Forecasts of the numbers of a pair that is about to be played, into ``episode.forecast``: the loss, then the next
    states in the order of the support. O(m d + d^2).

    They are made when the action is taken, from what was reported until then: an outcome that is reported late, or
    never, cannot have changed them.
    """
    state, regression = learner.likelihood, learner.regression
    pairs = len(regression.visits)
    solve_context(
        regression.gram[pair], regression.inverse[pair], episode.context, constants.regularization, episode.direction,
        episode.residual,
    )  # fmt: skip
    square = max(dot(episode.direction, episode.context), 0.0)
    if constants.likelihood.tracked[pair]:
        mean = forecast_mean(state, pair, pair)
        episode.forecast[0, 0] = forecast_ridge(
            state, pair, pair, regression.loss_sums[pair], episode.direction, square, mean
        )
        episode.forecast[0, 1] = mean
    first = constants.next_start[pair]
    for place in range(first, constants.next_start[pair + 1]):
        number = pairs + place
        if constants.likelihood.tracked[number]:
            mean = forecast_mean(state, number, pair)
            sums, seen = sums_of(constants, regression, pair, place)
            ridge = clipped(mean)
            if seen:
                ridge = forecast_ridge(state, number, pair, sums, episode.direction, square, mean)
            episode.forecast[1 + place - first, 0] = ridge
            episode.forecast[1 + place - first, 1] = mean


@lean
def learn_likelihood(constants, learner, episode, pair, place, loss):
    """Enter an outcome into the likelihoods of its pair; bounds are computed again where enough was seen since."""
    state = learner.likelihood
    pairs = len(state.visits)
    locate(constants.likelihood, state.work, episode.context)
    cell = nearest_vertex(state.work)
    if constants.likelihood.tracked[pair]:
        record_number(state, pair, cell, episode.context, loss, episode.forecast[0, 0], episode.forecast[0, 1])
    first = constants.next_start[pair]
    for k in range(first, constants.next_start[pair + 1]):
        if constants.likelihood.tracked[pairs + k]:
            outcome = 1.0 if k == place else 0.0
            forecast = episode.forecast[1 + k - first]
            record_number(state, pairs + k, cell, episode.context, outcome, forecast[0], forecast[1])
    record_pair(state, pair, cell, episode.context)
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
        bound_number(constants.likelihood, state, pair, pair, constants.likelihood.loss_log + restart_log)
    for place in range(constants.next_start[pair], constants.next_start[pair + 1]):
        if constants.likelihood.tracked[pairs + place]:
            bound_number(constants.likelihood, state, pairs + place, pair, constants.likelihood.row_log + restart_log)


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
def worst_log_loss(forecast):
    """Of two forecasts, under any outcome."""
    return -log(min(min(forecast[0], 1.0 - forecast[0]), min(forecast[1], 1.0 - forecast[1])))


@lean
def intersect_loss(constants, learner, context, pair, low, high):
    """The interval of a loss, cut by its likelihood-ratio set; as it is where both contradict each other."""
    state = learner.likelihood
    if not constants.likelihood.tracked[pair] or state.bounded[pair] == 0:
        return low, high
    locate(constants.likelihood, state.work, context)
    least = max(low, interpolate(state.work, state.low[pair]))
    most = min(high, interpolate(state.work, state.high[pair]))
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
    locate(constants.likelihood, state.work, episode.context)
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
        least = 1.0 - interpolate(state.work, state.high[pairs + first])
        most = 1.0 - interpolate(state.work, state.low[pairs + first])
    else:
        least = interpolate(state.work, state.low[pairs + place])
        most = interpolate(state.work, state.high[pairs + place])
    return max(sets.low[place], least), min(sets.high[place], most)


@lean
def reset_likelihood(learner, pair, first, last):
    """Nothing was seen of a pair, whose next states stand from ``first`` on, before ``last``."""
    state = learner.likelihood
    pairs = len(state.visits)
    state.visits[pair] = 0
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
    state.log_loss[number, 0] = 0.0
    state.log_loss[number, 1] = 0.0
    state.pending[number] = 0
    state.ones[number] = 0.0
    for cell in range(state.hit_weight.shape[1]):
        state.low[number, cell] = 0.0
        state.high[number, cell] = 1.0
        state.hit_weight[number, cell] = 0.0
        for j in range(state.hit_contexts.shape[2]):
            state.hit_contexts[number, cell, j] = 0.0


@lean
def merge_number(state, theirs, number):
    """Sums add up; the bounds of one are not those of both."""
    state.log_loss[number, 0] += theirs.log_loss[number, 0]
    state.log_loss[number, 1] += theirs.log_loss[number, 1]
    state.pending[number] += theirs.pending[number]
    state.ones[number] += theirs.ones[number]
    for cell in range(state.hit_weight.shape[1]):
        state.low[number, cell] = 0.0
        state.high[number, cell] = 1.0
        state.hit_weight[number, cell] += theirs.hit_weight[number, cell]
        for j in range(state.hit_contexts.shape[2]):
            state.hit_contexts[number, cell, j] += theirs.hit_contexts[number, cell, j]


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
    bound_pair(constants, learner, pair)
