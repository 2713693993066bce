"""Lower bounds that are affine in the context, against the exact values at contexts in between."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from goalbound.models import LinearCSSP
from goalbound.planning.context_bounds.region import ContextPoint, CornerModels, lower_values
from tests.reference import exact
from tests.support.context_grids import SLACK, simplices
from tests.support.strategies import contexts, linear_cssps


@given(linear_cssps(proper=True), st.data())
def test_affine_lower_values_are_below_the_optimal_values_at_every_mixture(
    problem: LinearCSSP, data: st.DataObject
) -> None:
    corners = tuple(ContextPoint(problem, c) for c in data.draw(simplices(problem.context_size)))
    weights = data.draw(contexts(len(corners)))
    solved = np.stack([corner.solution.values for corner in corners])
    models = CornerModels.at(corners)
    found = lower_values(models, solved, solved)
    if found is not None:
        values = exact.optimal_values(problem.at(weights @ np.stack([corner.context for corner in corners])))
        for value, below in zip(values, weights @ found, strict=True):
            assert below <= value * (1 + SLACK)
