"""Importance weights and estimates against exact fractions, and their means against the truth."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from goalbound.errors import ArgumentError
from goalbound.logs import Log, LogColumns, read_log
from goalbound.logs.estimators import (
    Cases,
    WeightedSteps,
    cases_of,
    check_probabilities,
    doubly_robust_terms,
    effective_cases,
    weighted_estimate,
    weighted_steps,
)
from goalbound.planning import evaluate
from tests.reference import off_policy as witness
from tests.support.behaviour_logs import behaviour_rows, read_behaviour, true_mean, two_states

PROBLEM = two_states()
SUPPORT = PROBLEM.support


def weights_of(log: Log, policy: list[int]) -> tuple[Cases, WeightedSteps]:
    cases = cases_of(log)
    pairs = np.array([log.support.pair(state, action) for state, action in enumerate(policy)])
    return cases, weighted_steps(log, cases, np.tile(pairs, (log.cases, 1)))


def exact_cases(log: Log) -> list[list[witness.Decision]]:
    """The cases of a log as the witness takes them, by numbers."""
    found: list[list[witness.Decision]] = [[] for _ in range(log.cases)]
    for place, (_, step) in enumerate(log):
        following = witness.GOAL if step.next_state == log.support.states else step.next_state
        chance = Fraction(float(log.probabilities[place]))
        found[log.case_of[place]].append(
            witness.Decision(step.state, step.action, chance, Fraction(step.loss), following)
        )
    return found


@pytest.mark.parametrize("policy", [[0, 0], [0, 1], [1, 0], [1, 1]])
@pytest.mark.parametrize("longest", [None, 2])
def test_estimates_are_those_of_exact_fractions(policy, longest):
    rng = np.random.default_rng(1)
    log = read_behaviour(behaviour_rows(PROBLEM, 40, rng, usual=(0, 1), deviation=0.6, longest=longest), PROBLEM)
    _, steps = weights_of(log, policy)
    exact, chosen = exact_cases(log), dict(enumerate(policy))
    assert weighted_estimate(steps, np.ones(40, dtype=np.int64)) == pytest.approx(
        float(witness.weighted_importance_sampling(exact, chosen)), rel=1e-12
    )
    assert effective_cases(steps.last) == pytest.approx(float(witness.effective_sample_size(exact, chosen)), rel=1e-12)
    values = {0: Fraction(7, 4), 1: Fraction(9, 8)}
    table = np.tile([1.75, 1.125, 0.0], (40, 1))
    starts = np.array([case[0].state for case in exact])
    terms = doubly_robust_terms(steps, table, starts)
    for case, term in zip(exact, terms, strict=True):
        assert term == pytest.approx(float(witness.doubly_robust(case, chosen, values)), rel=1e-12, abs=1e-12)


def test_a_case_that_counts_twice_is_a_case_that_is_there_twice():
    log = read_behaviour(behaviour_rows(PROBLEM, 12, np.random.default_rng(2)), PROBLEM)
    _, steps = weights_of(log, [0, 1])
    counts = np.array([2, 0, 1, 1, 3, 0, 1, 0, 1, 1, 1, 1])
    exact = [case for case, count in zip(exact_cases(log), counts.tolist(), strict=True) for _ in range(count)]
    expected = witness.weighted_importance_sampling(exact, {0: 0, 1: 1})
    assert weighted_estimate(steps, counts) == pytest.approx(float(expected), rel=1e-12)


def test_no_case_that_follows_the_policy_gives_no_number():
    rows = behaviour_rows(PROBLEM, 5, np.random.default_rng(3), usual=(0, 0), deviation=0.0)
    _, steps = weights_of(read_behaviour(rows, PROBLEM), [1, 1])
    assert np.isnan(weighted_estimate(steps, np.ones(5, dtype=np.int64)))
    assert effective_cases(steps.last) == 0.0
    assert not len(steps.weights)


def test_cases_are_closed_open_or_broken():
    rows = {
        "case": ["closed", "open", "broken", "closed", "open", "broken"],
        "state": ["a", "a", "a", "b", "b", "a"],
        "action": ["x", "x", "x", "y", "y", "x"],
        "loss": [0.5, 0.5, "none", 0.5, 0.5, 0.5],
        "next_state": ["b", "b", "b", "goal", "a", "goal"],
    }  # fmt: skip
    rows = {name: [*values, {"case": "broken", "state": "a", "loss": 0.1, "next_state": "b", "action": "x"}[name]]
            for name, values in rows.items()}  # fmt: skip
    # the rows of "broken": one that is skipped, one to the goal, and one after the goal, which is an error of the log
    log = read_log(rows, columns=LogColumns(time=None), errors="skip")
    cases = cases_of(log)
    assert cases.closed.tolist() == [True, False, False]
    assert cases.open.tolist() == [False, True, True]
    gap = {"case": [1, 1, 1], "state": ["a", "b", "c"], "action": ["x"] * 3, "loss": [0.1, -1.0, 0.1],
           "next_state": ["b", "c", "goal"]}  # fmt: skip
    gap = {name: [*values, *extra] for (name, values), extra in zip(
        gap.items(), ([2, 2], ["b", "c"], ["x", "x"], [0.1, 0.1], ["c", "goal"]), strict=True)}  # fmt: skip
    found = cases_of(read_log(gap, columns=LogColumns(time=None), errors="skip"))
    assert found.whole.tolist() == [False, True]  # of case 1 the step from b to c is missing
    assert found.closed.tolist() == [False, True]


@pytest.mark.parametrize("probability", [1e-7, 0.0, 1.5, float("nan")])
def test_a_probability_that_nothing_can_be_weighted_by_is_an_error_with_its_row(probability):
    rows = behaviour_rows(PROBLEM, 5, np.random.default_rng(3))
    log = read_behaviour(rows, PROBLEM)
    check_probabilities(log)
    spoiled = log.probabilities.copy()
    spoiled[3] = probability
    with pytest.raises(ArgumentError, match=f"row {log.rows[3]}: the probability of the action is {probability:g}"):
        check_probabilities(Log(**{**vars(log), "probabilities": spoiled}))


def test_doubly_robust_terms_and_plain_weights_have_the_mean_of_the_true_values():
    """225 logs of 20 cases. The mean error over its standard error is within 4: a false alarm has a probability of
    about 6e-5 for each of the two. The values of the model are far from true."""
    rng = np.random.default_rng(4)
    policy, table = [0, 1], np.tile([5.0, 0.2, 0.0], (20, 1))
    errors = []
    for _ in range(225):
        log = read_behaviour(behaviour_rows(PROBLEM, 20, rng, usual=(0, 0), deviation=0.7), PROBLEM)
        cases, steps = weights_of(log, policy)
        truth = true_mean(PROBLEM, log, policy)
        starts = log.support.pair_state[log.steps.pairs[cases.first]].astype(np.int64)
        plain = float(steps.weights @ steps.losses) / 20
        errors.append((doubly_robust_terms(steps, table, starts).mean() - truth, plain - truth))
    scores = np.mean(errors, axis=0) / (np.std(errors, axis=0, ddof=1) / 15.0)
    print(f"mean error over its standard error: doubly robust {scores[0]:.2f}, plain {scores[1]:.2f}")
    assert (np.abs(scores) < 4.0).all()


def test_cases_that_are_cut_off_make_importance_sampling_too_small():
    """25 logs of 150 cases, cut off after one step. The mean error over its standard error is below -4; an estimate
    without bias would be so with a probability of 3e-5."""
    rng = np.random.default_rng(5)
    errors = []
    for _ in range(25):
        log = read_behaviour(behaviour_rows(PROBLEM, 150, rng, longest=1), PROBLEM)
        _, steps = weights_of(log, [0, 1])
        errors.append(weighted_estimate(steps, np.ones(150, dtype=np.int64)) - true_mean(PROBLEM, log, [0, 1]))
    assert np.mean(errors) / (np.std(errors, ddof=1) / 5.0) < -4.0


def test_the_truth_of_these_tests_is_that_of_the_planner():
    log = read_behaviour(behaviour_rows(PROBLEM, 10, np.random.default_rng(6)), PROBLEM)
    first = cases_of(log).first
    starts = SUPPORT.pair_state[log.steps.pairs[first]]
    expected = [
        evaluate(PROBLEM.at(context), [0, 1]).values[state]
        for context, state in zip(log.steps.contexts[first], starts, strict=True)
    ]
    assert true_mean(PROBLEM, log, [0, 1]) == pytest.approx(np.mean(expected), rel=1e-9)
