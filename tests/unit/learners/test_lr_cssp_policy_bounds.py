"""What LR-CSSP says a policy is worth: around the truth while the truth is plausible, in names, proven or not."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound import LRCSSP, SSP, LinearCSSP, OneHot, PriorKnowledge, Support, play, solve, widths
from goalbound.learners.settings import LearnerOptions
from goalbound.planning import evaluate
from goalbound.problems import random_cssp
from goalbound.simulation import Dirichlet

PROBLEM = LinearCSSP.mix(
    [
        SSP.dense([[0.3, 0.2], [0.4, 0.6]], [[[0.2, 0.2, 0.6], [0.1, 0.2, 0.7]], [[0.2, 0.1, 0.7], [0.1, 0.1, 0.8]]],
                  state_names=["sick", "worse"], action_names=["wait", "treat"]),
        SSP.dense([[0.6, 0.3], [0.2, 0.5]], [[[0.1, 0.2, 0.7], [0.2, 0.1, 0.7]], [[0.3, 0.1, 0.6], [0.1, 0.1, 0.8]]],
                  state_names=["sick", "worse"], action_names=["wait", "treat"]),
    ]
)  # fmt: skip
RULES = [widths.paper(), widths.sharp(), widths.likelihood()]


def taught(problem: LinearCSSP, rule: widths.Widths, episodes: int, seed: int) -> LRCSSP:
    learner = LRCSSP(problem.support, problem.context_size, loss_floor=float(problem.losses.min()), widths=rule)
    play(problem, learner, Dirichlet(np.ones(problem.context_size)), episodes=episodes, seed=seed)
    return learner


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_several_policies_hold_the_truth_at_thirty_contexts(rule: widths.Widths, seed: int) -> None:
    learner = taught(PROBLEM, rule, 300, seed)
    rng = np.random.default_rng(seed)
    for context in rng.dirichlet(np.ones(2), size=30):
        truth = PROBLEM.at(context)
        assert learner.confidence_set(context).contains(truth)  # all six runs are among the nine in ten
        for policy in (None, [0, 0], {"sick": "treat", "worse": "wait"}, ["treat", "treat"]):
            found = learner.policy_bounds(context, policy)
            values = evaluate(truth, found.policy).values
            assert (found.lower <= values * (1.0 + 1e-9)).all()
            assert (values <= found.upper * (1.0 + 1e-9)).all()
        plan = learner.robust_plan(context)
        values = evaluate(truth, plan.policy).values
        assert (plan.lower <= values * (1.0 + 1e-9)).all()
        assert (values <= plan.upper * (1.0 + 1e-9)).all()
        assert (solve(truth).values <= plan.upper * (1.0 + 1e-9)).all()


def test_after_many_episodes_sharp_bounds_are_finite_and_close_in() -> None:
    learners = [taught(PROBLEM, widths.sharp(), episodes, 1) for episodes in (3_000, 30_000)]
    few, many = (learner.policy_bounds([0.5, 0.5]) for learner in learners)
    assert np.isfinite(many.upper).all()
    assert (many.upper[:2] - many.lower[:2] < few.upper[:2] - few.lower[:2]).all()
    assert many.estimate is not None
    np.testing.assert_allclose(many.estimate, evaluate(PROBLEM.at([0.5, 0.5]), many.policy).values, rtol=0.1)
    for context in np.random.default_rng(1).dirichlet(np.ones(2), size=30):
        truth = PROBLEM.at(context)
        for policy in ([0, 0], [0, 1], [1, 0], [1, 1]):
            found, values = learners[1].policy_bounds(context, policy), evaluate(truth, policy).values
            assert np.isfinite(found.upper).all()
            assert (found.lower <= values).all()
            assert (values <= found.upper).all()
    robust = learners[1].robust_plan([0.5, 0.5])
    assert (robust.upper <= many.upper * (1.0 + 1e-6)).all()


def test_without_data_the_worst_model_never_arrives_and_the_states_are_named() -> None:
    learner = LRCSSP(PROBLEM.support, 2, loss_floor=0.1)
    found = learner.policy_bounds([0.5, 0.5])
    assert found.may_never_arrive.tolist() == [0, 1]
    np.testing.assert_array_equal(found.upper, [np.inf, np.inf, 0.0])
    assert (found.lower[:2] >= 0.1 * (1.0 - 1e-6)).all()
    assert "may never arrive from sick, worse" in str(found)
    assert learner.statistics.visits.sum() == 0


@pytest.mark.parametrize(
    ("rule", "proven", "said"),
    [
        (widths.sharp(), True, "Proven: with probability 0.9"),
        (widths.scaled(widths.sharp(), by=0.5), False, "Not proven"),
    ],
)
def test_the_result_says_whether_it_is_proven(rule: widths.Widths, proven: bool, said: str) -> None:
    found = LRCSSP(PROBLEM.support, 2, loss_floor=0.1, widths=rule).policy_bounds([0.5, 0.5])
    assert found.proven is proven
    assert found.delta == 0.1
    assert said in str(found)


def test_the_table_has_names_and_the_estimate() -> None:
    lines = str(taught(PROBLEM, widths.sharp(), 50, 0).policy_bounds([0.5, 0.5], ["wait", "treat"])).splitlines()
    assert lines[0].split() == ["state", "action", "at", "least", "estimate", "at", "most"]
    assert [line.split()[:2] for line in lines[2:4]] == [["sick", "wait"], ["worse", "treat"]]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_what_is_known_beforehand_is_exact_in_all_three_numbers(rule: widths.Widths) -> None:
    support = Support.from_pairs([{0: [0, 1]}], state_names=["s"], action_names=["a"])
    prior = PriorKnowledge.nothing(support, 2).with_losses({("s", "a"): [0.2, 0.4]})
    prior = prior.with_rows({("s", "a"): [0.5, 0.5]})
    found = LRCSSP(support, 2, loss_floor=0.1, widths=rule, prior=prior).policy_bounds([0.5, 0.5])
    for values in (found.lower, found.estimate, found.upper):
        assert values is not None
        np.testing.assert_allclose(values, [0.6, 0.0], rtol=1e-6)  # 0.3 / 0.5


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_loss_that_is_added_where_losses_may_be_zero_is_not_in_the_bounds(rule: widths.Widths) -> None:
    options = LearnerOptions(episodes=1000)
    learner = LRCSSP(PROBLEM.support, 2, loss_floor=0.0, widths=rule, options=options)
    play(PROBLEM, learner, OneHot(2), episodes=100, seed=0)
    found = learner.policy_bounds([1.0, 0.0])
    values = evaluate(PROBLEM.component(0), found.policy).values
    assert learner.added_loss > 0.0
    assert (found.lower <= values).all()
    assert (values <= found.upper).all()


def test_larger_problems_are_bounded_too() -> None:
    problem = random_cssp(6, actions=2, context_size=2, seed=3)
    learner = taught(problem, widths.sharp(), 200, 0)
    context = np.array([0.3, 0.7])
    found = learner.policy_bounds(context)
    values = evaluate(problem.at(context), found.policy).values
    assert (found.lower <= values * (1.0 + 1e-9)).all()
    assert (values <= found.upper * (1.0 + 1e-9)).all()
