"""Forecasts of outcomes, by hand; and that none of them looks at the outcome."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound import LRCSSP, Step, widths
from goalbound.confidence.likelihood.sets import (
    FITTED,
    FORECASTERS,
    LEAST_FORECAST,
    MEAN,
    RIDGE,
    clipped,
    log_loss,
    make_forecasts,
    worst_log_loss,
)
from goalbound.problems import dense_random

PROBLEM = dense_random(3, actions=2, context_size=2, seed=4)


def test_the_forecasts_of_a_pair_are_those_of_their_formulas() -> None:
    learner = LRCSSP(PROBLEM.support, 2, loss_floor=0.1, widths=widths.likelihood())
    rng, losses, contexts = np.random.default_rng(0), [], []
    for _ in range(25):
        contexts.append(rng.dirichlet([1.0, 1.0]))
        losses.append(float(rng.random() < 0.3))
        learner.learn(contexts[-1], Step(0, 0, losses[-1], int(rng.integers(4))))
    state, at = learner._new_episode_state(), np.array([0.3, 0.7])
    state.context[:] = at
    make_forecasts.python(learner._constants, learner._state, state, 0)
    given, paid = np.array(contexts), np.array(losses)

    mean = (paid.sum() + 0.5) / 26.0
    x = np.linalg.solve(np.eye(2) + given.T @ given, at)
    ridge = np.clip(mean + x @ (given.T @ paid - mean * given.sum(axis=0)), 0.0, 1.0)
    assert state.room.forecast[0, MEAN] == pytest.approx(mean)
    assert state.room.forecast[0, RIDGE] == pytest.approx((ridge + at @ x * mean) / (1.0 + at @ x))
    ratios = learner._state.sets
    assert state.room.forecast[0, FITTED] == pytest.approx(ratios.estimate[ratios.first[0]] @ at)
    assert state.room.forecast.shape == (5, FORECASTERS)
    assert ((state.room.forecast > 0.0) & (state.room.forecast < 1.0)).all()


def test_log_losses_are_those_of_a_number_between_0_and_1() -> None:
    assert log_loss.python(0.25, 1.0) == pytest.approx(np.log(4.0))
    assert log_loss.python(0.25, 0.0) == pytest.approx(-np.log(0.75))
    assert log_loss.python(0.25, 0.5) == pytest.approx(0.5 * np.log(4.0) - 0.5 * np.log(0.75))
    assert worst_log_loss.python(np.array([0.5, 0.9, 0.3])) == pytest.approx(np.log(10.0))
    assert (clipped.python(-1.0), clipped.python(2.0)) == (LEAST_FORECAST, 1.0 - LEAST_FORECAST)
