"""In use: bounds after a log, new cases, people who override, restarts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from goalbound import GreedyRidge, LinearCSSP, solve
from goalbound.adapters.covariates import CovariateLearner
from goalbound.problems import incident_contexts, incident_recovery
from guarantees.in_use import FLOOR, Size, in_use
from guarantees.incident_cases import (
    DAY,
    Cases,
    Way,
    expected_regret,
    handle,
    new_cases,
    recorded_log,
    restarted,
    same_bits,
)
from tests.paper.claims import assert_held

SMALL = Size(cases=800, seeds=1, contexts=5, open_cases=20, max_excess=0.08)
"""Over 800 new cases the excess was 2% to 5% in 4 runs of each learner and way, and the runbook's 9% to 10%."""


@pytest.fixture(scope="module")
def problem() -> LinearCSSP:
    return incident_recovery()


@pytest.fixture(scope="module")
def cases(problem: LinearCSSP) -> Cases:
    return new_cases(problem, 12, seed=1)


def fitted(problem: LinearCSSP) -> CovariateLearner:
    learner = GreedyRidge(problem.support, problem.context_size, loss_floor=FLOOR)
    learner.learn_log(recorded_log(problem, 100, seed=0))
    return CovariateLearner(DAY, learner)


def test_a_log_is_enough_for_bounds_and_for_decisions_near_the_clairvoyants() -> None:
    # The bounds hold for all contexts and policies with probability 0.9 at least. Nothing is proven of the excess: it
    # was at most 0.048 in 24 runs of this size, and 0.08 is allowed; the seeds are fixed.
    assert_held(in_use(SMALL))


def test_a_learner_that_saw_one_step_more_has_other_bits(problem: LinearCSSP, tmp_path: Path) -> None:
    one, other = fitted(problem), fitted(problem)
    assert same_bits(one, other, tmp_path)
    other.learn({"hour": 5.0, "traffic": 0.3}, ("detected", "restart", 0.1, "goal"))
    assert not same_bits(one, other, tmp_path)


def test_open_cases_are_open_after_a_restart(problem: LinearCSSP, cases: Cases, tmp_path: Path) -> None:
    learner = fitted(problem)
    for number in range(3):
        learner.begin(cases.covariates[number], id=number).act("detected")
    again = restarted(learner, tmp_path / "learner.npz")
    assert [episode.id for episode in again.open_episodes] == [0, 1, 2]
    assert same_bits(learner, again, tmp_path)


def test_people_override_as_often_as_was_said(problem: LinearCSSP, cases: Cases, tmp_path: Path) -> None:
    learner, steps = handle(fitted(problem), problem, cases, Way(open_cases=4), seed=0, folder=tmp_path)
    assert (steps.proposed == steps.played).all()
    assert sorted(set(steps.case.tolist())) == list(range(12))
    assert learner.open_episodes == ()
    _, always = handle(fitted(problem), problem, cases, Way(overrides=1.0), seed=0, folder=tmp_path)
    # One of at least 3 actions is the proposed one: that 12 draws or more all hit it has probability 3^-12 at most.
    assert len(always.case) >= 12
    assert (always.proposed != always.played).any()


def test_the_regret_of_the_best_actions_is_zero_and_that_of_another_its_gap(problem: LinearCSSP) -> None:
    contexts = incident_contexts(problem, [3.0], [0.5])
    best = solve(problem.at(contexts[0]))
    state = problem.support.state("degraded")
    for action in (name for name in ("wait", "restart", "fail over", "page expert")):
        pair = problem.support.pair("degraded", action)
        row = problem.support.row(pair)
        model = problem.at(contexts[0])
        worth = model.losses[pair] + model.probabilities[row] @ best.values[problem.support.next_state[row]]
        found = expected_regret(problem, contexts, np.array([0]), np.array([pair]))
        assert found == pytest.approx(worth - best.values[state], abs=1e-9)
    played = problem.support.pair(state, int(best.policy[state]))
    assert expected_regret(problem, contexts, np.array([0]), np.array([played])) == pytest.approx(0.0, abs=1e-9)
