"""Who is ahead: only where a corrected test and the interval of the difference agree, in the same words everywhere."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from goalbound.experiments.comparisons import AHEAD, METHOD, Difference, difference, holm, paired_t
from goalbound.experiments.registry.learners import catalogued_card
from goalbound.experiments.report import report_data, report_page
from goalbound.experiments.summary import Summary, summarize
from goalbound.experiments.text import format_estimate
from tests.support.report_cases import case, spec
from tests.support.synthetic import power, record, run_spec


def played(regrets: dict[str, list[float]], **changes: str) -> Summary:
    """Learners by name, with the expected regret of each seed."""
    return summarize(
        record(run_spec(name, seed=seed, **changes), power(total, 0.0))
        for name, totals in regrets.items()
        for seed, total in enumerate(totals)
    )


def statements(summary: Summary) -> list[str]:
    return [one.statement(format_estimate) for one in summary.differences]


def two(gaps: list[float]) -> Summary:
    return played({"A": [100.0] * len(gaps), "B": [100.0 + gap for gap in gaps]})


def test_one_learner_is_ahead_where_test_and_interval_agree() -> None:
    gaps = [3.0, 4.0, 5.0, 6.0, 4.0, 5.0]
    summary = two(gaps)
    # t test of scipy; of six values the interval of sign flips is the range, 3 to 6.
    expected = stats.ttest_1samp(gaps, 0.0).pvalue
    assert summary.differences[0].p_value == pytest.approx(expected)
    assert statements(summary) == [
        f"A is ahead of B by 4.5 [3, 6] on the same contexts (less on 6 of 6 seeds; p = {expected:.2g}, corrected for "
        "1 pair)"
    ]


@pytest.mark.parametrize("gaps", [[5.0, -4.0, 3.0], [3.0, 4.0, 5.0], [3.0, 3.0], [9.0, 8.0, 7.0, 9.0, -8.0, 9.0, 1.0]])
def test_few_or_mixed_seeds_tell_nobody_apart(gaps: list[float]) -> None:
    (said,) = statements(two(gaps))
    assert said.startswith(f"A and B cannot be told apart by {len(gaps)} seeds on the same contexts: A has ")
    assert ("; it takes 6 seeds)" in said) == (len(gaps) < 6)


def test_what_one_pair_may_say_ten_pairs_may_not() -> None:
    gaps = [1.0, 9.0, 2.0, 8.0, 1.5, 7.0]  # p = 0.02 by the t test
    assert paired_t(gaps) == pytest.approx(stats.ttest_1samp(gaps, 0.0).pvalue)
    assert two(gaps).differences[0].verdict == AHEAD
    other = [[100.0 + 40.0 * np.sin(7 * at + seed) for seed in range(6)] for at in range(3)]
    five = played({"A": [100.0] * 6, "B": [100.0 + gap for gap in gaps], **dict(zip("CDE", other, strict=True))})
    found = next(one for one in five.differences if {one.better, one.worse} == {"A", "B"})
    assert (len(five.differences), found.pairs) == (10, 10)
    assert found.p_value == pytest.approx(paired_t(gaps))
    assert found.corrected > 0.05
    assert "cannot be told apart" in found.statement(format_estimate)


def test_holm_multiplies_the_smallest_by_all_the_next_by_one_less_and_never_falls() -> None:
    found = [with_p(value) for value in (0.01, 0.04, 0.03, None)]
    # Sorted 0.01, 0.03, 0.04: times 3, 2, 1 is 0.03, 0.06, 0.04, and the last may not be below the one before.
    corrected = [one.corrected for one in holm(found)]
    assert corrected == [pytest.approx(0.03), pytest.approx(0.06), pytest.approx(0.06), None]
    assert {one.pairs for one in holm(found)} == {3}
    assert holm([]) == []


def with_p(value: float | None) -> Difference:
    gaps = [1.0] if value is None else [1.0, 2.0]
    made_up = difference(("P", "C"), ("A", [0.0] * len(gaps)), ("B", gaps), (0,), same_contexts=True)
    return made_up.__class__(**{**vars(made_up), "p_value": value})


def test_problems_are_families_of_their_own() -> None:
    records = [
        record(run_spec(name, seed=seed, problem=problem), power(total + seed, 0.0))
        for problem in ("P", "Q") for name, total in (("A", 1.0), ("B", 5.0), ("C", 9.0)) for seed in range(2)
    ]  # fmt: skip
    assert {one.pairs for one in summarize(records).differences} == {3}


def test_who_knows_the_problem_is_compared_with_nobody_and_counts_in_no_correction() -> None:
    oracle = {"card": catalogued_card("clairvoyant").as_json()}
    runs = [record(run_spec(name, seed=seed), power(1.0 + seed, 0.0)) for name in "AB" for seed in range(2)]
    runs += [record(run_spec("all-knowing", seed=seed), power(0.0, 0.0), metadata=oracle) for seed in range(2)]
    (found,) = summarize(runs).differences
    assert (found.better, found.worse, found.pairs) == ("A", "B", 1)


def test_terminal_json_csv_and_page_say_the_same_of_who_is_ahead(tmp_path: Path) -> None:
    asked = spec(seeds=6, problems=[{"use": "random", "label": "flat"}])
    given = case(asked)
    summary = given["summary"]
    found = {(one.better, one.worse): one.verdict for one in summary.differences}
    assert found == {("narrow", "wide"): AHEAD, ("wide", "blind"): AHEAD, ("narrow", "blind"): AHEAD}
    summary.to_csv(tmp_path / "summary.csv")
    summary.to_json(tmp_path / "summary.json")
    rows = list(csv.DictReader((tmp_path / "summary.csv").read_text().splitlines()))
    assert {row["learner"]: row["ahead_of"] for row in rows} == {
        "wide": "blind", "narrow": "wide; blind", "blind": "", "clairvoyant": "",
    }  # fmt: skip
    values = json.loads((tmp_path / "summary.json").read_text())["differences"]
    assert [one["verdict"] for one in values] == [AHEAD] * 3
    text = " ".join(summary.table(width=300).split())
    assert all(one["statement"] in text for one in values)
    assert " ".join(METHOD.split()) in text
    data = report_data(**given)
    conclusions = data["phrases"]["conclusions"][0]
    said = " ".join([*conclusions["answer"], *conclusions["sentences"]])
    assert "The lead of 3,750 (3,000 to 4,500) is significant (less on 6 of 6 seeds; paired t test, p = " in said
    assert "narrow is significantly ahead of blind." in said
    assert METHOD in data["phrases"]["setup"]
    assert METHOD in report_page(data)
