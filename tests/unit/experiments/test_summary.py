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


def test_learners_are_compared_seed_by_seed():
    noise = [0.0, 100.0, 50.0, 80.0]
    ours = [record(run_spec("A", seed=seed), flat(10.0 + noise[seed])) for seed in range(4)]
    theirs = [record(run_spec("B", seed=seed), flat(13.0 + noise[seed] + seed)) for seed in range(4)]
    summary = summarize([*ours, *theirs])
    (difference,) = summary.differences
    # The differences are 3, 4, 5, 6 though the regrets of one learner differ by 100.
    assert difference.difference.mean == 4.5
    assert difference.difference.values == (3.0, 4.0, 5.0, 6.0)
    assert (difference.better, difference.worse, difference.wins) == ("A", "B", 4)


def test_only_common_seeds_are_paired_and_what_is_missing_is_listed():
    runs = [record(run_spec("A", seed=seed), flat(10.0)) for seed in (0, 1, 2)]
    runs += [record(run_spec("B", seed=seed), flat(20.0)) for seed in (0, 2)]
    summary = summarize(runs)
    assert summary.differences[0].seeds == (0, 2)
    assert summary.groups[1].missing == (1,)
    assert [str(one) for one in summary.missing] == ["B on P, C: no record of seed 1"]
    assert "2 of 3" in summary.table(width=120)


def test_different_things_of_one_label_are_distinguished_by_their_settings():
    specs = [run_spec(settings={"scale": scale, "delta": 0.1}, label="LR") for scale in (1.0, 0.1)]
    summary = summarize([record(spec, flat(10.0)) for spec in specs])
    assert [group.learner for group in summary.groups] == ["LR (scale 1.0)", "LR (scale 0.1)"]
    assert len(summary.differences) == 1
    longer = [record(run_spec(episodes=episodes), flat(1.0)) for episodes in (100, 200)]
    groups = summarize(longer).groups
    assert [group.problem for group in groups] == ["P (episodes 100)", "P (episodes 200)"]
    assert summarize(longer).differences == ()


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
