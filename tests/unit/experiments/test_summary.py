"""Means, bands, growth and comparisons, against numbers that can be checked by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest

from goalbound.experiments.summary import summarize
from tests.support.synthetic import diagnosis, power, record, run_spec


def flat(total):
    """The same regret from the first episode on."""
    return power(total, 0.0)


def test_the_mean_over_seeds_and_the_band_of_two_seeds_are_those_of_arithmetic():
    runs = [record(run_spec(seed=seed), flat(total)) for seed, total in enumerate([10.0, 30.0])]
    (group,) = summarize(runs).groups
    assert group.seeds == (0, 1)
    assert group.expected_regret.mean == 20.0
    # Of two seeds the resampled mean is 10, 20 or 30 with probability 1/4, 1/2, 1/4: 2.5% and 97.5% are the ends.
    assert (group.expected_regret.low, group.expected_regret.high) == (10.0, 30.0)
    assert group.loss_share.mean == pytest.approx((110.0 / 100.0 + 130.0 / 100.0) / 2.0)
    assert group.steps.mean == 300.0
    assert group.intervals.mean == 200.0
    assert group.known_share.mean == pytest.approx(1.0 - 30.0 / 300.0)
    assert group.abandoned.mean == 0.0


def test_one_seed_has_a_value_and_no_band_and_says_so():
    (group,) = summarize([record(run_spec(), flat(10.0))]).groups
    assert (group.expected_regret.mean, group.expected_regret.low) == (10.0, None)
    assert group.expected_regret.note == "one seed: no band"
    assert group.regret_curve.low is None
    assert "nothing can be said of who is ahead" in summarize([record(run_spec(), flat(10.0))]).table()


def test_a_curve_has_the_mean_and_a_band_at_each_mark():
    runs = [record(run_spec(seed=seed), power(factor, 0.5)) for seed, factor in enumerate([1.0, 3.0])]
    curve = summarize(runs).groups[0].regret_curve
    np.testing.assert_allclose(curve.mean, 2.0 * np.sqrt(curve.episode))
    np.testing.assert_allclose(curve.low, np.sqrt(curve.episode))
    np.testing.assert_allclose(curve.high, 3.0 * np.sqrt(curve.episode))


def test_only_common_seeds_are_paired_and_what_is_missing_is_listed():
    runs = [record(run_spec("A", seed=seed), flat(10.0)) for seed in (0, 1, 2)]
    runs += [record(run_spec("B", seed=seed), flat(20.0)) for seed in (0, 2)]
    summary = summarize(runs)
    assert summary.differences[0].seeds == (0, 2)
    assert summary.groups[1].missing == (1,)
    assert [str(one) for one in summary.missing] == ["B on P, C: no record of seed 1"]
    assert "2 of 3" in summary.table(width=120)


def test_coverage_terms_and_bounds_are_those_of_the_watched_runs():
    seen = [diagnosis(covered=True, coverage=1.0), diagnosis(covered=False, coverage=0.98)]
    runs = [record(run_spec(seed=seed), flat(1.0), metadata={"diagnosis": one}) for seed, one in enumerate(seen)]
    (group,) = summarize(runs).groups
    assert group.covered.mean == 0.5
    assert group.coverage.mean == pytest.approx(0.99)
    assert group.decomposition["dynamics"].mean == 20.0
    assert group.bounds["measured"].mean == 500.0
    assert group.bounds["lemma"].mean is None
    unwatched = summarize([record(run_spec(), flat(1.0))]).groups[0]
    assert unwatched.covered.note == "the learner is not audited"
    assert unwatched.decomposition == {}


def test_the_json_is_strict_complete_and_the_same_each_time(tmp_path):
    runs = [record(run_spec(name, seed=seed), power(1.0 + seed, 0.5)) for name in "AB" for seed in range(2)]
    for name in ("one.json", "two.json"):
        summarize(runs).to_json(tmp_path / name)
    content = (tmp_path / "one.json").read_bytes()
    assert content == (tmp_path / "two.json").read_bytes()
    values = json.loads(content)
    assert values["groups"][0]["regret_curve"]["episode"][-1] == 100
    assert values["differences"][0]["statement"] == "A and B are equal on the same contexts (2 seeds)"
