"""One context of a problem: its optimal values, and policies evaluated there, by elimination or by the planner."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.models import LinearCSSP
from goalbound.planning import evaluate, solve
from goalbound.planning.context_bounds import region
from goalbound.planning.context_bounds.region import ContextPoint, ContextPoints
from goalbound.problems import windy_grid

GRID = windy_grid(2, 3)
CONTEXT = np.array([0.5, 0.25, 0.25])


def test_the_values_of_its_optimal_policy_are_the_optimal_ones() -> None:
    point = ContextPoint(GRID, CONTEXT)
    found = point.evaluate(point.policy)
    assert found is not None
    np.testing.assert_allclose(found[0], solve(GRID.at(CONTEXT)).values, rtol=1e-9)


@pytest.mark.parametrize("most", [400, 0])
def test_policies_have_the_values_and_steps_of_their_evaluation(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(region, "MOST_ELIMINATED", most)
    point = ContextPoint(GRID, CONTEXT)
    walking = np.array([GRID.support.pair(s, "east" if s % 3 < 2 else "south") for s in range(5)])
    found, expected = point.evaluate(walking), evaluate(point.ssp, GRID.support.pair_action[walking])
    assert found is not None
    np.testing.assert_allclose(found[0], expected.values, rtol=1e-9)
    np.testing.assert_allclose(found[1], expected.hitting_times, rtol=1e-9)


def test_a_policy_that_is_not_proper_there_has_no_values() -> None:
    drifting = np.array([GRID.support.pair(s, "drift") for s in range(5)])
    assert ContextPoint(GRID, np.array([1.0, 0.0, 0.0])).evaluate(drifting) is None  # in the calm nothing moves


def test_evaluations_are_cached() -> None:
    point = ContextPoint(GRID, CONTEXT)
    assert point.evaluate(point.policy) is point.evaluate(point.policy.copy())


def test_equal_contexts_share_a_point_while_it_is_used() -> None:
    problem: LinearCSSP = GRID
    points = ContextPoints(problem)
    first = points.at(CONTEXT)
    assert points.at(CONTEXT.copy()) is first
    assert points.at(np.array([0.25, 0.5, 0.25])) is not first
    with pytest.raises(ValueError, match="read-only"):
        first.context[0] = 1.0
