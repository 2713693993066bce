"""The data of a report."""

from __future__ import annotations

import numpy as np

from goalbound.experiments.report import report_data, report_page
from goalbound.experiments.report.curves import POINTS
from tests.support.report_cases import EPISODES, case, result_of, sentences, spec


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


def test_the_clairvoyant_wins_no_comparison_and_has_no_field(data):
    assert "clairvoyant" not in sentences(data)
    _, result = result_of(data, "flat", "clairvoyant")
    assert result["simplex"] is None
    assert set(result["regret"]["values"]) == {0}


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
