"""What a report says, against experiments made by hand; that a browser shows it is tested in tests/browser."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

from goalbound.experiments.report import report_data, report_page, write_report
from goalbound.experiments.report.data import POINTS
from goalbound.experiments.report.phrases import describe_problem, deviations
from goalbound.experiments.report.sections import _powers
from goalbound.experiments.summary import summarize
from tests.support.report_cases import EPISODES, case, made, spec
from tests.support.synthetic import simplex

HOSTILE = '</script><img src=x onerror="alert(1)">{{data}} & <b>'


@pytest.fixture(scope="module")
def data():
    return report_data(**case())


@pytest.fixture(scope="module")
def page(data):
    return report_page(data)


class Outline(HTMLParser):
    """Tags with their attributes, and all text outside of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.texts.append(data)


def result_of(data, problem, learner):
    panel = next(one for one in data["panels"] if one["problem"] == problem)
    return panel, next(one for one in panel["results"] if data["learners"][one["learner"]]["label"] == learner)


def sentences(data, place=0):
    return " ".join(data["phrases"]["conclusions"][place]["sentences"])


def test_a_curve_is_the_mean_over_seeds_at_kept_episodes_and_ends_at_the_last(data):
    panel, result = result_of(data, "flat", "wide")
    episode = np.array(panel["episode"])
    assert len(episode) <= POINTS
    assert (episode[0], episode[-1]) == (1, EPISODES)
    # Seeds 0, 1, 2 have 1, 1.1 and 1.2 times 40 sqrt(K): the mean is 44 sqrt(K).
    np.testing.assert_allclose(result["regret"]["values"], 44.0 * np.sqrt(episode), rtol=1e-5)
    # Of three seeds the band is the range: see bootstrap.estimate.
    np.testing.assert_allclose(result["regret"]["low"], 40.0 * np.sqrt(episode), rtol=1e-5)
    np.testing.assert_allclose(result["regret"]["high"], 48.0 * np.sqrt(episode), rtol=1e-5)


def test_shares_of_known_steps_and_intervals_are_those_of_all_steps_so_far(data):
    panel, result = result_of(data, "ladder", "narrow")
    episode = np.array(panel["episode"])
    # Made by hand: 3 steps and 2 intervals an episode, the first 30 episodes with one unknown step each.
    np.testing.assert_allclose(result["known"]["values"], 1.0 - np.minimum(episode, 30) / (3 * episode), rtol=1e-5)
    np.testing.assert_allclose(result["intervals"]["values"], 2.0)


def test_data_is_plain_json_without_nan(data):
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_learners_have_tags_in_the_order_of_the_file(data):
    assert [(one["tag"], one["label"]) for one in data["learners"]] == [
        ("A", "wide"), ("B", "narrow"), ("C", "blind"), ("D", "clairvoyant"),
    ]  # fmt: skip
    assert [one["card"]["sees"] for one in data["learners"]] == ["contexts", "contexts", "nothing", "truth"]


def test_the_answer_names_who_has_least_regret_by_how_much_and_how_it_grows(data):
    said = sentences(data)
    # 1.1 x 10 x sqrt(10000) = 1,100; of three seeds the band is 1,000 to 1,200. Differences: 4,400 - 1,100 = 3,300.
    assert (
        "narrow (widths not proven) has the least expected regret after 10,000 episodes: 1,100 (1,000 to 1,200)" in said
    )
    assert "The others: wide: 4,400 (4,000 to 4,800); blind: 11,000 (10,000 to 12,000)." in said
    # Gaps 3,000, 3,300, 3,600: t = 3,300 / (300 / sqrt(3)) = 19.05 with two degrees of freedom has p = 0.0027, and so
    # have the other two pairs, whose gaps are also 1, 1.1 and 1.2 times a number: corrected 0.0082.
    assert (
        "narrow and wide cannot be told apart by 3 seeds on the same contexts: narrow has 3,300 less (less on 3 of 3 "
        "seeds; p = 0.0082, corrected for 3 pairs; it takes 6 seeds)." in said
    )
    assert "K^0.50 (0.50 to 0.50) for narrow" in said
    assert "K^1.00 (1.00 to 1.00) for blind" in said
    assert data["phrases"]["headline"] == (
        "Least expected regret: narrow (widths not proven) in 2 of 2 settings; told apart from the next in 0 of 2."
    )


def test_the_answer_says_where_bounds_and_sets_failed(data):
    said = sentences(data)
    # The bound made by hand is 500, below the realised regret of all seeds (4,800 / 500 = 9.6).
    assert (
        "wide: its confidence sets held the truth throughout in 3 of 3 runs; its realised regret is below its" in said
    )
    assert "in 0 of 3 runs (up to 9.6 times it)" in said
    assert "narrow: its confidence sets held the truth throughout in 0 of 3 runs (25% of the intervals)" in said
    assert "not proven for its widths" in said
    assert "No episode was abandoned." in said


def test_the_clairvoyant_wins_no_comparison_and_has_no_field(data):
    assert "clairvoyant" not in sentences(data)
    _, result = result_of(data, "flat", "clairvoyant")
    assert result["simplex"] is None
    assert set(result["regret"]["values"]) == {0}


def test_learners_whose_difference_may_be_zero_are_not_ranked():
    given = case()
    given["records"] = deepcopy(given["records"])
    gaps = {0: 10.0, 1: 10.0, 2: -5.0}  # of wide beyond narrow; the range, which is the band of three seeds, has 0
    wide = {(one.spec.problem.label, one.spec.seed): one.metadata["totals"]["expected_regret"]
            for one in given["records"] if one.spec.learner.label == "wide"}  # fmt: skip
    for one in given["records"]:
        if one.spec.learner.label == "narrow":
            total = wide[one.spec.problem.label, one.spec.seed] - gaps[one.spec.seed]
            one.metadata["totals"]["expected_regret"] = total
    given["summary"] = summarize(given["records"], runs=given["spec"].runs())
    said = sentences(report_data(**given))
    assert "narrow and wide cannot be told apart by 3 seeds" in said
    assert "on the same contexts: narrow has 5 less (less on 2 of 3 seeds" in said  # (10 + 10 - 5) / 3


def test_one_seed_is_reported_as_one_seed():
    data = report_data(**case(spec(seeds=1)))
    _, result = result_of(data, "flat", "wide")
    assert result["regret"]["low"] is None
    assert "There is one seed: no bands" in " ".join(data["phrases"]["setup"])
    assert "Of narrow and wide nothing can be said by one seed: on it narrow has 3,000 less" in sentences(data)
    assert "(95% band)" not in report_page(data)


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


def test_two_components_are_a_line_and_hold_every_episode(data):
    _, result = result_of(data, "flat", "wide")
    (field,) = result["simplex"]
    assert len(field["count"]) == 12
    assert sum(field["count"]) == 3 * EPISODES
    # Made by hand: the regret of an episode is the square of the first component, so a cell's is inside its ends.
    assert (10 / 12) ** 2 <= field["value"][10] <= (11 / 12) ** 2


def test_three_components_are_a_triangle_of_cells_and_its_edge_is_not_lost(data):
    _, result = result_of(data, "ladder", "wide")
    (field,) = result["simplex"]
    assert len(field["count"]) == 12 * 13 // 2
    assert sum(field["count"]) == 3 * EPISODES
    run = next(run for run in spec(seeds=1).runs() if run.problem.label == "ladder")
    edge = deepcopy(made(run))
    count = np.zeros((12, 12))
    count[6, 6] = EPISODES  # the context (1/2, 1/2, 0)
    edge.metadata["simplex"] |= {"count": [count.ravel().tolist()] * 3, "expected_regret": [count.ravel().tolist()] * 3}
    data = report_data(spec(seeds=1), case(spec(seeds=1))["summary"], [edge])
    (field,) = data["panels"][0]["results"][0]["simplex"]
    rows = np.cumsum([0, *range(12, 0, -1)])
    assert field["count"][rows[5] + 6] == EPISODES  # cell (5, 6), which has that point as a corner
    assert field["value"][rows[5] + 6] == 1.0


def test_more_components_have_a_field_for_each_pair():
    data = report_data(**case(spec(seeds=1), context_size=5))
    panel = data["panels"][0]
    assert [field["components"] for field in panel["results"][0]["simplex"]] == simplex(5, 1)["pairs"]
    assert panel["components"] == [f"component {one}" for one in range(1, 6)]
    assert "<select data-learner>" in report_page(data)


def test_one_component_has_no_field():
    data = report_data(**case(spec(seeds=1), context_size=1))
    assert data["panels"][0]["results"][0]["simplex"] is None
    assert "Contexts of one component" in report_page(data)


def test_learned_policies_are_means_over_seeds_and_count_those_that_are_not_proper(data):
    panel, result = result_of(data, "flat", "wide")
    policy = result["policy"]
    assert len(panel["policies"]["contexts"]) == len(policy["gap"]) == 41
    assert policy["improper"] == [0] * 40 + [3]
    assert policy["gap"][-1] is None
    second = panel["policies"]["contexts"][20][1]
    assert policy["gap"][20] == pytest.approx(0.3 * second**3, rel=1e-3)


def test_failed_and_missing_runs_are_distinguished():
    asked = spec()
    runs = asked.runs()
    failed, missing = runs[0], runs[-1]
    failure = {
        "id": failed.id,
        "error": "PlanningStopped: no end",
        "traceback": "Traceback ...",
        "spec": failed.as_json(),
    }
    given = case(asked, only=lambda run: run.id not in (failed.id, missing.id), failures=[failure])
    data = report_data(**given)
    (given,) = data["failures"]
    assert (given["learner"], given["problem"], given["seed"], given["error"]) == ("wide", "flat", 0, failure["error"])
    (left,) = data["missing"]
    assert (left["learner"], left["problem"], left["seeds"]) == ("clairvoyant", "ladder", [2])
    assert "22 of the 24 runs have a result." in data["phrases"]["setup"][0]
    page = report_page(data)
    assert "PlanningStopped: no end" in page
    assert "not run yet" in page
    assert "2 of 3" in page


def test_a_failure_of_a_run_that_has_a_record_by_now_is_forgotten():
    asked = spec()
    run = asked.runs()[0]
    data = report_data(**case(asked, failures=[{"id": run.id, "error": "old", "traceback": "", "spec": run.as_json()}]))
    assert data["failures"] == []


def test_an_experiment_without_any_record_has_a_page_too():
    page = report_page(report_data(**case(only=lambda _: False)))
    assert "No run has a result yet." in page
    assert "0 of the 24 runs have a result." in page


def test_labels_cannot_break_out_of_the_page():
    things = [{"use": "lr-cssp", "label": HOSTILE}]
    asked = spec(question=HOSTILE, seeds=2, learners=things, problems=[{"use": "random", "label": HOSTILE}])
    run = asked.runs()[0]
    failure = {"id": run.id, "error": HOSTILE, "traceback": HOSTILE, "spec": run.as_json()}
    page = report_page(report_data(**case(asked, only=lambda one: one.id != run.id, failures=[failure])))
    outline = Outline(page)
    assert [tag for tag, _ in outline.tags if tag == "img"] == []
    assert sum(tag == "script" for tag, _ in outline.tags) == 2
    assert not [name for _, attributes in outline.tags for name in attributes if name.startswith("on")]
    assert HOSTILE in "".join(outline.texts)  # it is shown, as the text it is
    found = json.loads(re.search(r'id="report-data">(.*?)</script>', page, re.DOTALL)[1])
    assert found["question"] == HOSTILE


def test_the_page_asks_for_nothing_and_runs_only_its_own_script(page):
    outline = Outline(page)
    assert not [attributes for tag, attributes in outline.tags if "src" in attributes]
    assert [attributes["href"] for tag, attributes in outline.tags if tag == "link"] == ["data:,"]
    assert not re.search(r"""url\((?!#)|@import|https?://(?!www\.w3\.org/2000/svg)""", page)
    policy = next(attributes["content"] for tag, attributes in outline.tags if attributes.get("http-equiv"))
    assert "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy


def test_the_page_has_headings_in_order_and_tables_with_captions_and_scopes(page):
    tags = [tag for tag, _ in Outline(page).tags]
    levels = [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert tags.count("table") == tags.count("caption")
    assert all("scope" in attributes for tag, attributes in Outline(page).tags if tag == "th" and attributes)


def test_the_table_has_the_numbers_of_the_summary_and_sorts_by_them(page):
    row = re.search(r"<tr><th scope=\"row\" class=\"text\"><b class=\"tag\">B</b> narrow</th>.*?</tr>", page)[0]
    assert 'data-value="1100">1,100 <small>(1,000 to 1,200)</small>' in row
    assert 'data-value="0.11">0.11' in row  # 1,100 / 10,000 episodes
    assert "0 of 3 runs" in row
    assert 'data-value="5e-05">50' in row  # 1.5 s / 30,000 steps, in microseconds


def test_a_report_is_small_and_the_same_every_time(tmp_path):
    given = case()
    paths = [write_report(tmp_path / name, **given) for name in ("one.html", "two.html")]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[0].stat().st_size < 1_500_000


@pytest.mark.parametrize("text", ["K^0.5.", "K^1.19 (1 to 2)"])
def test_powers_are_written_as_powers(text):
    number = text[2:].split(" ")[0].rstrip(".")
    assert _powers(text) == f"K<sup>{number}</sup>{text[2 + len(number) :]}"
