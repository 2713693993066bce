"""Forecasts of the loss and the next states of a pair, made before its outcome is known.

Three forecasters: the mean of what was seen; a ridge regression of it on contexts, around that mean; and the most
likely coefficients of what was seen, computed again now and then. A likelihood-ratio set
(:mod:`goalbound.confidence.likelihood.sets`) is the smaller the better the best of them does.
"""

from math import log

from goalbound.confidence.likelihood.bounds import fit_number
from goalbound.confidence.likelihood.state import FORECASTERS, begin_pair
from goalbound.confidence.regression import dot, solve_context
from goalbound.jit.compile import lean

MEAN, RIDGE, FITTED = range(FORECASTERS)
LEAST_FORECAST = 1e-12
"""Forecasts keep this distance from 0 and 1."""
FIT_GROWTH = 1.1
"""The most likely coefficients are computed again when the visits of their pair have grown by this factor, and one."""


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
def sums_of(constants, regression, pair, place):
    """[d] the sum of the contexts of the steps that led to a next state; of none where it was never seen."""
    goal = len(constants.pair_start) - 1
    if constants.next_state[place] == goal:
        return regression.goal_sums[pair], True
    index = regression.seen_index[place]
    return regression.next_sums[constants.next_start[pair] + max(index, 0)], index >= 0


@lean
def make_forecasts(constants, state, view, pair):
    """Forecasts of the numbers of a pair that is about to be played, into ``view.room.forecast``: the loss, then the
    next states in the order of the support. O(m d + d^2).

    They are made when the action is taken, from what was reported until then: an outcome that is reported late, or
    never, cannot have changed them.
    """
    kept, regression, forecast = state.sets, state.regression, view.room.forecast
    tracked = constants.sets.tracked
    pairs = len(regression.visits)
    solve_context(
        regression.gram[pair],
        regression.inverse[pair],
        view.context,
        constants.regularization,
        view.direction,
        view.residual,
    )
    square = max(dot(view.direction, view.context), 0.0)
    first = constants.next_start[pair]
    last = constants.next_start[pair + 1]
    begin_pair(kept, pair, last - first)
    number = kept.first[pair]
    contexts = kept.contexts[kept.place[pair] - 1]
    if tracked[pair]:
        mean = forecast_mean(kept, number, pair)
        forecast[0, MEAN] = mean
        forecast[0, RIDGE] = forecast_ridge(contexts, regression.loss_sums[pair], view.direction, square, mean)
        forecast[0, FITTED] = forecast_fitted(kept, number, view.context)
    for place in range(first, last):
        if tracked[pairs + place]:
            at = 1 + place - first
            mean = forecast_mean(kept, number + at, pair)
            sums, seen = sums_of(constants, regression, pair, place)
            ridge = clipped(mean)
            if seen:
                ridge = forecast_ridge(contexts, sums, view.direction, square, mean)
            forecast[at, MEAN] = mean
            forecast[at, RIDGE] = ridge
            forecast[at, FITTED] = forecast_fitted(kept, number + at, view.context)


@lean
def fit_pair(constants, kept, pair):
    """The most likely coefficients of all numbers of a pair."""
    tracked = constants.sets.tracked
    pairs = len(kept.visits)
    first, number = constants.next_start[pair], kept.first[pair]
    kept.fitted[pair] = kept.visits[pair]
    if tracked[pair]:
        fit_number(kept, number, pair)
    for place in range(first, constants.next_start[pair + 1]):
        if tracked[pairs + place]:
            fit_number(kept, number + 1 + place - first, pair)
