"""The witnesses against each other: an answer that four methods give is trusted."""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import given

from goalbound.models import SSP
from tests.reference import exact, graph, linear_program, naive
from tests.support.strategies import examples, ssps


@given(ssps(proper=False))
def test_trying_every_policy_and_exact_policy_iteration_agree_on_any_problem(ssp: SSP) -> None:
    assert exact.best_of_all_policies(ssp) == exact.optimal_values(ssp)


@given(ssps(proper=False))
def test_the_blocking_states_are_those_that_no_single_policy_brings_to_the_goal_surely(ssp: SSP) -> None:
    best = exact.best_of_all_policies(ssp)
    assert graph.blocking_states(ssp) == [state for state, value in enumerate(best) if value == math.inf]


@given(ssps(proper=False))
def test_the_linear_program_gives_the_exact_values(ssp: SSP) -> None:
    values = exact.optimal_values(ssp)
    np.testing.assert_allclose(linear_program.optimal_values(ssp), [float(v) for v in values], rtol=1e-7, atol=1e-8)


@examples(15)
@given(ssps(proper=True, most_states=12))
def test_the_linear_program_gives_the_exact_values_of_larger_problems(ssp: SSP) -> None:
    values = exact.optimal_values(ssp)
    np.testing.assert_allclose(linear_program.optimal_values(ssp), [float(v) for v in values], rtol=1e-7, atol=1e-7)


@examples(30)
@given(ssps(proper=True, most_states=3, most_actions=2))
def test_value_iteration_from_above_comes_down_to_the_exact_values(ssp: SSP) -> None:
    values = [float(v) for v in exact.optimal_values(ssp)]
    coming = naive.value_iteration(ssp, 400)
    assert (coming >= np.array(values) - 1e-9).all()
    np.testing.assert_allclose(coming, values, rtol=1e-5, atol=1e-5)


@examples(30)
@given(ssps(proper=False, most_states=3))
def test_a_policy_is_proper_when_its_steps_are_finite_and_then_its_values_solve_the_equations(ssp: SSP) -> None:
    support = ssp.support
    choices = [support.pair_action[support.pair_start[s] : support.pair_start[s + 1]] for s in range(support.states)]
    for choice in itertools.product(*choices):
        policy = [int(action) for action in choice]
        steps = exact.policy_steps(ssp, policy)
        assert graph.is_proper(ssp, policy) == (math.inf not in steps)
        if math.inf not in steps:
            values = [float(v) for v in exact.policy_losses(ssp, policy)]
            np.testing.assert_allclose(naive.policy_values(ssp, policy), values, rtol=1e-9, atol=1e-12)
