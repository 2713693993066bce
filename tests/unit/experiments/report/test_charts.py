"""The charts of a report."""

from __future__ import annotations

import json

import pytest

from goalbound.experiments.report import report_data
from goalbound.experiments.report.charts import page_state, report_charts
from tests.support.report_cases import case, spec


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


def test_guides_end_where_the_best_learner_does(charts):
    for guide in traces(charts["regret-1"], "guide"):
        assert guide["y"][-1] == pytest.approx(1100)
        assert guide["x"][0] == pytest.approx(100, rel=0.1)  # the last two of four decades


def test_all_seeds_of_a_learner_are_one_trace_with_gaps(data, charts):
    wide = charts["seeds-1"].traces[0]
    ends = [value for value, after in zip(wide["y"], [*wide["y"][1:], None], strict=True) if after is None and value]
    assert ends == pytest.approx([4000, 4400, 4800])
    assert len(wide["x"]) == len(wide["y"]) == 3 * (len(data["panels"][0]["coarse"]) + 1)


def test_the_terms_have_one_scale_and_sum_to_the_realised_regret(charts):
    for trace in charts["terms-1"].traces:
        assert trace["y"][-1] == "realised regret"
        assert trace["x"][:5] == [10, 20, -5, 3, 0]  # made by hand; their sum is not that of these runs
    assert "range" not in charts["terms-1"].layout["xaxis"]


def test_arrays_that_traces_share_are_in_the_page_once(data, charts):
    arrays = page_state(data, fold=False)["arrays"]
    for chart in charts.values():
        for trace in chart.traces:
            if isinstance(trace.get("x"), str):
                assert len(arrays[trace["x"]]) == len(trace["y"])
            if "steps" in trace["meta"] and not trace["meta"].get("seeds"):
                assert len(arrays[trace["meta"]["steps"]]) == len(trace["y"])


def test_the_best_and_the_best_proven_of_each_panel_are_known_to_the_page(data):
    state = page_state(data, fold=True)
    assert state["panels"] == [{"ranking": [1, 0, 2], "proven": 0}] * 2
    assert state["learners"][0] == {"label": "wide", "guarantee": "proven"}


def test_one_seed_has_no_bands_and_no_intervals():
    charts = {chart.name: chart for chart in report_charts(report_data(**case(spec(seeds=1))))}
    assert traces(charts["regret-1"], "band") == []
    assert not any("error_x" in trace for trace in charts["ranking-1"].traces)
