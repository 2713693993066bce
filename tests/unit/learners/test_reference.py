"""Clairvoyants play what the planner says."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.errors import InputError, NoProperPolicy
from goalbound.learners.reference import Clairvoyant
from goalbound.models import LinearCSSP, Step
from goalbound.planning import optimal_values, solve
from goalbound.problems import random_cssp, windy_grid
from goalbound.simulation import Dirichlet, play

# One state; drug A heals with 0.9 (young) or 0.1 (old) at a loss of 0.2; drug B always, at 0.5.
DRUGS = LinearCSSP.dense(
    [[[0.2, 0.5]], [[0.2, 0.5]]], [[[[0.1, 0.9], [0.0, 1.0]]], [[[0.9, 0.1], [0.0, 1.0]]]]
)  # fmt: skip


@pytest.mark.parametrize(
    ("context", "best"),
    [([1.0, 0.0], 0), ([0.5, 0.5], 0), ([0.25, 0.75], 1), ([0.0, 1.0], 1)],
    # 0.2 / 0.9 and 0.2 / 0.5 are below 0.5; 0.2 / 0.3 and 0.2 / 0.1 above.
)
def test_each_context_has_its_own_best_action(context: list[float], best: int) -> None:
    assert Clairvoyant(DRUGS).begin(context).act(0) == best


def test_the_policy_is_the_planners_in_every_state() -> None:
    problem = random_cssp(8, actions=3, context_size=3, seed=4)
    clairvoyant = Clairvoyant(problem)
    for context in np.random.default_rng(0).dirichlet(np.ones(3), 5):
        episode = clairvoyant.begin(context)
        assert [episode.act(s) for s in range(8)] == solve(problem.at(context)).policy.tolist()


def test_observing_changes_nothing_and_episodes_are_independent() -> None:
    clairvoyant = Clairvoyant(DRUGS)
    young, old = clairvoyant.begin([1.0, 0.0]), clairvoyant.begin([0.0, 1.0])
    young.observe(Step(0, 0, 0.2, 0))
    assert (young.act(0), old.act(0)) == (0, 1)


def test_contexts_that_come_again_are_planned_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[np.ndarray] = []

    def counting(problem: LinearCSSP, contexts: np.ndarray, *, tolerance: float) -> np.ndarray:
        asked.append(contexts)
        return optimal_values(problem, contexts, tolerance=tolerance)

    monkeypatch.setattr("goalbound.learners.reference.optimal_values", counting)
    clairvoyant = Clairvoyant(DRUGS)
    for _ in range(10):
        clairvoyant.begin([1.0, 0.0])
        clairvoyant.begin([0.5, 0.5])
    assert len(asked) == 2


@pytest.mark.parametrize("problem", [DRUGS, windy_grid(2, 3), random_cssp(6, seed=2)])
def test_the_compiled_loop_plays_the_same_episodes(problem: LinearCSSP) -> None:
    contexts = Dirichlet.symmetric(problem.context_size)
    runs = [play(problem, Clairvoyant(problem), contexts, episodes=60, seed=3, compiled=way) for way in (True, False)]
    for name in ("loss", "expected_regret", "steps", "start"):
        assert getattr(runs[0], name).tobytes() == getattr(runs[1], name).tobytes()
    assert runs[0].expected_regret.max() <= 1e-8


def test_where_losses_may_be_zero_the_planner_is_asked_for_a_proper_policy() -> None:
    # Waiting costs nothing and goes nowhere; leaving costs 0.5.
    problem = LinearCSSP.dense([[[0.0, 0.5]]], [[[[1.0, 0.0], [0.0, 1.0]]]])
    assert Clairvoyant(problem).begin([1.0]).act(0) == 1
    assert not hasattr(Clairvoyant(problem), "play_episodes")


def test_misuse_is_named() -> None:
    with pytest.raises(InputError, match="no context"):
        Clairvoyant(DRUGS.component(0))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"sums to 0\.5"):
        Clairvoyant(DRUGS).begin([0.5, 0.0])
    with pytest.raises(InputError, match="states are 0 to 0, then the goal"):
        Clairvoyant(DRUGS).begin([1.0, 0.0]).act(1)
    endless = LinearCSSP.dense([[[0.2]]], [[[[1.0, 0.0]]]])
    with pytest.raises(NoProperPolicy):
        Clairvoyant(endless).begin([1.0])
