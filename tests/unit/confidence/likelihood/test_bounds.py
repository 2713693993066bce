"""The log-loss of cells against finite differences and its definition; the most likely coefficients; proposals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.confidence.likelihood.bounds import evaluate, fit_number, least_value_from, locate, nearest_vertex
from tests.support.likelihood import NUMBER, Floats, drawn, enter, log_loss_of, new_number


@pytest.mark.parametrize("fractional", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_gradients_and_curvatures_are_those_of_f(size: int, fractional: bool) -> None:
    _, contexts, outcomes = drawn(size, 60, seed=size, fractional=fractional)
    constants, state = new_number(size)
    enter(constants, state, contexts, outcomes.tolist())
    point, step = np.full(size, 0.4), 1e-5
    gradient, hessian, unused = np.zeros(size), np.zeros((size, size)), np.zeros((size, size))

    def value(at: Floats) -> float:
        return float(evaluate.python(state, NUMBER, 0, at, np.zeros(size), unused))

    evaluate.python(state, NUMBER, 0, point, gradient, hessian)
    for j in range(size):
        there = step * np.eye(size)[j]
        assert gradient[j] == pytest.approx((value(point + there) - value(point - there)) / (2 * step), rel=1e-4)
        for k in range(j + 1):
            across = step * np.eye(size)[k]
            found = value(point + there + across) - value(point + there - across)
            found += value(point - there - across) - value(point - there + across)
            assert hessian[j, k] == pytest.approx(found / (4 * step**2), rel=1e-2, abs=1e-2)


@given(st.integers(1, 4), st.integers(0, 80), st.booleans(), st.integers(0, 2**32))
def test_cells_never_make_the_log_loss_larger(size: int, count: int, fractional: bool, seed: int) -> None:
    _, contexts, outcomes = drawn(size, count, seed, fractional=fractional)
    constants, state = new_number(size, cells=4)
    enter(constants, state, contexts, outcomes.tolist())
    for point in np.random.default_rng(seed).uniform(0.01, 0.99, (5, size)):
        grouped = evaluate.python(state, NUMBER, 0, point, np.zeros(size), np.zeros((size, size)))
        exact = log_loss_of(point, contexts, outcomes)
        assert state.shift[NUMBER] + grouped <= exact * (1.0 + 1e-9) + 1e-9


@pytest.mark.parametrize("size", [2, 3])
def test_at_the_estimate_cells_cost_almost_nothing(size: int) -> None:
    """p c goes to 0 at a corner, where the logarithm is most curved: without the ratios cells cost several nats."""
    rng = np.random.default_rng(2)
    contexts = rng.dirichlet(np.ones(size), 3000)
    p = np.concatenate([[0.9], np.zeros(size - 1)])
    outcomes = (rng.random(3000) < contexts @ p).astype(np.float64)
    constants, state = new_number(size)
    enter(constants, state, contexts, outcomes.tolist())
    estimate = state.estimate[NUMBER].copy()
    grouped = evaluate.python(state, NUMBER, 0, estimate, np.zeros(size), np.zeros((size, size)))
    gap = log_loss_of(estimate, contexts, outcomes) - float(state.shift[NUMBER] + grouped)
    assert 0.0 <= gap <= 2.0

    state.shift[NUMBER] = 0.0
    state.rows[state.outcome_rows[NUMBER], :size] = 0.0
    for context, outcome in zip(contexts, outcomes, strict=True):  # as if all ratios were 1
        locate.python(constants.cells, state.work.cells, context)
        cell = nearest_vertex.python(state.work.cells)
        state.rows[state.outcome_rows[NUMBER, 0 if outcome else 1, cell], :size] += context
    plain = evaluate.python(state, NUMBER, 0, estimate, np.zeros(size), np.zeros((size, size)))
    assert log_loss_of(estimate, contexts, outcomes) - float(plain) >= max(4.0, 4.0 * gap)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_most_likely_coefficients_are_those_that_a_general_solver_finds(size: int) -> None:
    """With half a 1 and half a 0 at each corner, on one-hot contexts, where cells cost nothing."""
    rng = np.random.default_rng(size)
    contexts = np.eye(size)[rng.integers(size, size=80)]
    outcomes = (rng.random(80) < contexts @ np.linspace(0.1, 0.8, size)).astype(np.float64)
    constants, state = new_number(size)
    enter(constants, state, contexts, outcomes.tolist())
    for _ in range(3):
        fit_number.python(state, NUMBER, 0)
    ones, counts = contexts.T @ outcomes, contexts.sum(axis=0)
    np.testing.assert_allclose(state.estimate[NUMBER], (ones + 0.5) / (counts + 1.0), rtol=1e-3)


def test_a_start_that_is_impossible_gives_no_bound() -> None:
    constants, state = new_number(2)
    enter(constants, state, np.eye(2)[[0, 1, 0, 1]], [1.0, 1.0, 1.0, 1.0])
    state.work.point[:] = 0.0  # under which no outcome is 1
    state.work.target[:] = [1.0, 0.0]
    assert least_value_from.python(state, NUMBER, 0, 100.0, np.nan)[0] == -np.inf
