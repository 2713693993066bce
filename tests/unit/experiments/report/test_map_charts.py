"""Charts over contexts."""

from __future__ import annotations

from itertools import pairwise

import pytest

from goalbound.experiments.report import report_data
from goalbound.experiments.report.map_charts import component_values, frequent_policies, policy_charts, simplex_charts
from tests.support.report_cases import case, spec


def test_two_components_are_an_axis_with_a_line_for_each_learner(data):
    (chart,) = simplex_charts(data["panels"][0])
    assert [trace["name"] for trace in chart.traces] == ["wide", "narrow", "blind"]
    assert chart.traces[0]["x"][0] == pytest.approx(1 / 24)


def test_three_components_are_triangles_on_one_scale(data):
    charts = simplex_charts(data["panels"][1])
    assert len(charts) == 3
    assert len({chart.traces[0]["marker"]["cmax"] for chart in charts}) == 1
    cells = charts[0].traces[0]
    assert len(cells["a"]) == 78
    assert all(a + b + c == pytest.approx(1.0) and min(a, b, c) > 0.0
               for a, b, c in zip(cells["a"], cells["b"], cells["c"], strict=True))  # fmt: skip


def test_more_components_have_a_chart_for_the_weight_of_each():
    data = report_data(**case(spec(seeds=1), context_size=5))
    charts = simplex_charts(data["panels"][0])
    assert [chart.layout["xaxis"]["title"]["text"] for chart in charts] == [
        f"weight of component {one}" for one in range(1, 6)
    ]


def test_all_components_have_one_scale_and_crosses_mark_policies_that_are_not_proper(data):
    many = report_data(**case(spec(seeds=1), context_size=5))
    charts = simplex_charts(many["panels"][0])
    assert len({tuple(chart.layout["yaxis"]["range"]) for chart in charts}) == 1
    (chart,) = policy_charts(data["panels"][0])
    crosses = [trace for trace in chart.traces if trace["meta"]["role"] == "cell"]
    assert [trace["x"] for trace in crosses] == [[0.0], [0.0]]  # of the two learners with policies, at the last context


def test_the_regret_along_a_component_is_the_mean_over_the_cells_of_the_other():
    # Two bins: the cells are (0, 0), (0, 1), (1, 0), with 3, 1 and 2 episodes.
    field = {"components": [0, 2], "count": [3, 1, 2], "value": [1.0, 5.0, 7.0]}
    assert component_values([field], 0, 2, 5) == [2.0, 7.0]  # (3 + 5) / 4
    assert component_values([field], 2, 2, 5) == [3.4, 5.0]  # (3 + 14) / 5
    assert component_values([field], 1, 2, 5) is None


def test_stretches_of_one_best_policy_cover_the_axis(data):
    (chart,) = policy_charts(data["panels"][0])
    ends = [(shape["x0"], shape["x1"]) for shape in chart.layout["shapes"]]
    assert ends[0][0] == 0.0
    assert ends[-1][1] == 1.0
    assert all(before[1] == after[0] for before, after in pairwise(ends))
    assert {note["text"] for note in chart.layout["annotations"]} == {"P1", "P2", "P3"}


def test_the_best_policies_and_the_gaps_are_triangles(data):
    best, *gaps = policy_charts(data["panels"][1])
    assert [trace["name"] for trace in best.traces] == ["P1", "P2", "P3"]
    assert sum(len(trace["a"]) for trace in best.traces) == 66
    assert len(gaps) == 2
    assert gaps[0].traces[-1]["name"] == "not proper on some seed"


def test_rare_policies_are_left_out_of_the_frequent_ones():
    assert frequent_policies([0, *range(20), 19]) == [0, 19, 1, 2, 3, 4, 5, 6]
