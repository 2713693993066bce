"""Maps over contexts."""

from __future__ import annotations

from copy import deepcopy

import numpy as np

from goalbound.experiments.report import report_data
from tests.support.report_cases import EPISODES, case, made, result_of, spec


def test_two_components_are_a_line_and_hold_every_episode(data):
    _, result = result_of(data, "flat", "wide")
    (field,) = result["simplex"]
    assert len(field["count"]) == 12
    assert sum(field["count"]) == 3 * EPISODES
    # Made by hand: the regret of an episode is the square of the first component, so a cell's is inside its ends.
    assert (10 / 12) ** 2 <= field["value"][10] <= (11 / 12) ** 2


def test_three_components_are_a_triangle_of_cells_and_its_edge_is_not_lost(data):
    _, result = result_of(data, "ladder", "wide")
    (field,) = result["simplex"]
    assert len(field["count"]) == 12 * 13 // 2
    assert sum(field["count"]) == 3 * EPISODES
    run = next(run for run in spec(seeds=1).runs() if run.problem.label == "ladder")
    edge = deepcopy(made(run))
    count = np.zeros((12, 12))
    count[6, 6] = EPISODES  # the context (1/2, 1/2, 0)
    edge.metadata["simplex"] |= {"count": [count.ravel().tolist()] * 3, "expected_regret": [count.ravel().tolist()] * 3}
    data = report_data(spec(seeds=1), case(spec(seeds=1))["summary"], [edge])
    (field,) = data["panels"][0]["results"][0]["simplex"]
    rows = np.cumsum([0, *range(12, 0, -1)])
    assert field["count"][rows[5] + 6] == EPISODES  # cell (5, 6), which has that point as a corner
    assert field["value"][rows[5] + 6] == 1.0
