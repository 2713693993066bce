"""The model of a log is that of a learner, and its values are exact."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from goalbound import LRCSSP, PriorKnowledge, widths
from goalbound.confidence import Statistics, project, ridge_estimate
from goalbound.logs.estimators import fit, log_model, policy_values
from goalbound.planning import evaluate
from tests.reference import exact
from tests.reference.rows import played, rows_of
from tests.support.behaviour_logs import behaviour_rows, read_behaviour, two_states

PROBLEM = two_states()
SUPPORT = PROBLEM.support
EVERY = np.arange(SUPPORT.pairs)


@pytest.fixture(scope="module")
def log():
    return read_behaviour(behaviour_rows(PROBLEM, 60, np.random.default_rng(0)), PROBLEM)


def test_a_fit_is_the_projected_estimate_of_steps_that_count_as_often(log):
    counts = np.random.default_rng(1).integers(0, 4, log.cases)
    statistics = Statistics(SUPPORT, 2, regularization=0.5)
    for case, (context, step) in zip(log.case_of.tolist(), log, strict=True):
        for _ in range(counts[case]):
            statistics.record(context, step)
    expected = project(ridge_estimate(statistics)).model()
    found = fit(log_model(log, EVERY, regularization=0.5), counts)
    assert np.allclose(found.losses, expected.losses, rtol=0, atol=1e-11)
    assert np.allclose(found.rows, expected.probabilities, rtol=0, atol=1e-11)


def test_a_fit_from_an_earlier_one_is_the_same(log):
    model = log_model(log, EVERY)
    ones, some = np.ones(log.cases), np.random.default_rng(2).integers(0, 3, log.cases)
    apart, after = fit(model, some), fit(model, some, start=fit(model, ones))
    assert np.allclose(apart.rows, after.rows, rtol=0, atol=1e-11)


def test_only_the_pairs_that_are_played_are_estimated_and_as_if_all_were(log):
    played_pairs = np.array([[SUPPORT.pair(0, 1), SUPPORT.pair(1, 0)]])
    part, whole = log_model(log, played_pairs), log_model(log, EVERY)
    assert part.support.pairs == 2
    contexts = np.array([[0.3, 0.7]])
    ones = np.ones(log.cases)
    found = policy_values(part, fit(part, ones), contexts, played_pairs)
    assert np.allclose(found, policy_values(whole, fit(whole, ones), contexts, played_pairs), rtol=1e-12)


def test_values_are_those_of_exact_fractions(log):
    model = log_model(log, EVERY)
    fitted = fit(model, np.ones(log.cases))
    rng = np.random.default_rng(3)
    contexts = rng.dirichlet([1.0, 1.0], size=12)
    actions = rng.integers(0, 2, (12, 2))
    pairs = np.array([[SUPPORT.pair(s, int(a)) for s, a in enumerate(row)] for row in actions])
    found = policy_values(model, fitted, contexts, pairs)
    problem = fitted.estimate.model()
    for context, row, values in zip(contexts, actions, found, strict=True):
        expected = exact.total_losses(played(rows_of(problem.at(context)), row.tolist()))
        assert [float(Fraction(value)) for value in expected] == pytest.approx(values.tolist(), rel=1e-10)


@pytest.mark.parametrize("kind", ["known", "guessed"])
def test_prior_knowledge_is_put_in_as_the_learner_does(log, kind):
    prior = PriorKnowledge.nothing(SUPPORT, 2)
    if kind == "known":
        prior = prior.with_losses({("new", "quick"): 0.9}).with_rows({("old", "slow"): [0.0, 0.5, 0.5]})
    else:
        prior = prior.with_model(two_states(), strength={("new", "quick"): 7.0, ("old", "slow"): 100.0})
    learner = LRCSSP(SUPPORT, 2, loss_floor=0.1, widths=widths.sharp(), prior=prior)
    learner.learn_log(log)
    pairs = np.array([[SUPPORT.pair(0, 0), SUPPORT.pair(1, 1)]])
    model = log_model(log, pairs, regularization=learner.settings.regularization, prior=prior)
    found = policy_values(model, fit(model, np.ones(log.cases)), np.array([[0.4, 0.6]]), pairs)
    assert learner.policy_bounds([0.4, 0.6], [0, 1]).estimate == pytest.approx(found[0].tolist(), rel=1e-9)


def test_a_policy_that_does_not_arrive_in_the_estimate_has_an_infinite_value():
    rows = {"case": [1, 1, 1, 2], "state": ["new", "old", "new", "old"], "action": ["quick", "quick", "slow", "slow"],
            "loss": [0.5] * 4, "next_state": ["old", "new", "goal", "goal"], "c0": [1.0] * 4}  # fmt: skip
    log = read_behaviour(rows, None)  # quick leads to the other state only
    support = log.support
    pairs = np.array([[support.pair("new", "quick"), support.pair("old", "quick")],
                      [support.pair("new", "quick"), support.pair("old", "slow")]])  # fmt: skip
    model = log_model(log, pairs)
    fitted = fit(model, np.ones(2))
    values = policy_values(model, fitted, np.ones((2, 1)), pairs)
    assert np.isinf(values[0, :2]).all()
    assert values[0, 2] == 0.0
    # one step each, lambda 1: losses 0.5 / 2; "quick" leads to the other state surely, "slow" only to the goal
    assert values[1].tolist() == pytest.approx([0.25 + 0.25, 0.25, 0.0])
    assert evaluate(fitted.estimate.model().at([1.0]), [0, 1]).values.tolist() == pytest.approx(values[1].tolist())


def test_a_state_that_may_lead_to_where_the_goal_is_never_reached_has_an_infinite_value():
    rows = {"case": [1, 2, 2, 2], "state": ["new", "new", "old", "old"], "action": ["quick", "quick", "quick", "slow"],
            "loss": [0.5] * 4, "next_state": ["goal", "old", "old", "goal"], "c0": [1.0] * 4}  # fmt: skip
    log = read_behaviour(rows, None)  # quick leads from "old" back to it
    support = log.support
    pairs = np.array([[support.pair("new", "quick"), support.pair("old", "quick")],
                      [support.pair("new", "quick"), support.pair("old", "slow")]])  # fmt: skip
    model = log_model(log, pairs)
    values = policy_values(model, fit(model, np.ones(2)), np.ones((2, 1)), pairs)
    assert np.isinf(values[0, :2]).all()
    # two steps of "new", lambda 1: a loss of 1 / 3, to "old" with 1 / 3; one of "slow": 0.5 / 2
    assert values[1].tolist() == pytest.approx([1 / 3 + 0.25 / 3, 0.25, 0.0])
