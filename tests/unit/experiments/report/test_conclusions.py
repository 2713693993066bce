"""A report on more learners than one can speak of one by one: their order, what it rests on, what it does not show."""

import pytest

from goalbound.experiments.report import report_data, report_page
from goalbound.experiments.report.phrases import deviations
from tests.support.many_learners import given
from tests.support.report_cases import case, spec


@pytest.fixture(scope="module")
def data():
    return report_data(**given())


@pytest.fixture(scope="module")
def said(data):
    return data["phrases"]["conclusions"][0]["sentences"]


def test_who_cannot_be_distinguished_from_the_first_of_a_place_shares_it(said):
    # greedy: 40 against 50 and 55 with differences of -50 to 40 and so on: not told apart; 90 - (10, 10, 100) is
    # (80, 80, -10), not told apart either. narrow less greedy is (190, 200, 120): a place of its own, as 28 p < 0.05.
    assert said[1] == (
        "By regret, the learners form 5 groups; no learner is significantly worse than the first of its group: "
        "(1) greedy 40, 0.1 x UC 50, PSRL 55.0, PS 90; (2) narrow 210.0; (3) UC 400; (4) wide 500; (5) ULCVI 900*. "
        "An asterisk marks abandoned episodes: the true regret is larger."
    )
    assert said[-1].startswith("Episodes abandoned at the step limit, over all seeds: 24 by ULCVI. The true regret")


def test_the_first_of_those_with_constants_of_papers_and_of_those_who_see_only_cells_are_named(said):
    # PSRL: half of its band is 5, whose second digit is the first decimal.
    assert "Of the learners with proven constants, PSRL did best: 55.0 (50.0 to 60.0), 1.4 times the least." in said
    cells = "Of the learners that see only the cell of the context, 0.1 x UC did best: 50 (50 to 50), 1.2 times"
    assert any(one.startswith(cells) for one in said)
    assert any(one.startswith("Of the learners that never see the context, PSRL did best") for one in said)


def test_a_winner_without_a_guarantee_is_marked_and_a_single_bad_seed_is_reported(said, data):
    answer = data["phrases"]["conclusions"][0]["answer"]
    assert answer[0] == (
        "After 10,000 episodes, greedy (no guarantee) had the least expected regret: 40 (10 to 70), against 50 (50 to "
        "50) for 0.1 x UC, the runner-up."
    )
    assert answer[1].startswith("The lead of 10 (")
    assert (
        "may be chance (less on 4 of 6 seeds; paired t test, p = 0.87 after Holm's correction for 28 pairs)"
        in answer[1]
    )
    # 100 on seed 2 is ten times the median 10 (five times would not be enough), and a tenth of the optimal loss.
    assert "Single seeds went far worse than the median: greedy on 2 of 6 seeds (100 on seed 2, median 10)." in said


def test_what_the_comparison_does_not_show_is_said_on_the_page(data):
    caveat = data["phrases"]["caveat"]
    assert "has no guarantee" in caveat
    assert "have no guarantee where contexts differ" in caveat  # UC sees cells
    assert caveat.split(".")[0] in report_page(data)
    alone = report_data(**case(spec(learners=[{"use": "lr-cssp", "label": "wide"}])))
    assert alone["phrases"]["caveat"] == ""


def test_scales_of_all_learners_are_departures_and_stand_under_the_figure(data):
    away = ["A greedy", "C narrow", "D 0.1 x UC", "H PS"]
    assert [one.partition(":")[0] for one in deviations(data)] == away
    page = report_page(data)
    assert "D: radii: 0.1 x its paper, not proven; delta 0.1" in page
    assert "E: radii: its paper; delta 0.1" in page
