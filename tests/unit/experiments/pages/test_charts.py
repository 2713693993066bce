"""Charts as plain values."""

import json

from goalbound.experiments.pages.charts import Chart, axis, band, bars, line, plain, point
from goalbound.experiments.pages.style import line_style

HOSTILE = '<a href="javascript:alert(1)">x</a>'


def test_a_chart_is_plain_json_with_all_that_the_page_reads():
    chart = Chart(name="c", title="t", traces=[line("a", [1.0], [2.0], line_style(0))], layout={"xaxis": axis("k")})
    found = json.loads(json.dumps(chart.as_json(), allow_nan=False))
    assert set(found) == {"title", "traces", "layout", "height", "columns", "options"}
    assert found["traces"][0]["y"] == [2.0]


def test_names_are_shown_as_the_text_they_are():
    style = line_style(0)
    traces = [
        line(HOSTILE, [1.0], [1.0], style), *band(HOSTILE, [1.0], [1.0], [1.0], style), point(HOSTILE, 1.0, 0, style),
        bars(HOSTILE, [1], [1], "var(--c0)"),
    ]  # fmt: skip
    assert {trace["name"] for trace in traces} == {plain(HOSTILE)}
    assert "<a" not in json.dumps(traces)
    assert axis(HOSTILE)["title"]["text"] == plain(HOSTILE)


def test_a_line_and_its_band_have_the_style_of_their_place():
    style = line_style(3)
    drawn = line("a", "k", [1.0, 2.0], style, learner=3)
    assert (drawn["line"]["color"], drawn["line"]["dash"]) == ("var(--c3)", "14px,4px,3px,4px")
    assert drawn["marker"]["symbol"] == "diamond"
    low, high = band("a", "k", [0.0, 1.0], [2.0, 3.0], style, learner=3)
    assert (low["meta"]["end"], high["meta"]["end"]) == ("low", "high")
    assert high["fill"] == "tonexty"
    assert not low["showlegend"]
    assert not high["showlegend"]
