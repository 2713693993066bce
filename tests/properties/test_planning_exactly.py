"""Planning against exact arithmetic, on problems that Hypothesis finds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.errors import NoProperPolicy
from goalbound.models import SSP
from goalbound.planning import Status, solve
from tests.reference import exact, graph, linear_program
from tests.reference.certified import assert_bounds, assert_certified
from tests.support.strategies import contexts, examples, linear_cssps, ssps


@examples(60)
@given(ssps(proper=False, most_states=4))
def test_any_small_problem_against_all_its_policies(ssp: SSP) -> None:
    values = exact.best_of_all_policies(ssp)
    assert_certified(ssp, solve(ssp, unreachable="exclude"), values)


@examples(80)
@given(ssps(proper=True, most_states=6))
def test_problems_with_free_loops_against_exact_policy_iteration(ssp: SSP) -> None:
    found = solve(ssp)
    assert_certified(ssp, found, exact.optimal_values(ssp))
    steps = exact.policy_steps(ssp, found.policy.tolist())
    np.testing.assert_allclose(found.hitting_times, [float(s) for s in steps], rtol=1e-8)


@examples(60)
@given(ssps(proper=True, tiny=True, most_states=4))
def test_tiny_exits_are_certified_or_said_not_to_be(ssp: SSP) -> None:
    found, values = solve(ssp), exact.optimal_values(ssp)
    assert_bounds(found, values)
    assert graph.is_proper(ssp, found.policy.tolist())
    if found.status == Status.CONVERGED:
        assert_certified(ssp, found, values)


@given(ssps(proper=False, most_states=6))
def test_no_proper_policy_is_said_exactly_where_it_is_so(ssp: SSP) -> None:
    blocking = graph.blocking_states(ssp)
    if not blocking:
        solve(ssp)
        return
    with pytest.raises(NoProperPolicy) as caught:
        solve(ssp)
    assert list(caught.value.states) == blocking


@examples(25)
@given(ssps(proper=False, most_states=30))
def test_medium_problems_against_the_linear_program(ssp: SSP) -> None:
    found = solve(ssp, unreachable="exclude")
    assert found.status == Status.CONVERGED
    np.testing.assert_allclose(found.values, linear_program.optimal_values(ssp), rtol=1e-6, atol=1e-7)


@given(st.data())
def test_problems_at_a_context_have_zeros_in_their_rows_and_are_solved_all_the_same(data: st.DataObject) -> None:
    problem = data.draw(linear_cssps(proper=False))
    ssp = problem.at(data.draw(contexts(problem.context_size)))
    assert_certified(ssp, solve(ssp, unreachable="exclude"), exact.optimal_values(ssp))


@given(ssps(proper=False, most_states=5), st.sampled_from([1e-3, 1e-6]))
def test_a_looser_tolerance_is_kept_too(ssp: SSP, tolerance: float) -> None:
    found = solve(ssp, tolerance=tolerance, unreachable="exclude")
    assert_certified(ssp, found, exact.optimal_values(ssp), tolerance)


@given(ssps(proper=False, most_states=5))
def test_what_is_excluded_is_infinite_everywhere_and_has_no_action(ssp: SSP) -> None:
    found = solve(ssp, unreachable="exclude")
    blocking = graph.blocking_states(ssp)
    assert np.flatnonzero(found.policy == -1).tolist() == blocking
    for array in (found.values, found.hitting_times, found.lower, found.upper):
        assert [s for s, value in enumerate(array.tolist()) if value == math.inf] == blocking
