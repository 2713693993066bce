"""Ridge regression around a model that somebody has guessed, instead of around 0.

A guess of strength s for a pair is worth s visits at each corner of the simplex, with the outcomes that the model
expects there: s I is added to the Gram matrix, and s times the coefficients to the sums. The ridge itself, lambda I, is
put around the model too, so that without data the estimate *is* the model:

    V = (lambda + s) I + sum of c c^T,    b = (lambda + s) p0 + sum of c y,    V^-1 b = p0 where there is no data.

Learners without confidence sets begin with these sums. Confidence sets are made from the data alone: an interval whose
bias is bounded entry by entry, for coefficients p in [0, 1], does not depend on p0 at all. With x = V^-1 c

    p c  =  x b - x S + (lambda + s) x (p - p0)  =  x (b - (lambda + s) p0) - x S + (lambda + s) x p,

which is the interval of the data with a larger ridge, and so with a larger bias. A model that need not be right cannot
make a set smaller that holds whatever the truth is.
"""

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import lean
from goalbound.jit.struct import Struct


class ModelPrior(Struct):
    """Guesses of losses and rows, with their strengths: ``constants.model``."""

    guessed: NDArray[np.bool_]
    """[N] the pairs whose sums begin with a guess"""
    strength: NDArray[np.float64]
    """[N] in visits at each corner of the simplex"""
    losses: NDArray[np.float64]
    """[N, d] where guessed"""
    rows: NDArray[np.float64]
    """[M, d] where guessed, in the order of the support; empty if nothing is"""


@lean
def begin_sums_with_models(constants, regression):
    """Without data: the sums of all pairs that were guessed are those of their guesses."""
    for pair in range(len(constants.model.guessed)):
        if constants.model.guessed[pair]:
            begin_sums_with_model(constants, regression, pair)


@lean
def begin_sums_with_model(constants, regression, pair):
    """The sums of a pair are those of its guess; all its next states have indices, in the order of the support.
    O(m d + d^2) for m next states."""
    model = constants.model
    goal = len(constants.pair_start) - 1
    size = regression.gram.shape[1]
    weight = constants.regularization + model.strength[pair]
    for j in range(size):
        regression.gram[pair, j, j] = weight
        regression.inverse[pair, j, j] = 1.0 / weight
        regression.loss_sums[pair, j] = weight * model.losses[pair, j]
    first = constants.next_start[pair]
    count = 0
    for place in range(first, constants.next_start[pair + 1]):
        if constants.next_state[place] == goal:
            for j in range(size):
                regression.goal_sums[pair, j] = weight * model.rows[place, j]
            continue
        regression.seen_index[place] = count
        regression.seen_state[first + count] = constants.next_state[place]
        for j in range(size):
            regression.next_sums[first + count, j] = weight * model.rows[place, j]
        count += 1
    regression.seen[pair] = count
