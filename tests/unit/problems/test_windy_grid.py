"""The windy grid: what its docstring claims, checked with the planner."""

import numpy as np
import pytest

from goalbound.planning import evaluate, is_proper
from goalbound.problems import (
    CATALOG,
    windy_grid,
)
from tests.support.policies import averaged_policy, proper_corners, some_contexts


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (4, 6), (3, 9), (7, 7)])
def test_in_the_average_wind_drifting_is_best_everywhere_and_in_each_corner_it_is_improper(rows, columns):
    grid = windy_grid(rows, columns)
    policy = averaged_policy(grid)
    assert set(policy) == {grid.support.action("drift")}
    assert is_proper(grid.at([1 / 3, 1 / 3, 1 / 3]), policy)
    assert proper_corners(grid, policy) == [False, False, False]


def test_walking_to_the_goal_keeps_the_bound_on_its_steps_in_every_wind():
    rows, columns, slip = 4, 5, 0.2
    grid = windy_grid(rows, columns, slip=slip)
    east, south = grid.support.action("east"), grid.support.action("south")
    policy = np.array([east if cell % columns < columns - 1 else south for cell in range(grid.support.states)])
    for context in some_contexts(3):
        steps = evaluate(grid.at(context), policy).hitting_times
        assert steps[0] <= (rows + columns - 2) / (1 - slip) + 1e-9
    # in the calm the bound is met: every step is one nearer with probability 1 - slip, else it stays
    assert evaluate(grid.component(0), policy).hitting_times[0] == pytest.approx((rows + columns - 2) / (1 - slip))


def test_the_demo_shows_a_policy_that_is_best_on_average_and_never_ends_in_the_calm():
    demo = CATALOG["demo"].make()
    policy = averaged_policy(demo)
    assert is_proper(demo.at([1 / 3, 1 / 3, 1 / 3]), policy)
    assert not is_proper(demo.component(0), policy)
    assert demo.component_names is not None
    assert demo.component_names[0] == "calm"
