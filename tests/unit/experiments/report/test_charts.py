"""The charts of a report."""

from __future__ import annotations

import json

import pytest

from goalbound.experiments.report.charts import report_charts


@pytest.fixture(scope="module")
def charts(data):
    return {chart.name: chart for chart in report_charts(data)}


def traces(chart, role):
    return [trace for trace in chart.traces if trace["meta"]["role"] == role]


def test_every_panel_has_its_charts_and_they_are_plain_json(data, charts):
    for kind in ("regret", "ranking", "differences", "growth", "terms", "known", "intervals", "seeds"):
        for place in (1, 2):
            assert f"{kind}-{place}" in charts
    assert json.dumps([chart.as_json() for chart in charts.values()], allow_nan=False)
    assert len(charts) == len(report_charts(data))  # no two have the same name


def test_the_ranking_has_a_dot_with_an_interval_for_each_learner_that_competes(charts):
    dots = {trace["name"]: trace for trace in charts["ranking-1"].traces}
    assert list(dots) == ["narrow", "wide", "blind"]
    assert dots["wide"]["x"] == [4400]
    assert dots["wide"]["error_x"]["array"] == [400]  # up to 4,800
    assert dots["wide"]["hovertemplate"].startswith("wide: 4,400 (4,000 to 4,800)")


def test_differences_are_from_the_first(charts):
    gaps = {trace["name"]: trace["x"][0] for trace in charts["differences-1"].traces}
    assert gaps == {"wide": 3300, "blind": 9900}


def test_the_terms_have_one_scale_and_sum_to_the_realised_regret(charts):
    for trace in charts["terms-1"].traces:
        assert trace["y"][-1] == "realised regret"
        assert trace["x"][:5] == [10, 20, -5, 3, 0]  # made by hand; their sum is not that of these runs
    assert "range" not in charts["terms-1"].layout["xaxis"]
