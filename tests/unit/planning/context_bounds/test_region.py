"""Upper bounds on a sub-simplex of contexts, against the exact values at contexts in between."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from goalbound.models import LinearCSSP
from goalbound.planning.context_bounds.region import (
    ContextPoint,
    CornerModels,
    affine_upper_bounds,
    max_upper_bound,
    upper_values,
)
from tests.reference import exact
from tests.support.context_grids import SLACK, simplices
from tests.support.strategies import contexts, linear_cssps


@given(linear_cssps(proper=True), st.data())
def test_upper_bounds_are_above_the_optimal_values_at_every_mixture_of_the_corners(
    problem: LinearCSSP, data: st.DataObject
) -> None:
    corners = tuple(ContextPoint(problem, c) for c in data.draw(simplices(problem.context_size)))
    weights = data.draw(contexts(len(corners)))
    values = exact.optimal_values(problem.at(weights @ np.stack([corner.context for corner in corners])))
    upper_bounds = affine_upper_bounds(corners)
    for upper_bound in upper_bounds:
        for value, above in zip(values, weights @ upper_bound, strict=True):
            assert value <= above * (1 + SLACK)
    if upper_bounds:
        assert max(values) <= max_upper_bound(upper_bounds).value * (1 + SLACK)


def test_halving_a_sub_simplex_divides_the_error_of_its_upper_bound_by_four() -> None:
    # one policy, v(0) = 1 + x (1 - x) on the context (x, 1 - x): the chord of a parabola is off by h^2 / 4
    losses = [[[1.0], [0.0]], [[1.0], [1.0]]]
    moves = [[[[0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]]], [[[0.0, 0.0, 1.0]], [[0.0, 0.0, 1.0]]]]
    problem = LinearCSSP.dense(losses, moves)
    errors = []
    for h in (0.5, 0.25, 0.125):
        corners = tuple(ContextPoint(problem, np.array([x, 1.0 - x])) for x in (0.5 - h / 2, 0.5 + h / 2))
        values, steps = (np.stack(part) for part in zip(*(c.evaluate(c.policy) for c in corners), strict=True))
        above = upper_values(CornerModels.at(corners, np.array([0, 1])), values, steps)
        errors.append(above.max() - 1.25)
    assert errors[0] / errors[1] > 3.5
    assert errors[1] / errors[2] > 3.5
