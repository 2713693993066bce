"""Incidents: the curves at the knots, the runbook, and logs whose frequencies are those of the problem."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from goalbound.adapters.covariates import Hats, Periodic, Tensor
from goalbound.planning import evaluate, is_proper, solve
from goalbound.problems import incident_contexts, incident_log, incident_recovery, runbook
from goalbound.problems.incidents import RUNBOOK

PROBLEM = incident_recovery()


def test_the_contexts_are_those_of_the_map_that_the_documentation_names() -> None:
    map = Tensor([Periodic.even(24, count=4, start=3), Hats([0, 0.5, 1])], ["hour", "traffic"])
    assert map.names == PROBLEM.component_names
    rng = np.random.default_rng(0)
    hour, traffic = rng.uniform(-30, 60, 200), rng.random(200)
    np.testing.assert_allclose(
        incident_contexts(PROBLEM, hour, traffic), map.many({"hour": hour, "traffic": traffic}), atol=1e-14
    )


def test_to_page_is_proper_everywhere_and_takes_at_most_what_is_documented() -> None:
    support = PROBLEM.support
    page = np.full(support.states, support.action("page expert"))
    for context in np.eye(PROBLEM.context_size):
        assert is_proper(PROBLEM.at(context), page)
    worst = 60 * evaluate(PROBLEM.at(incident_contexts(PROBLEM, 3, 1.0)), page).values.max()
    assert worst == pytest.approx(45 + 0.55 * 45 / 0.8)
    assert 60 * PROBLEM.losses.min() == pytest.approx(5.0)
    assert PROBLEM.loss_scale == 60.0


def test_the_runbook_is_fine_on_a_quiet_morning_and_far_from_the_best_under_load() -> None:
    book = runbook(PROBLEM)
    minutes = {}
    for hour, traffic in ((9, 0.5), (15, 1.0), (3, 0.0)):
        ssp = PROBLEM.at(incident_contexts(PROBLEM, hour, traffic))
        minutes[hour] = 60 * evaluate(ssp, book).values[0], 60 * solve(ssp).values[0]
    assert minutes[9][0] == pytest.approx(minutes[9][1], rel=0.01)
    assert minutes[15][0] > 1.3 * minutes[15][1]  # failing over does not work at the peak, and experts are awake
    assert minutes[3][0] > 1.25 * minutes[3][1]  # at night an expert is not the way out
    assert [PROBLEM.support.action_names[action] for action in book] == list(RUNBOOK.values())


@pytest.fixture(scope="module")
def log() -> dict[str, list]:
    return incident_log(PROBLEM, 4000, np.random.default_rng(1), deviation=0.3)


def test_a_log_is_ordered_by_time_and_every_case_is_a_chain_from_detected_to_recovered(log) -> None:
    assert log["time"] == sorted(log["time"])
    at: dict[str, str] = {}
    for case, state, following in zip(log["case"], log["state"], log["next_state"], strict=True):
        assert at.get(case, "detected") == state
        at[case] = following
    assert set(at.values()) == {"recovered"}
    assert len(at) == 4000
    open_at_once = [case != before for case, before in zip(log["case"][1:], log["case"], strict=False)]
    assert sum(open_at_once) > 4000 - 1  # cases overlap: some are left and come back


def test_actions_have_the_frequencies_that_the_column_of_probabilities_says(log) -> None:
    counts = Counter(zip(log["state"], log["action"], strict=True))
    visits = Counter(log["state"])
    said = {
        key: p for *key, p in zip(log["state"], log["action"], log["probability"], strict=True) for key in [tuple(key)]
    }
    assert said["detected", "investigate"] == pytest.approx(0.7 + 0.3 / 3)
    assert said["overloaded", "wait"] == pytest.approx(0.3 / 4)
    for (state, action), probability in said.items():
        deviation = np.sqrt(probability * (1 - probability) / visits[state])
        assert counts[state, action] / visits[state] == pytest.approx(probability, abs=4.5 * deviation)


def test_outcomes_have_the_means_of_the_problem(log) -> None:
    """The sums over all rows against what the problem expects: within 4.5 standard deviations, false alarm 1e-5."""
    support, place = PROBLEM.support, {name: number for number, name in enumerate(RUNBOOK)}
    contexts = incident_contexts(PROBLEM, log["hour"], log["traffic"])
    pairs = [support.pair(place[s], a) for s, a in zip(log["state"], log["action"], strict=True)]
    minutes = 60 * np.einsum("kd,kd->k", PROBLEM.losses[pairs], contexts)
    assert np.mean(log["minutes"]) == pytest.approx(minutes.mean(), abs=4.5 * 15 / np.sqrt(len(pairs)))
    assert np.abs(np.array(log["minutes"]) - minutes).max() <= 0.5 * 30 + 1e-3
    to_goal = np.zeros((support.pairs, PROBLEM.context_size))
    rows = np.repeat(np.arange(support.pairs), np.diff(support.next_start))[support.next_state == support.states]
    to_goal[rows] = PROBLEM.probabilities[support.next_state == support.states]
    expected = np.einsum("kd,kd->k", to_goal[pairs], contexts)
    assert abs(4000 - expected.sum()) < 4.5 * np.sqrt((expected * (1 - expected)).sum())
