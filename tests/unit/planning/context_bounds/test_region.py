"""Upper bounds on a sub-simplex of contexts, against the exact values at contexts in between."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from goalbound.models import LinearCSSP
from goalbound.planning.context_bounds.region import (
    ContextPoint,
    affine_upper_bounds,
    max_upper_bound,
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
