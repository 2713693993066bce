"""The planning part of the demo."""

import numpy as np
import pytest

from goalbound.cli.demo.planning import trapped_states
from goalbound.models import SSP
from goalbound.planning import evaluate, is_proper, solve
from goalbound.problems import CATALOG


def test_the_demo_tells_the_truth_about_the_averaged_policy(weather):
    problem = CATALOG["demo"].make()
    averaged = solve(problem.at([1 / 3] * 3)).policy
    for component, day in enumerate(weather.corners):
        ssp = problem.component(component)
        assert day.name == problem.component_names[component]
        assert day.loss == solve(ssp).start_value
        assert not is_proper(ssp, averaged)
        assert day.averaged_loss == np.inf
        assert np.array_equal(day.stuck, np.isinf(evaluate(ssp, averaged).hitting_times[:-1]))
    assert weather.average.best == averaged.tolist()
    assert not weather.average.stuck.any()
    assert weather.average.averaged_loss == pytest.approx(weather.average.loss, rel=1e-9)


def test_where_the_averaged_policy_is_caught(weather):
    calm, west, north = weather.corners
    assert calm.trapped.all()
    assert np.flatnonzero(west.trapped).tolist() == [5, 11, 17]  # the eastern border above the goal
    assert np.flatnonzero(north.trapped).tolist() == [18, 19, 20, 21, 22]  # the southern one left of it
    assert not weather.average.trapped.any()


def test_a_loop_of_two_states_is_caught_and_the_way_into_it_is_not():
    # 0 -> 1 -> 2 -> 1, and 3 -> goal or 0
    rows = np.zeros((4, 1, 5))
    rows[0, 0, 1] = rows[1, 0, 2] = rows[2, 0, 1] = 1.0
    rows[3, 0, [0, 4]] = 0.5
    found = trapped_states(SSP.dense(np.full((4, 1), 0.5), rows), np.zeros(4, dtype=np.int64))
    assert found.tolist() == [False, True, True, False]
