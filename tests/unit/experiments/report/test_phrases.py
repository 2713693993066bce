"""Sentences about problems and constants."""

from __future__ import annotations

from goalbound.experiments.report import report_data, report_page
from goalbound.experiments.report.phrases import describe_problem, deviations
from tests.support.report_cases import case, spec


def test_every_scale_away_from_the_paper_is_named(data, page):
    (said,) = deviations(data)
    assert said.startswith("B narrow: widths: 0.1 x paper, not proven")
    assert "Constants that deviate from the paper" in page
    alone = report_data(**case(spec(learners=[{"use": "lr-cssp", "label": "wide"}])))
    assert deviations(alone) == []
    assert "All constants are those of the paper." in report_page(alone)


def test_certified_bounds_say_how_close_they_are():
    size = {"states": 4, "loss_bound": 3.0, "time_bound": 9.0}
    old = describe_problem({"size": size})
    assert "the best policy loses at most 3 and takes at most 9 steps, in the mean." in old
    assert old.endswith("These are upper ends; the true ones may be smaller.")
    close = {"loss_bound_lower": 2.8, "time_bound_lower": 8.5, "bounds_tolerance": 0.1}
    said = describe_problem({"size": size | close})
    assert "takes at most 9 steps (and under some context from some state 8.5 or more)" in said
    assert said.endswith("These are upper ends, to within 10%; context_bounds comes to within 1%.")
