"""What learners of an experiment may begin with: logs of a runbook, and guesses that ignore contexts."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.errors import ArgumentError
from goalbound.experiments.registry.learners import greedy_ridge, lr_cssp, ps_cssp
from goalbound.experiments.registry.warm_start import ANY_LOG, LogLaw, guessed, runbook_log
from goalbound.models.step import deterministic
from goalbound.planning import solve
from goalbound.problems import dense_random
from goalbound.simulation import OneHot

PROBLEM = dense_random(3, actions=2, context_size=2, seed=4)


def test_a_log_is_that_of_the_policy_of_the_equal_mixture_with_deviations() -> None:
    steps = [step for _, step in runbook_log(PROBLEM, 400, np.random.default_rng(0))]
    usual = solve(PROBLEM.at([0.5, 0.5])).policy
    followed = np.mean([step.action == usual[step.state] for step in steps])
    # Of two actions a random one is the usual one half the time: 0.7 + 0.15, and 4 deviations of sqrt(0.85 * 0.15 / n).
    assert followed == pytest.approx(0.85, abs=4 * np.sqrt(0.85 * 0.15 / len(steps)))
    assert {step.loss for step in steps} == {0.0, 1.0}


def test_the_cases_of_a_log_come_as_those_of_the_run_that_follows() -> None:
    steps = list(runbook_log(PROBLEM, 50, np.random.default_rng(0), LogLaw(OneHot(2), deterministic())))
    contexts = np.array([context for context, _ in steps])
    assert {tuple(context) for context in contexts} == {(1.0, 0.0), (0.0, 1.0)}
    for context, step in steps:
        mean = PROBLEM.losses[PROBLEM.support.pair(step.state, step.action)] @ context
        assert step.loss == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize("make", [greedy_ridge, ps_cssp, lr_cssp])
def test_a_learner_begins_with_as_many_cases_as_its_share_says(make) -> None:
    cold, warm = (
        make(PROBLEM, episodes=20, log_law=ANY_LOG, log_share=share, rng=np.random.default_rng(0))
        for share in (0.0, 2.0)
    )
    assert cold.statistics.visits.sum() == 0
    assert warm.statistics.visits.sum() >= 40


def test_a_guess_ignores_contexts() -> None:
    assert guessed(PROBLEM, "nothing") is None
    average, first = guessed(PROBLEM, "average"), guessed(PROBLEM, "first component")
    assert average is not None
    assert first is not None
    np.testing.assert_allclose(average.guess_losses[:, 0], PROBLEM.losses.mean(axis=1))
    assert set(average.strength) == {5.0}
    weak = ps_cssp(
        PROBLEM, episodes=20, guess="average", guess_strength=0.5, log_law=ANY_LOG, rng=np.random.default_rng(0)
    )
    # With the prior, 2 (I - J) + 2 / 2 J: lambda 2, two visits.
    np.testing.assert_allclose(weak.statistics.gram[0], [[2.0, -0.5], [-0.5, 2.0]])
    np.testing.assert_allclose(first.guess_losses, np.repeat(PROBLEM.losses[:, :1], 2, axis=1))


def test_wrong_words_and_shares_are_named() -> None:
    with pytest.raises(ArgumentError, match="guess is 'averag'"):
        guessed(PROBLEM, "averag")
    for share in (-1.0, 1e6):
        with pytest.raises(ArgumentError, match="log_share is"):
            greedy_ridge(PROBLEM, episodes=20, log_law=ANY_LOG, log_share=share, rng=np.random.default_rng(0))
    with pytest.raises(ArgumentError, match="log_share needs a learner that sees contexts"):
        lr_cssp(PROBLEM, episodes=20, log_law=ANY_LOG, log_share=1.0, sees="nothing", rng=np.random.default_rng(0))
