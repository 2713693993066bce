"""A problem as an environment: what is drawn, from which numbers, and in which order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.errors import InputError
from goalbound.kernels import environment as kernels
from goalbound.models import SSP, LinearCSSP, Step
from goalbound.models.loss_law import LossLaw, bernoulli, bounded, deterministic
from goalbound.problems import random_cssp
from goalbound.simulation.environment import ModelEnvironment, components_of
from tests.support.strategies import contexts, examples, linear_cssps

LARGEST = 1.0 - 2.0**-53
"""The largest number that ``Generator.random`` gives."""


class Numbers(np.random.Generator):
    """A stream of uniform numbers written down by hand; counts what is left."""

    def __init__(self, *values: float) -> None:
        super().__init__(np.random.PCG64(0))
        self.left = list(values)

    def random(self, *_: Any) -> float:  # type: ignore[override]
        return self.left.pop(0)


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
        ([1.0, 0.0], 0.0, 0), ([1.0, 0.0], 0.4999, 0), ([1.0, 0.0], 0.5, 2), ([1.0, 0.0], LARGEST, 2),
        ([0.5, 0.5], 0.2499, 0), ([0.5, 0.5], 0.25, 1), ([0.5, 0.5], 0.7499, 1), ([0.5, 0.5], 0.75, 2),
        ([0.0, 1.0], 0.0, 1), ([0.0, 1.0], LARGEST, 1),
    ],
)  # fmt: skip
def test_the_next_state_is_the_first_with_more_cumulative_probability(
    context: list[float], u: float, following: int
) -> None:
    assert next_of(WALK, 0, context, u) == following


def test_what_rounding_leaves_goes_to_the_last_next_state_with_probability() -> None:
    # Ten times 0.1 summed is 1 - 2^-53: the largest u is not below it. The eleventh next state has probability 0.
    row = [0.1] * 10 + [0.0]
    assert sum(row) == LARGEST
    problem = LinearCSSP.dense(
        np.full((2, 10, 1), 0.5), [[[row]] * 10, [[[0.0] * 10 + [1.0]]] * 10]
    )  # fmt: skip
    assert next_of(problem, 0, [1.0, 0.0], LARGEST) == 9
    assert next_of(problem, 0, [0.0, 1.0], LARGEST) == 10


@given(linear_cssps(proper=False), st.data())
@examples(40)
def test_even_numbers_give_the_frequencies_of_the_mixed_row(problem: LinearCSSP, data: st.DataObject) -> None:
    context = data.draw(contexts(problem.context_size))
    pair = data.draw(st.integers(0, problem.support.pairs - 1))
    count = 200
    drawn = [next_of(problem, pair, context, (i + 0.5) / count) for i in range(count)]
    row = problem.support.row(pair)
    for following, p in zip(problem.support.next_state[row], problem.at(context).probabilities[row], strict=True):
        # an interval of length p holds p * count of the even numbers, give or take one
        assert abs(drawn.count(following) - p * count) <= 1.0 + 1e-9
        assert p > 0.0 or following not in drawn


@given(linear_cssps(proper=False), st.data())
@examples(60)
def test_rows_are_mixed_to_the_bit_as_the_problem_mixes_them(problem: LinearCSSP, data: st.DataObject) -> None:
    context = data.draw(contexts(problem.context_size))
    at = problem.at(context)
    losses = [kernels.mixed.python(problem.losses, i, context) for i in range(problem.support.pairs)]
    rows = [kernels.mixed.python(problem.probabilities, k, context) for k in range(problem.support.triples)]
    np.testing.assert_array_equal(losses, at.losses)
    np.testing.assert_array_equal(rows, at.probabilities)


@pytest.mark.parametrize(
    ("law", "mean", "u", "loss"),
    [
        (deterministic(), 0.3, 0.9, 0.3),
        (bernoulli(), 0.3, 0.2999, 1.0), (bernoulli(), 0.3, 0.3, 0.0), (bernoulli(), 0.0, 0.0, 0.0),
        (bernoulli(), 1.0, LARGEST, 1.0),
        (bounded(0.5), 0.25, 0.0, 0.125), (bounded(0.5), 0.25, 0.5, 0.25), (bounded(1.0), 0.75, 0.0, 0.5),
        (bounded(1.0), 0.0, 0.7, 0.0), (bounded(1.0), 1.0, 0.7, 1.0),
    ],
)  # fmt: skip
def test_losses_follow_their_law(law: LossLaw, mean: float, u: float, loss: float) -> None:
    assert kernels.loss_of.python(law.code, law.spread, mean, u) == loss


@given(st.floats(0.0, 1.0), st.floats(0.0, LARGEST), st.floats(1e-6, 1.0))
@examples(300)
def test_no_loss_leaves_the_unit_interval(mean: float, u: float, spread: float) -> None:
    for law in (deterministic(), bernoulli(), bounded(spread), bounded(1.0)):
        for drawn in (u, 0.0, LARGEST):
            assert 0.0 <= kernels.loss_of.python(law.code, law.spread, mean, drawn) <= 1.0


@pytest.mark.parametrize("law", [deterministic(), bernoulli(), bounded(0.7)])
@pytest.mark.parametrize("mean", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_the_mean_of_a_law_is_the_mean(law: LossLaw, mean: float) -> None:
    losses = [kernels.loss_of.python(law.code, law.spread, mean, (i + 0.5) / 1000) for i in range(1000)]
    assert np.mean(losses) == pytest.approx(mean, abs=1e-12)


def test_laws_that_are_none_are_refused() -> None:
    for spread in (0.0, 1.5, float("nan")):
        with pytest.raises(InputError, match="not in \\(0, 1\\]"):
            bounded(spread)
    with pytest.raises(InputError, match="code 7"):
        LossLaw(7)
    with pytest.raises(InputError, match="means nothing"):
        LossLaw(kernels.BERNOULLI, 0.5)


def test_a_step_takes_one_number_and_a_random_loss_one_more() -> None:
    numbers = Numbers(0.1, 0.6)
    environment = ModelEnvironment(WALK, rng=numbers)
    assert environment.begin(np.array([1.0, 0.0])) == 0
    assert environment.step(0) == Step(0, 0, 0.5, 0)
    assert environment.step(0) == Step(0, 0, 0.5, 2)
    assert numbers.left == []
    # next state, loss, next state, loss: under (1/2, 1/2) the row is (1/4, 1/2, 1/4) and the means are 3/8, then 1/2
    numbers = Numbers(0.3, 0.37, 0.9, 0.5)
    environment = ModelEnvironment(WALK, losses=bernoulli(), rng=numbers)
    environment.begin(np.array([0.5, 0.5]))
    assert [environment.step(0), environment.step(0)] == [Step(0, 0, 1.0, 1), Step(1, 0, 0.0, 2)]
    assert numbers.left == []


def started(start: Any, context: list[float], u: float) -> tuple[int, int]:
    """The first state, and how many numbers were taken."""
    problem = LinearCSSP(WALK.support, WALK.losses, WALK.probabilities, start)
    numbers = Numbers(u)
    return ModelEnvironment(problem, rng=numbers).begin(np.array(context)), 1 - len(numbers.left)


def test_a_start_takes_one_number_only_if_it_is_random() -> None:
    assert started(1, [1.0, 0.0], 0.0) == (1, 0)
    law = [0.25, 0.75]
    assert started(law, [1.0, 0.0], 0.24) == (0, 1)
    assert started(law, [0.3, 0.7], 0.25) == (1, 1)
    by_component = [[1.0, 0.5], [0.0, 0.5]]  # [S, d]: all in state 0, or half and half; mixed evenly (3/4, 1/4)
    assert started(by_component, [0.5, 0.5], 0.74) == (0, 1)
    assert started(by_component, [0.5, 0.5], 0.75) == (1, 1)
    assert started(by_component, [1.0, 0.0], LARGEST) == (0, 1)


def test_misuse_is_named() -> None:
    environment = ModelEnvironment(WALK, rng=np.random.default_rng(0))
    with pytest.raises(InputError, match="no episode is open"):
        environment.step(0)
    environment.begin(np.array([0.0, 1.0]))
    with pytest.raises(InputError, match="no action 1"):
        environment.step(1)
    with pytest.raises(InputError, match="not a whole number"):
        environment.step(0.0)  # type: ignore[arg-type]
    assert [environment.step(0).next_state, environment.step(0).next_state] == [1, 2]
    with pytest.raises(InputError, match="an episode ends at the goal"):
        environment.step(0)
    with pytest.raises(InputError, match="sums to 2"):
        environment.begin(np.array([1.0, 1.0]))
    with pytest.raises(InputError, match="plays a LinearCSSP"):
        ModelEnvironment(WALK.component(0), rng=np.random.default_rng(0))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="rng is of the type int"):
        ModelEnvironment(WALK, rng=3)  # type: ignore[arg-type]


def test_an_action_of_another_state_is_not_available() -> None:
    ragged = SSP.from_transitions([(0, 0, 1, 1.0, 0.5), (0, 2, 2, 1.0, 0.5), (1, 1, 2, 1.0, 0.5)])
    environment = ModelEnvironment(LinearCSSP.mix([ragged]), rng=np.random.default_rng(0))
    environment.begin(np.array([1.0]))
    with pytest.raises(InputError, match="state 0 has no action 1; it has action 0, action 2"):
        environment.step(1)


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
