"""Tables of more learners than fit on a screen."""

from goalbound.experiments.report import report_data, report_page
from tests.support.many_learners import given


def test_differences_are_folded():
    page = report_page(report_data(**given()))
    assert "<details><summary>Differences of expected regret: 28 pairs of learners</summary>" in page  # of 8 learners
