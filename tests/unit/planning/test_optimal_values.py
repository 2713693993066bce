"""The optimal values under many contexts, against the planner and against fractions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.errors import InputError, NoProperPolicy
from goalbound.models import SSP, LinearCSSP
from goalbound.planning import Solution, Status, is_proper, solve
from goalbound.planning.optimal_values import optimal_values
from goalbound.problems import CATALOG, random_cssp, windy_grid
from tests.reference import batch as naive
from tests.support import strategies
from tests.support.kernel_forms import COMPILED, PYTHON, kernels
from tests.support.strategies import examples, linear_cssps

MODULE = import_module("goalbound.planning.optimal_values")  # the function may bear its name in the package

DRUGS = LinearCSSP.dense([[[0.5, 0.2]], [[0.5, 0.2]]], [[[[0, 1.0], [0.1, 0.9]]], [[[0, 1.0], [0.9, 0.1]]]])
"""A drug that always works, and one that works in 0.9 of all cases under one component, 0.1 under the other."""

FREE_STEP = LinearCSSP.dense([[[0.0], [0.5]]] * 2, [[[[0, 0.3, 0.7]], [[0, 0, 1.0]]], [[[0, 0.9, 0.1]], [[0, 0, 1.0]]]])
"""A step without loss that every policy must take: to the goal, or to where 0.5 is to be paid."""


def some_contexts(problem: LinearCSSP, count: int, seed: int = 0) -> NDArray[np.float64]:
    """All corners, then points drawn uniformly from the simplex."""
    size = problem.context_size
    return np.vstack((np.eye(size), np.random.default_rng(seed).dirichlet(np.ones(size), count)))


@contextmanager
def counted_solves() -> Iterator[list[SSP]]:
    """The problems that went to the planner."""
    asked: list[SSP] = []

    def counting(ssp: SSP, **settings: Any) -> Solution:
        asked.append(ssp)
        return solve(ssp, **settings)

    with mock.patch.object(MODULE, "solve", counting):
        yield asked


def test_two_drugs_by_hand() -> None:
    # 0.2 / 0.9 under the first component, 0.2 / 0.5 half way, then 0.2 / 0.4 = 0.5 and the sure drug is as good.
    found = optimal_values(DRUGS, [[1.0, 0.0], [0.5, 0.5], [0.375, 0.625], [0.2, 0.8], [0.0, 1.0]])
    np.testing.assert_allclose(found, [[0.2 / 0.9, 0], [0.4, 0], [0.5, 0], [0.5, 0], [0.5, 0]], rtol=1e-15)


@pytest.mark.parametrize("name", list(CATALOG))
def test_every_family_agrees_with_the_planner(name: str) -> None:
    problem = CATALOG[name].make()
    contexts = some_contexts(problem, 9)
    for context, values in zip(contexts, optimal_values(problem, contexts), strict=True):
        np.testing.assert_allclose(values, solve(problem.at(context)).values, rtol=1e-9)


@given(linear_cssps(proper=True), st.sampled_from([1e-9, 1e-12]), st.data())
@examples(60)
def test_values_are_the_exact_ones_up_to_the_tolerance(problem: LinearCSSP, tolerance: float, data: Any) -> None:
    points = data.draw(st.lists(strategies.contexts(problem.context_size), min_size=1, max_size=4))
    found = optimal_values(problem, points, tolerance=tolerance)
    for values, expected in zip(found, naive.optimal_values(problem, np.array(points)), strict=True):
        for value, best in zip(values.tolist(), expected, strict=True):
            assert abs(Fraction(value) - best) <= Fraction(tolerance) * max(Fraction(value), best)


@pytest.mark.parametrize("name", ["demo", "random", "routing-grid", "long-corridor"])
def test_an_answer_does_not_depend_on_the_contexts_before_it(name: str) -> None:
    problem = CATALOG[name].make()
    contexts = some_contexts(problem, 12)
    together = optimal_values(problem, contexts)
    backwards = optimal_values(problem, contexts[::-1])[::-1]
    alone = np.vstack([optimal_values(problem, [context]) for context in contexts])
    assert together.tobytes() == backwards.tobytes() == alone.tobytes()


def test_a_policy_that_never_arrives_under_the_next_context_sends_nobody_to_the_planner() -> None:
    problem = windy_grid(3, 4)
    average = solve(problem.at([1 / 3, 1 / 3, 1 / 3])).policy
    assert not is_proper(problem.component("calm"), average)
    contexts = np.tile([[1 / 3, 1 / 3, 1 / 3], [1, 0, 0], [0, 1, 0], [0, 0, 1]], (5, 1))
    with counted_solves() as asked:
        found = optimal_values(problem, contexts)
    assert len(asked) <= 3  # at most one start for each component, whatever the number of contexts
    for context, values in zip(contexts[:4], found[:4], strict=True):
        np.testing.assert_allclose(values, solve(problem.at(context)).values, rtol=1e-12)
    assert (found.reshape(5, -1) == found[:4].ravel()).all()


def test_free_steps_go_to_the_planner_once_for_each_context() -> None:
    contexts = [[0.5, 0.5], [1.0, 0.0], [0.5, 0.5], [0.5, 0.5]]
    with counted_solves() as asked:
        found = optimal_values(FREE_STEP, contexts)
    assert len(asked) == 1 + 2  # a start, which serves both, and two different contexts
    np.testing.assert_allclose(found, [[0.5 * p, 0.5, 0.0] for p in (0.6, 0.3, 0.6, 0.6)], rtol=1e-9)


def test_a_ride_too_long_for_floats_goes_to_the_planner() -> None:
    # Two states that send each other back and forth, out with 1e-9: 1 / 1e-9 rounds at a loss of 1.
    problem = LinearCSSP.dense([[[0.3], [0.7]]], [[[[0, 1.0, 0]], [[1.0 - 1e-9, 0, 1e-9]]]])
    with counted_solves() as asked:
        found = optimal_values(problem, [[1.0]])
    assert len(asked) == 2
    best = naive.optimal_values(problem, np.ones((1, 1)))[0]
    np.testing.assert_allclose(found[0], [float(value) for value in best], rtol=1e-9)
    assert best[0] == pytest.approx(1e9, rel=1e-6)


def test_large_problems_are_solved_once_for_each_different_context() -> None:
    problem = random_cssp(6, seed=2)
    contexts = np.tile(some_contexts(problem, 2), (4, 1))
    small = optimal_values(problem, contexts)
    with mock.patch.object(MODULE, "MOST_ELIMINATED", 5), counted_solves() as asked:
        found = optimal_values(problem, contexts)
    assert len(asked) == 5
    np.testing.assert_allclose(found, small, rtol=1e-9)


def test_a_component_without_a_proper_policy_may_still_be_mixed() -> None:
    # Under the second component nothing ends; under a mixture the exit is half as likely.
    problem = LinearCSSP.dense([[[0.5]], [[0.5]]], [[[[0.0, 1.0]]], [[[1.0, 0.0]]]])
    found = optimal_values(problem, [[0.25, 0.75], [0.5, 0.5], [0.125, 0.875]])
    np.testing.assert_allclose(found, [[2.0, 0.0], [1.0, 0.0], [4.0, 0.0]], rtol=1e-9)
    with pytest.raises(
        NoProperPolicy, match=r"contexts\[1\] = \[0\., 1\.\]: no policy reaches .* from state 0"
    ) as caught:
        optimal_values(problem, [[0.5, 0.5], [0.0, 1.0]])
    assert caught.value.states == (0,)


def test_bounds_wider_than_the_tolerance_are_an_error_that_names_the_context() -> None:
    def stopped(ssp: SSP, **settings: Any) -> Solution:
        return replace(solve(ssp, **settings), status=Status.ROUNDING)

    with (
        mock.patch.object(MODULE, "MOST_ELIMINATED", 0),
        mock.patch.object(MODULE, "solve", stopped),
        pytest.raises(InputError, match=r"contexts\[0\] = \[1\., 0\.\]: stopped by rounding.*larger tolerance"),
    ):
        optimal_values(DRUGS, [[1.0, 0.0]])


@pytest.mark.parametrize(
    ("contexts", "says"),
    [
        ([0.5, 0.5], r"contexts has shape \(2,\); it needs shape \[K, d\] = \(K, 2\)"),
        ([[0.5, 0.25, 0.25]], r"contexts has shape \(1, 3\)"),
        ([["rain", "sun"]], "contexts is not an array of numbers"),
        ([[1.0, 0.0], [0.5, 0.4]], r"contexts\[1\]: context sums to 0.9, not 1"),
        ([[1.5, -0.5]], r"contexts\[0\]: context\[0\]: weight 1.5 is not in"),
        ([[0.5, 0.5], [0.5, 0.5], [np.nan, 1.0]], r"contexts\[2\]: context\[0\]: weight nan"),
        ([[np.inf, -np.inf]], r"contexts\[0\]: context\[0\]: weight inf"),
    ],
)
def test_what_is_no_list_of_contexts_is_refused(contexts: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        optimal_values(DRUGS, contexts)


def test_a_context_slightly_off_the_simplex_is_divided_by_its_sum_as_at_does() -> None:
    crooked = np.array([[0.3, 0.7 + 3e-10], [0.3, 0.7]])
    kept = crooked.copy()
    kept.flags.writeable = False
    found = optimal_values(DRUGS, kept)
    assert (kept == crooked).all()
    np.testing.assert_allclose(found[0, 0], solve(DRUGS.at(crooked[0])).values[0], rtol=1e-15)
    assert found[0].tobytes() == optimal_values(DRUGS, [crooked[0] / crooked[0].sum()]).tobytes()


@pytest.mark.parametrize(
    "problem", [random_cssp(5, seed=4), windy_grid(3, 3), FREE_STEP], ids=["random", "windy", "free"]
)
def test_both_forms_of_the_kernels_answer_the_same_bits(problem: LinearCSSP) -> None:
    contexts = some_contexts(problem, 8)
    with kernels(PYTHON):
        one = optimal_values(problem, contexts)
    with kernels(COMPILED):
        other = optimal_values(problem, contexts)
    assert one.tobytes() == other.tobytes()
