"""Laws of the bounds over all contexts, on problems with zero losses, dead ends and ragged rows."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from goalbound.models import SSP, LinearCSSP
from goalbound.planning import solve
from goalbound.planning.context_bounds import context_bounds
from tests.reference import context_grid, exact, graph
from tests.support.strategies import contexts, examples, linear_cssps, ssps

FEW = 20


@given(linear_cssps(proper=False))
def test_all_contexts_are_proper_if_and_only_if_all_faces_are(problem: LinearCSSP) -> None:
    found = context_bounds(problem, most_regions=1)
    assert found.proper == context_grid.proper_at_every_face(problem)
    if found.blocking_context is not None:
        assert list(found.blocking_states) == sorted(graph.blocking_states(problem.at(found.blocking_context)))


@given(linear_cssps(proper=True), st.data())
def test_no_context_has_a_larger_loss_than_the_upper_end(problem: LinearCSSP, data: st.DataObject) -> None:
    found = context_bounds(problem, most_regions=FEW)
    context = data.draw(contexts(problem.context_size))
    largest = max(exact.optimal_values(problem.at(context)))
    assert largest <= found.loss_bound.upper * (1.0 + 1e-13)  # the context is rounded when it is mixed


@given(linear_cssps(proper=True))
def test_the_witness_of_the_loss_attains_the_lower_end(problem: LinearCSSP) -> None:
    bound = context_bounds(problem, most_regions=FEW).loss_bound
    assert bound.lower <= bound.upper
    assert exact.optimal_values(problem.at(bound.context))[bound.state] >= bound.lower


@given(linear_cssps(proper=True, most_states=3), st.data())
def test_no_optimal_policy_takes_longer_than_the_upper_end(problem: LinearCSSP, data: st.DataObject) -> None:
    bound = context_bounds(problem, most_regions=FEW).time_bound
    context = data.draw(contexts(problem.context_size))
    assert context_grid.largest_at(problem.at(context)).time <= bound.upper * (1.0 + 1e-9)
    assert bound.lower <= bound.upper


@given(linear_cssps(proper=True, most_states=3))
def test_some_optimal_policy_takes_as_long_as_the_lower_end(problem: LinearCSSP) -> None:
    bound = context_bounds(problem, most_regions=FEW).time_bound
    assert context_grid.largest_at(problem.at(bound.context)).time >= bound.lower * (1.0 - 1e-9)


@given(ssps(proper=True), st.integers(2, 3))
def test_identical_components_are_one_problem(ssp: SSP, copies: int) -> None:
    found = context_bounds(LinearCSSP.mix([ssp] * copies), most_regions=FEW).loss_bound
    alone = solve(ssp)
    assert math.isclose(found.lower, alone.values.max(), rel_tol=1e-8)
    assert math.isclose(found.upper, alone.values.max(), rel_tol=1e-7)


@examples(20)
@given(linear_cssps(proper=True), st.integers(2, 40))
def test_a_longer_search_never_widens_the_interval(problem: LinearCSSP, most_regions: int) -> None:
    short = context_bounds(problem, most_regions=most_regions // 2, tolerance=1e-6)
    longer = context_bounds(problem, most_regions=most_regions, tolerance=1e-6)
    for one, other in ((short.loss_bound, longer.loss_bound), (short.time_bound, longer.time_bound)):
        assert one.lower <= other.lower
        assert np.float64(other.upper) <= one.upper
