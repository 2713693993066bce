"""The conclusions about few learners."""

from __future__ import annotations

from copy import deepcopy

from goalbound.experiments.report import report_data, report_page
from goalbound.experiments.summary import summarize
from tests.support.report_cases import case, result_of, sentences, spec


def test_the_answer_names_who_has_least_regret_by_how_much_and_how_it_grows(data):
    said = sentences(data)
    # 1.1 x 10 x sqrt(10000) = 1,100; of three seeds the band is 1,000 to 1,200. Differences: 4,400 - 1,100 = 3,300.
    assert said.startswith(
        "After 10,000 episodes, narrow (widths not proven) had the least expected regret: 1,100 (1,000 to 1,200), "
        "against 4,400 (4,000 to 4,800) for wide, the runner-up."
    )
    assert "Of the others, blind had 11,000 (10,000 to 12,000)." in said
    # Gaps 3,000, 3,300, 3,600: t = 3,300 / (300 / sqrt(3)) = 19.05 with two degrees of freedom has p = 0.0027, and so
    # have the other two pairs, whose gaps are also 1, 1.1 and 1.2 times a number: corrected 0.0082.
    assert (
        "The lead of 3,300 may be chance (less on 3 of 3 seeds; paired t test, p = 0.0082 after Holm's correction for "
        "3 pairs; it takes 6 seeds)." in said
    )
    assert "Whether narrow is ahead of blind cannot be said with these seeds." in said
    assert "K^0.50 (0.50 to 0.50) for narrow" in said
    assert "K^1.00 (1.00 to 1.00) for blind" in said
    assert data["phrases"]["headline"] == (
        "Least expected regret, over 2 settings: narrow (widths not proven) in 2. The lead over the runner-up is "
        "significant in 0 of 2."
    )


def test_the_answer_says_where_bounds_and_sets_failed(data):
    said = sentences(data)
    # The bound made by hand is 500, below the realised regret of all seeds (4,800 / 500 = 9.6).
    assert (
        "wide: the confidence sets held the truth throughout in 3 of 3 runs; the realised regret is below the" in said
    )
    assert "in 0 of 3 runs (up to 9.6 times it)" in said
    assert "narrow: the confidence sets held the truth throughout in 0 of 3 runs, and in 25% of the intervals" in said
    assert "for these widths the bound is not proven" in said
    assert "No episode was abandoned." in said


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
    assert "The lead of 5 may be chance (less on 2 of 3 seeds" in said  # (10 + 10 - 5) / 3


def test_one_seed_is_reported_as_one_seed():
    data = report_data(**case(spec(seeds=1)))
    _, result = result_of(data, "flat", "wide")
    assert result["regret"]["low"] is None
    assert "There is one seed: no bands" in " ".join(data["phrases"]["setup"])
    assert "There is one seed, so nothing can be said about chance." in sentences(data)
    assert 'data-role="band"' not in report_page(data)
