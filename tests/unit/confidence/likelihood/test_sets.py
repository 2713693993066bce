"""Likelihood-ratio sets: held against enumeration, and a solver that shares no code with them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from goalbound.confidence.likelihood import sets as kernels
from goalbound.confidence.likelihood.bounds import interpolate, locate
from goalbound.confidence.likelihood.sets import row_of
from tests.support.likelihood import NUMBER, Floats, drawn, enter, entered, failure_margin, log_loss_of, new_number


@pytest.mark.parametrize("true", [0.0, 0.1, 0.5, 1.0])
def test_the_ratio_is_at_most_one_on_average_over_all_outcomes(true: float) -> None:
    """exp(F(p) - A), mean over forecasters, over all 2^6 sequences of outcomes, contexts chosen by the last outcome."""
    expected = 0.0
    contexts = np.array([[1.0, 0.0], [0.5, 0.5]])
    p = np.array([true, 1.0 - true])
    for outcomes in itertools.product([0.0, 1.0], repeat=6):
        constants, state = new_number(2, failure=0.1)
        chosen = np.array([contexts[int(y)] for y in (0.0, *outcomes[:-1])])
        chance = float(np.prod(np.where(np.array(outcomes) > 0.0, chosen @ p, 1.0 - chosen @ p)))
        if chance == 0.0:
            continue
        enter(constants, state, chosen, outcomes)
        margin = failure_margin(state, constants, log_loss_of(p, chosen, np.array(outcomes)))
        expected += chance * np.exp(margin + constants.row_log)
    assert expected <= 1.0 + 1e-9  # the ratio is exp(margin) / failure


@given(st.integers(1, 4), st.integers(1, 200), st.booleans(), st.integers(0, 2**32))
def test_no_member_of_the_set_is_outside_the_bounds(size: int, count: int, fractional: bool, seed: int) -> None:
    p, contexts, outcomes = drawn(size, count, seed, fractional=fractional)
    constants, state = new_number(size)
    enter(constants, state, contexts, outcomes.tolist())
    kernels.bound_number.python(constants.vertices, state, NUMBER, 0, constants.row_log)
    rng = np.random.default_rng(seed)
    tried = np.vstack([p, rng.random((200, size)), np.clip(p + 0.1 * rng.standard_normal((200, size)), 0.0, 1.0)])
    members = [q for q in tried if failure_margin(state, constants, log_loss_of(q, contexts, outcomes)) <= 0.0]
    at = constants.vertices.vertices / constants.vertices.steps
    for q in members:
        assert (state.low[NUMBER] <= at @ q + 1e-9).all()
        assert (at @ q <= state.high[NUMBER] + 1e-9).all()


@pytest.mark.parametrize(("size", "count"), [(1, 100), (2, 200), (2, 2000), (3, 400)])
def test_bounds_are_as_tight_as_a_general_solver_finds_them(size: int, count: int) -> None:
    p, contexts, outcomes = drawn(size, count, seed=7)
    constants, state = new_number(size)
    enter(constants, state, contexts, outcomes.tolist())
    kernels.bound_number.python(constants.vertices, state, NUMBER, 0, constants.row_log)
    gaps = []

    def room(q: Floats) -> float:
        return -failure_margin(state, constants, log_loss_of(q, contexts, outcomes))

    for vertex in range(0, len(constants.vertices.vertices), 5):
        at = constants.vertices.vertices[vertex] / constants.vertices.steps
        for sign, ours in ((1.0, state.low[NUMBER, vertex]), (-1.0, -state.high[NUMBER, vertex])):
            found = minimize(
                lambda q, a=at, s=sign: s * float(a @ q), np.clip(p, 0.01, 0.99), bounds=[(1e-9, 1 - 1e-9)] * size,
                constraints=[{"type": "ineq", "fun": room}],
                method="SLSQP", options={"maxiter": 300, "ftol": 1e-10},
            )  # fmt: skip
            if found.success:
                gaps.append(found.fun - ours)
    assert len(gaps) >= 2
    assert min(gaps) >= -1e-6
    assert np.median(gaps) <= 0.01  # what cells cost: F of the cells is a little smaller than F of the visits


def test_what_was_never_seen_is_bounded_by_the_rule_of_log_over_visits() -> None:
    constants, state = new_number(1, failure=0.05)
    enter(constants, state, np.ones((1000, 1)), [0.0] * 1000)
    kernels.bound_number.python(constants.vertices, state, NUMBER, 0, constants.row_log)

    beta = kernels.threshold.python(state, NUMBER, 0, constants.row_log) + float(state.shift[NUMBER])
    assert state.low[NUMBER, 0] == 0.0
    assert state.high[NUMBER, 0] == pytest.approx(1.0 - np.exp(-beta / 1000), rel=1e-3)  # - 1000 log(1 - p) = beta


def test_interpolated_bounds_hold_between_vertices() -> None:
    p, contexts, outcomes = drawn(3, 300, seed=3)
    constants, state = new_number(3, most=6)
    enter(constants, state, contexts, outcomes.tolist())
    kernels.bound_number.python(constants.vertices, state, NUMBER, 0, constants.row_log)
    assert failure_margin(state, constants, log_loss_of(p, contexts, outcomes)) <= 0.0
    for context in np.random.default_rng(0).dirichlet(np.ones(3), 50):
        locate.python(constants.vertices, state.work.vertices, context)
        assert interpolate.python(state.work.vertices, state.low[NUMBER]) <= context @ p + 1e-12
        assert context @ p <= interpolate.python(state.work.vertices, state.high[NUMBER]) + 1e-12


@pytest.mark.parametrize("contexts", ["uniform", "corners", "adaptive"])
def test_single_sets_fail_no_more_often_than_they_may(contexts: str) -> None:
    """300 runs of 60 visits at a failure of 0.2: above 78 failures has a chance of at most 0.01."""
    failures = 0
    for seed in range(300):
        rng = np.random.default_rng([seed, len(contexts)])
        p, last = rng.random(2) ** 2, 0.0
        chosen, outcomes, failed = [], [], False
        for _ in range(60):
            mixed = {"uniform": rng.random(), "corners": float(rng.integers(2)), "adaptive": 0.1 + 0.8 * last}[contexts]
            chosen.append(np.array([mixed, 1.0 - mixed]))
            last = float(rng.random() < chosen[-1] @ p)
            outcomes.append(last)
        constants, state = new_number(2, failure=0.2)
        for count in entered(constants, state, np.array(chosen), outcomes):
            if count in (5, 15, 30, 60):
                log_loss = log_loss_of(p, np.array(chosen[:count]), np.array(outcomes[:count]))
                failed = failed or failure_margin(state, constants, log_loss) > 0.0
        failures += failed
    print(f"{contexts}: {failures} of 300 sets failed, 60 are allowed")
    assert failures <= 78


def test_rounding_of_long_runs_makes_sets_larger_and_not_wrong() -> None:
    """A million equal visits, entered as sums: the bounds are as close to the share of ones as they should be."""
    constants, state = new_number(1, failure=0.05)
    count, ones = 1_000_000, 300_000
    state.visits[0], state.ones[NUMBER] = count, ones
    for side, weight in enumerate((ones, count - ones)):
        state.rows[row_of.python(state, state.outcome_rows[NUMBER, side], 0)] = weight
    state.log_loss[NUMBER] = -(ones * np.log(0.3) + (count - ones) * np.log(0.7)) + 7.0  # a forecaster that lost 7 nats
    kernels.bound_number.python(constants.vertices, state, NUMBER, 0, constants.row_log)

    reach = np.sqrt(2 * 0.21 * (7.0 + np.log(20.0)) / count)  # F rises by (p - 0.3)^2 n / (2 * 0.21)
    assert state.low[NUMBER, 0] == pytest.approx(0.3 - reach, abs=0.02 * reach)
    assert state.high[NUMBER, 0] == pytest.approx(0.3 + reach, abs=0.02 * reach)


@pytest.mark.parametrize("loss", [1.0 - 2.0**-53, 1.0 - 1e-15, 2.0**-1074, 1e-17])
def test_outcomes_next_to_0_or_1_claim_nothing_that_is_not_so(loss: float) -> None:
    """What is left of 1 - y is rounding there; the coefficients that made the outcomes stay in the set."""
    for seed in range(20):
        contexts = np.random.default_rng(seed).dirichlet(np.ones(3), 40)
        constants, state = new_number(3)
        enter(constants, state, contexts, [loss] * 40)
        kernels.bound_number.python(constants.vertices, state, NUMBER, 0, constants.row_log)
        assert (state.low[NUMBER] <= loss).all()
        assert (loss <= state.high[NUMBER]).all()
