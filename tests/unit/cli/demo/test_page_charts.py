"""The charts of the demo."""

import pytest

from goalbound.cli.demo.page import regret_chart


def lines(chart):
    return [trace for trace in chart.traces if trace["meta"]["role"] == "line"]


def test_lines_are_distinguished_without_colour(learned):
    shown = lines(regret_chart(learned))
    assert [trace["name"] for trace in shown] == [run.name for run in learned.runs]
    assert len({trace["line"]["dash"] for trace in shown}) == 3
    assert len({trace["marker"]["symbol"] for trace in shown}) == 3


def test_a_curve_ends_at_the_regret_and_has_axes_with_names(learned):
    chart = regret_chart(learned)
    for trace, run in zip(lines(chart), learned.runs, strict=True):
        assert (trace["x"][-1], trace["y"][-1]) == pytest.approx((learned.episodes, run.regret), rel=1e-6)
    assert chart.layout["xaxis"]["title"]["text"] == "patients so far, K"
    assert chart.layout["yaxis"]["type"] == "log"
