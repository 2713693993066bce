"""Tables of more learners than fit on a screen."""

import pytest

from goalbound.experiments.report import report_data, report_page
from goalbound.experiments.summary import summarize
from tests.support.many_learners import LEARNERS, given
from tests.support.report_cases import case, spec


@pytest.fixture(scope="module")
def data():
    return report_data(**given())


def test_many_differences_are_folded_and_all_learners_can_be_hidden_at_once(data):
    page = report_page(data)
    assert '<button type="button" class="key" data-all="none">none</button>' in page
    assert "<details><summary>Differences" not in page  # 8 learners: 28 pairs
    both = given()
    both["spec"] = spec(learners=LEARNERS)
    both["records"] = case(both["spec"])["records"]
    both["summary"] = summarize(both["records"], runs=both["spec"].runs())
    assert "<details><summary>Differences of expected regret: 56 pairs of learners</summary>" in report_page(
        report_data(**both)
    )
