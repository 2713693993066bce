"""A problem as an environment: what is drawn, from which numbers, and in which order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from goalbound.errors import InputError
from goalbound.models import SSP, LinearCSSP, Step
from goalbound.models.step import bernoulli
from goalbound.simulation.environment import ModelEnvironment
from tests.support.uniform_numbers import LARGEST, Numbers

# Two states, one action (number 0). Component 0: stay 1/2, goal 1/2; then the goal. Component 1: on to state 1.
WALK = LinearCSSP.dense(
    [[[0.5], [1.0]], [[0.25], [0.0]]],
    [[[[0.5, 0.0, 0.5]], [[0.0, 0.0, 1.0]]], [[[0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]]]],
)


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
