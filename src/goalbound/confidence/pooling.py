"""The prior of a pair's coefficients: its Gram matrix without data, which pulls estimates to a guess, or to 0.

Contexts sum to 1, so the coefficients of a pair are their mean and deviations from it, which sum to 0. With
J = 1 1^T / d the two are penalised apart:

    V0 = lambda (I - J) + (mu / d) J,    V0^-1 = (I - J) / lambda + (d / mu) J.

At the mean context c = 1 / d, c V0^-1 c = 1 / mu: a pair begins with mu invented visits, however many components there
are. lambda says how much components are expected to differ: the larger, the more the visits under one context say of
all others. lambda I, the ridge of the paper, is mu = lambda d: there every component has lambda invented visits of its
own. Confidence sets are proven for it, so they keep it.

A guess of strength s adds s I, and is the centre of the prior: V0 + s I times the guess is in the sums.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import lean
from goalbound.jit.struct import Struct

Floats = NDArray[np.float64]


class Pooling(Struct):
    """The weight of the mean of a pair's components: ``constants.pooling``. That of their deviations is lambda,
    ``constants.regularization``."""

    mean: float
    """mu / d; lambda for lambda I"""
    least: float
    """the smallest eigenvalue of V0"""


def pooling_of(size: int, regularization: float, prior_visits: float | None) -> Pooling:
    """V0 with lambda and mu; None: lambda I.

    >>> pooling_of(4, 1.0, 2.0)
    Pooling(mean=0.5, least=0.5)
    """
    mean = regularization if prior_visits is None else prior_visits / size
    return Pooling(mean, min(regularization, mean))


def prior_matrix(size: int, deviations: float, mean: float) -> Floats:
    """[d, d] the matrix with the eigenvalue ``mean`` for equal coefficients, and ``deviations`` for those that sum
    to 0.

    >>> prior_matrix(2, 1.0, 0.5)
    array([[ 0.75, -0.25],
           [-0.25,  0.75]])
    """
    found: Floats = np.eye(size) * deviations + (mean - deviations) / size
    return found


def prior_weights(constants: Any) -> tuple[Floats, Floats]:
    """[N] and [N] the eigenvalues of the Gram matrices of pairs without data: of deviations, and of the mean."""
    guessed: Floats = np.where(constants.model.guessed, constants.model.strength, 0.0)
    return constants.regularization + guessed, constants.pooling.mean + guessed


def least_weights(constants: Any) -> Floats:
    """[N] the smallest eigenvalues of the Gram matrices of pairs without data."""
    return np.minimum(*prior_weights(constants))


def prior_grams(constants: Any, size: int) -> Floats:
    """[N, d, d] the Gram matrices of pairs without data."""
    deviations, mean = (weights[:, None, None] for weights in prior_weights(constants))
    found: Floats = np.eye(size) * deviations + (mean - deviations) / size
    return found


def guessed_sums(constants: Any, size: int) -> tuple[Floats, Floats]:
    """[N, d] and [M, d] what guesses of losses and of rows have in the sums of pairs; 0 where nothing is guessed."""
    pairs = np.arange(len(constants.model.guessed))
    of_triple = np.repeat(pairs, np.diff(constants.next_start))
    rows = constants.model.rows if len(constants.model.rows) else np.zeros((len(of_triple), size))
    return _weighed(constants, pairs, constants.model.losses), _weighed(constants, of_triple, rows)


def _weighed(constants: Any, pairs: NDArray[np.int64], guesses: Floats) -> Floats:
    """Guesses [K, d] of numbers of ``pairs`` [K], as :func:`weigh_guess` weighs each."""
    deviations, mean = (weights[pairs][:, None] for weights in prior_weights(constants))
    centre = guesses.mean(axis=1, keepdims=True)
    found: Floats = np.where(
        constants.model.guessed[pairs][:, None], deviations * (guesses - centre) + mean * centre, 0.0
    )
    return found


@lean
def guessed_weight(constants, pair):
    """s: what the guess of a pair adds to both eigenvalues."""
    return constants.model.strength[pair] if constants.model.guessed[pair] else 0.0


@lean
def begin_gram(constants, gram, inverse, pair):
    """The Gram matrix [d, d] of a pair without data, and its inverse. O(d^2)."""
    size = len(gram)
    deviations = constants.regularization + guessed_weight(constants, pair)
    mean = constants.pooling.mean + guessed_weight(constants, pair)
    for r in range(size):
        for c in range(size):
            gram[r, c] = (mean - deviations) / size
            inverse[r, c] = (1.0 / mean - 1.0 / deviations) / size
        gram[r, r] += deviations
        inverse[r, r] += 1.0 / deviations


@lean
def weigh_guess(constants, pair, guess, out_sums):
    """What a guess [d] of a number of a pair has in its sums: the Gram matrix without data times it. O(d)."""
    size = len(guess)
    weight = constants.regularization + guessed_weight(constants, pair)
    total = 0.0
    for j in range(size):
        total += guess[j]
    shared = (constants.pooling.mean - constants.regularization) * total / size
    for j in range(size):
        out_sums[j] = weight * guess[j] + shared


@lean
def share_of_prior(constants, pair, direction):
    """By which share an estimate is the prior's, where its coefficients are all equal: (mu / d + s) sum of V^-1 c, for
    V^-1 c [d]. 1 without data."""
    total = 0.0
    for j in range(len(direction)):
        total += direction[j]
    return min(max((constants.pooling.mean + guessed_weight(constants, pair)) * total, 0.0), 1.0)


@lean
def visits_of_prior(constants, pair, context):
    """How many visits under a context the prior of a pair is worth: 1 over the squared norm of the context without
    data. O(d)."""
    deviations = constants.regularization + guessed_weight(constants, pair)
    mean = constants.pooling.mean + guessed_weight(constants, pair)
    size = len(context)
    square = 0.0
    for j in range(size):
        square += context[j] * context[j]
    return 1.0 / ((square - 1.0 / size) / deviations + 1.0 / (size * mean))
