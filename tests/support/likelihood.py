"""One number with its likelihood: outcomes are entered as the learner enters them, and F by its definition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.likelihood import new_likelihood_state
from goalbound.confidence.likelihood import sets as kernels
from goalbound.confidence.likelihood.bounds import fit_number, locate, nearest_vertex, new_lattice
from goalbound.confidence.likelihood.sets import (
    FIT_GROWTH,
    LikelihoodConstants,
    LikelihoodState,
    begin_pair,
    forecast_fitted,
    forecast_mean,
    forecast_ridge,
)
from goalbound.confidence.sharp import SharpConstants, SharpState
from goalbound.learners.lr_cssp import LRCSSP

Floats = NDArray[np.float64]
NO_INTERVALS = SharpConstants(*[0.0] * 4)
NUMBER = 1
"""One pair with one next state: number 0 is its loss, number 1 the next state."""


def new_number(
    size: int, *, failure: float = 0.05, most: int = 36, cells: int = 12
) -> tuple[LikelihoodConstants, LikelihoodState]:
    vertices, groups = new_lattice(size, most), new_lattice(size, cells)
    surprise = float(np.log(1.0 / failure))
    constants = LikelihoodConstants(NO_INTERVALS, surprise, surprise, vertices, groups, np.ones(2, dtype=np.bool_))
    state = new_likelihood_state(
        1, 1, size, len(vertices.vertices), len(groups.vertices), sharp=SharpState(np.zeros((0, 1)), np.zeros(0))
    )
    begin_pair.python(state, 0, 1)
    return constants, state


def enter(constants: LikelihoodConstants, state: LikelihoodState, contexts: Floats, outcomes: Sequence[float]) -> None:
    for _ in entered(constants, state, contexts, outcomes):
        pass


def entered(
    constants: LikelihoodConstants, state: LikelihoodState, contexts: Floats, outcomes: Sequence[float]
) -> Iterator[int]:
    """Enter one outcome after the other, and say each time how many it were."""
    size = contexts.shape[1]
    gram, sums = np.eye(size), np.zeros(size)
    for context, outcome in zip(contexts, outcomes, strict=True):
        locate.python(constants.cells, state.work.cells, context)
        cell = nearest_vertex.python(state.work.cells)
        direction = np.linalg.solve(gram, context)
        mean = forecast_mean.python(state, NUMBER, 0)
        ridge = forecast_ridge.python(state.contexts[0], sums, direction, float(context @ direction), mean)
        fitted = forecast_fitted.python(state, NUMBER, context)
        visits = kernels.record_pair.python(state, 0, context, cell)
        kernels.record_number.python(state, NUMBER, visits, context, cell, outcome, np.array([mean, ridge, fitted]))
        state.visits[0] += 1
        if state.visits[0] >= FIT_GROWTH * state.fitted[0] + 1.0:
            state.fitted[0] = state.visits[0]
            fit_number.python(state, NUMBER, 0)
        gram += np.outer(context, context)
        sums += outcome * context
        yield int(state.visits[0])


def numbers_of(learner: LRCSSP) -> NDArray[np.int64]:
    """[N + M] where the losses of all pairs, and then all next states, stand among the numbers; all were played."""
    state, support = learner._state.sets, learner.support
    assert state.place.all()
    lengths = np.diff(support.next_start)
    places = np.arange(support.triples) - np.repeat(support.next_start[:-1], lengths)
    return np.concatenate([state.first, np.repeat(state.first, lengths) + 1 + places])


def failure_margin(state: LikelihoodState, constants: LikelihoodConstants, log_loss: float) -> float:
    """F(p) less its threshold: above 0, p is not in the set."""
    return log_loss - float(state.shift[NUMBER]) - float(kernels.threshold.python(state, NUMBER, 0, constants.row_log))


def log_loss_of(p: Floats, contexts: Floats, outcomes: Floats) -> float:
    """F by its definition."""
    means = contexts @ p
    with np.errstate(divide="ignore", invalid="ignore"):
        hits = np.where(outcomes > 0.0, outcomes * np.log(means), 0.0)
        misses = np.where(outcomes < 1.0, (1.0 - outcomes) * np.log1p(-means), 0.0)
    return -float(hits.sum() + misses.sum())


def drawn(size: int, count: int, seed: int, *, fractional: bool = False) -> tuple[Floats, Floats, Floats]:
    """True coefficients, contexts, and outcomes that are 0 or 1, or anything between with the right mean."""
    rng = np.random.default_rng(seed)
    p, contexts = rng.random(size), rng.dirichlet(np.ones(size), count)
    means = contexts @ p
    outcomes = rng.beta(2.0 * means + 1e-3, 2.0 - 2.0 * means + 1e-3) if fractional else rng.random(count) < means
    return p, contexts, outcomes.astype(np.float64)
