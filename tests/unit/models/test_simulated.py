"""The environment one number at a time: next states at the borders of their probabilities, starts, losses, gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.models import LinearCSSP
from goalbound.models import simulated as kernels
from goalbound.models.simulated import BERNOULLI, BOUNDED, DETERMINISTIC, EnvironmentArrays
from goalbound.problems import random_cssp
from goalbound.simulation.environment import components_of
from tests.support.strategies import contexts, examples, linear_cssps
from tests.support.uniform_numbers import LARGEST, Numbers

# Two states, one action (number 0). Component 0: stay 1/2, goal 1/2; then the goal. Component 1: on to state 1.
WALK = LinearCSSP.dense(
    [[[0.5], [1.0]], [[0.25], [0.0]]],
    [[[[0.5, 0.0, 0.5]], [[0.0, 0.0, 1.0]]], [[[0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]]]],
)


def next_of(problem: LinearCSSP, pair: int, context: list[float], u: float) -> int:
    rows = components_of(problem)
    return int(
        kernels.draw_next.python(rows.next_start, rows.next_state, rows.probabilities, pair, np.array(context), u)
    )


@pytest.mark.parametrize(
    ("context", "u", "following"),
    [
        # the row of state 0 is (1/2 c0, c1, 1/2 c0) over states 0, 1 and the goal 2
        ([1.0, 0.0], 0.0, 0),
        ([1.0, 0.0], 0.4999, 0),
        ([1.0, 0.0], 0.5, 2),
        ([1.0, 0.0], LARGEST, 2),
        ([0.5, 0.5], 0.2499, 0),
        ([0.5, 0.5], 0.25, 1),
        ([0.5, 0.5], 0.7499, 1),
        ([0.5, 0.5], 0.75, 2),
        ([0.0, 1.0], 0.0, 1),
        ([0.0, 1.0], LARGEST, 1),
    ],
)
def test_the_next_state_is_the_first_with_more_cumulative_probability(
    context: list[float], u: float, following: int
) -> None:
    assert next_of(WALK, 0, context, u) == following


@given(linear_cssps(proper=False), st.data())
@examples(60)
def test_rows_are_mixed_to_the_bit_as_the_problem_mixes_them(problem: LinearCSSP, data: st.DataObject) -> None:
    context = data.draw(contexts(problem.context_size))
    at = problem.at(context)
    losses = [kernels.mixed.python(problem.losses, i, context) for i in range(problem.support.pairs)]
    rows = [kernels.mixed.python(problem.probabilities, k, context) for k in range(problem.support.triples)]
    np.testing.assert_array_equal(losses, at.losses)
    np.testing.assert_array_equal(rows, at.probabilities)


@pytest.mark.parametrize(("u", "state"), [(0.0, 1), (0.2499, 1), (0.25, 3), (0.7499, 3), (0.75, 4), (LARGEST, 4)])
def test_the_first_state_is_drawn_by_the_same_rule(u: float, state: int) -> None:
    # The context gives (0, 1/4, 0, 1/2, 1/4) over five states: those without probability never come.
    law = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.0], [0.5, 0.5], [0.0, 0.5]])
    context = np.array([0.5, 0.5])
    assert kernels.draw_start.python(law, context, u) == state
    mixed = (law @ context)[:, None]  # one column: it is not mixed again
    assert kernels.draw_start.python(mixed, np.array([0.9, 0.1]), u) == state


@pytest.mark.parametrize(
    ("code", "spread", "mean", "u", "loss"),
    [
        (DETERMINISTIC, 0.0, 0.3, 0.9, 0.3),
        (BERNOULLI, 0.0, 0.25, 0.2499, 1.0),
        (BERNOULLI, 0.0, 0.25, 0.25, 0.0),
        (BOUNDED, 0.5, 0.25, 0.0, 0.25 - 0.5 * 0.25),  # the lower end; 0 is as far away as 1/4
        (BOUNDED, 0.5, 0.875, 0.75, 0.875 + 0.5 * 0.125 * 0.5),  # 1 is nearer: 1/8
    ],
)
def test_losses_follow_their_law(code: int, spread: float, mean: float, u: float, loss: float) -> None:
    assert kernels.loss_of.python(code, spread, mean, u) == loss


ROUND_TRIP = LinearCSSP.dense([[[0.25, 0.5], [0.25, 0.25]]], [[[[0, 0.5, 0.5], [0, 0, 1.0]], [[1.0, 0, 0]] * 2]])
"""State 0: for 1/4 to the goal or to state 1, each with 1/2; or for 1/2 to the goal. State 1: for 1/4 back."""


def gap(pair: int, state: int, values: list[float], tolerance: float = 1e-9) -> float:
    rows = components_of(ROUND_TRIP)
    return float(kernels.suboptimality_gap.python(rows, pair, state, np.array([1.0]), np.array(values), tolerance))


def test_the_gap_is_the_loss_and_what_is_left_to_pay_less_the_best() -> None:
    # v0 = 1/2 by pair 1, v1 = 1/4 + 1/2. Pair 0: 1/4 + 3/8 - 1/2 = 1/8.
    values = [0.5, 0.75, 0.0]
    assert [gap(0, 0, values), gap(1, 0, values), gap(2, 1, values)] == [0.125, 0.0, 0.0]


def test_a_gap_below_zero_is_zero_up_to_the_error_of_the_values_and_no_number_beyond() -> None:
    # Pair 1 with v0 = 1/2 + e: the gap is -e, and size is 1/2 + 1/2 + e. Twice the tolerance of that is allowed.
    tolerance = 2.0**-20
    allowed = 2.0 * tolerance
    assert gap(1, 0, [0.5 + allowed, 0.75, 0.0], tolerance) == 0.0
    assert np.isnan(gap(1, 0, [0.5 + 1.001 * allowed, 0.75, 0.0], tolerance))
    # Without a tolerance only rounding is: 4 (1 + 1 + 8) 2^-52 = 40 roundings for one next state and one component.
    assert gap(1, 0, [0.5 + 40 * 2.0**-52, 0.75, 0.0], 0.0) == 0.0
    assert np.isnan(gap(1, 0, [0.5 + 41 * 2.0**-52, 0.75, 0.0], 0.0))


def test_the_greedy_pair_has_the_least_backup_and_of_equal_ones_the_lowest() -> None:
    support, rows = ROUND_TRIP.support, components_of(ROUND_TRIP)

    def chosen(values: list[float], state: int = 0) -> int:
        return int(kernels.greedy_pair.python(rows, support.pair_start, state, np.array([1.0]), np.array(values)))

    assert chosen([0.5, 0.75, 0.0]) == 1  # 5/8 against 1/2
    assert chosen([0.5, 0.25, 0.0]) == 0  # 3/8 against 1/2
    assert chosen([0.5, 0.5, 0.0]) == 0  # 1/2 both
    assert chosen([0.5, 0.5, 0.0], state=1) == 2


def arrays(start: int, code: int) -> EnvironmentArrays:
    return EnvironmentArrays(components_of(WALK), start, np.array([[0.25], [0.75]]), code, 0.0, 1e-9)


def test_a_start_that_is_given_draws_nothing() -> None:
    numbers = Numbers(0.25)
    assert kernels.first_state.python(arrays(1, DETERMINISTIC), np.array([0.5, 0.5]), numbers) == 1
    assert numbers.left == [0.25]
    assert kernels.first_state.python(arrays(-1, DETERMINISTIC), np.array([0.5, 0.5]), numbers) == 1
    assert numbers.left == []


def test_both_forms_of_the_kernels_give_the_same_bits() -> None:
    problem = random_cssp(6, actions=2, context_size=3, seed=2)
    rows = components_of(problem)
    rng = np.random.default_rng(5)
    values, law = rng.uniform(1.0, 9.0, 7), rng.dirichlet(np.ones(6), 3).T.copy()
    for _ in range(50):
        context, u, pair = rng.dirichlet(np.ones(3)), rng.random(), int(rng.integers(12))
        calls: list[tuple[Any, tuple[Any, ...]]] = [
            (kernels.mixed, (rows.losses, pair, context)),
            (kernels.draw_next, (rows.next_start, rows.next_state, rows.probabilities, pair, context, u)),
            (kernels.draw_start, (law, context, u)),
            (kernels.draw_start, (law[:, :1].copy(), context, u)),
            (kernels.suboptimality_gap, (rows, pair, pair // 2, context, values, 1e-9)),
            *((kernels.loss_of, (code, 0.5, u, 1.0 - u)) for code in range(3)),
        ]
        for kernel, arguments in calls:
            one, other = kernel.python(*arguments), kernel.compiled(*arguments)
            assert np.float64(one).tobytes() == np.float64(other).tobytes()
