"""Clairvoyants play what the planner says."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.learners.reference_policies import Clairvoyant
from goalbound.models import SSP, LinearCSSP, ModelError, Step
from goalbound.planning import NoProperPolicy, solve
from goalbound.problems import random_cssp

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
    asked: list[SSP] = []

    def counting(ssp: SSP):
        asked.append(ssp)
        return solve(ssp)

    monkeypatch.setattr("goalbound.learners.reference_policies.solve", counting)
    clairvoyant = Clairvoyant(DRUGS)
    for _ in range(10):
        clairvoyant.begin([1.0, 0.0])
        clairvoyant.begin([0.5, 0.5])
    assert len(asked) == 2


def test_misuse_is_named() -> None:
    with pytest.raises(ModelError, match="no context"):
        Clairvoyant(DRUGS.component(0))  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"sums to 0\.5"):
        Clairvoyant(DRUGS).begin([0.5, 0.0])
    with pytest.raises(ModelError, match="states are 0 to 0, then the goal"):
        Clairvoyant(DRUGS).begin([1.0, 0.0]).act(1)
    endless = LinearCSSP.dense([[[0.2]]], [[[[1.0, 0.0]]]])
    with pytest.raises(NoProperPolicy):
        Clairvoyant(endless).begin([1.0])
