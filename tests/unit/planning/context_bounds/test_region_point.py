"""One context of a problem: its optimal values, and policies evaluated there, by elimination or by the planner."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.models import LinearCSSP
from goalbound.planning import solve
from goalbound.planning.context_bounds.region import ContextPoint, ContextPoints
from goalbound.problems import windy_grid

GRID = windy_grid(2, 3)
CONTEXT = np.array([0.5, 0.25, 0.25])


def test_the_values_of_its_optimal_policy_are_the_optimal_ones() -> None:
    point = ContextPoint(GRID, CONTEXT)
    found = point.evaluate(point.policy)
    assert found is not None
    np.testing.assert_allclose(found[0], solve(GRID.at(CONTEXT)).values, rtol=1e-9)


def test_equal_contexts_share_a_point_while_it_is_used() -> None:
    problem: LinearCSSP = GRID
    points = ContextPoints(problem)
    first = points.at(CONTEXT)
    assert points.at(CONTEXT.copy()) is first
    assert points.at(np.array([0.25, 0.5, 0.25])) is not first
    with pytest.raises(ValueError, match="read-only"):
        first.context[0] = 1.0
