"""Routing in a city: what its docstring claims, checked with the planner."""

import numpy as np

from goalbound.planning import solve
from goalbound.problems import (
    routing_grid,
)


def test_jams_change_the_way_through_the_city():
    city = routing_grid(5, 5, regimes=3, seed=0)
    policies = [solve(city.component(k)).policy for k in range(3)]
    assert not np.array_equal(policies[0], policies[1])
    assert not np.array_equal(policies[1], policies[2])
    free, jam = city.losses[:, 0] * city.loss_scale, city.losses[:, 1] * city.loss_scale
    assert free.min() >= 1 - 1e-12
    assert free.max() <= 2 + 1e-12
    assert jam.max() > 2  # what is jammed takes up to four times as long
    assert 4 < city.loss_scale <= 8
