"""Charts over contexts."""

from __future__ import annotations

import pytest

from goalbound.experiments.report.map_charts import policy_charts, simplex_charts


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


def test_the_best_policies_and_the_gaps_are_triangles(data):
    best, *gaps = policy_charts(data["panels"][1])
    assert [trace["name"] for trace in best.traces] == ["P1", "P2", "P3"]
    assert sum(len(trace["a"]) for trace in best.traces) == 66
    assert len(gaps) == 2
    assert gaps[0].traces[-1]["name"] == "not proper on some seed"
