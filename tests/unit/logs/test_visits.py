"""Terms weighted by visits, against loops over cases and steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from goalbound import LRCSSP, widths
from goalbound.logs.estimators import cases_of
from goalbound.logs.visits import ENDS, LEAST_VISITS, visit_terms
from tests.support.behaviour_logs import behaviour_rows, read_behaviour, true_mean, two_states

PROBLEM = two_states()


def test_the_terms_are_those_of_loops_over_cases_and_steps():
    log = read_behaviour(behaviour_rows(PROBLEM, 80, np.random.default_rng(2)), PROBLEM)
    learner = LRCSSP(PROBLEM.support, 2, loss_floor=0.1, widths=widths.paper())
    learner.learn_log(log)
    cases, estimate, support = cases_of(log), learner.estimate, PROBLEM.support
    pairs = np.array([[case % 2, 2 + (case // 2) % 2] for case in range(80)])
    own = np.arange(80) % 4 == 0
    terms, weights = visit_terms(log, cases, estimate, pairs, own)

    contexts, starts = log.steps.contexts[cases.first], support.pair_state[log.steps.pairs[cases.first]]
    known = np.hstack([contexts, np.eye(2)[starts]])
    counts = np.zeros((80, 2))
    for case, pair in zip(log.case_of, log.steps.pairs, strict=True):
        counts[case, support.pair_state[pair]] += 1
    mean = counts[~own].mean(axis=0)
    slopes = np.linalg.inv(known[~own].T @ known[~own] + np.eye(4)) @ known[~own].T @ (counts[~own] - mean)
    expected = []
    for case in np.flatnonzero(own):
        moves = np.zeros((2, 2))
        for state in range(2):
            row = support.row(pairs[case, state])
            for place in range(row.start, row.stop):
                if support.next_state[place] < 2:
                    moves[state, support.next_state[place]] = estimate.rows[place] @ contexts[case]
        resolvent = np.linalg.inv(np.eye(2) - (1 - ENDS) * moves)
        values = np.append(resolvent @ (estimate.losses[pairs[case]] @ contexts[case]), 0.0)
        visits = resolvent[starts[case]]
        by_log = np.maximum(mean + known[case] @ slopes, LEAST_VISITS * mean)
        total = values[starts[case]]
        for step in np.flatnonzero(log.case_of == case):
            pair = log.steps.pairs[step]
            state, following = support.pair_state[pair], support.next_state[log.steps.next_places[step]]
            weight = visits[state] / by_log[state] / log.probabilities[step] if pairs[case, state] == pair else 0.0
            assert weights[step] == pytest.approx(weight)
            total += weight * (log.steps.losses[step] + values[following] - values[state])
        expected.append(total)
    np.testing.assert_allclose(terms, expected, rtol=1e-10)


def test_the_mean_is_the_loss_of_the_policy_also_where_the_values_are_wrong():
    """2,000 cases, 4 standard errors: a false alarm in 1 of 16,000 runs. The estimate holds that nothing costs
    anything, so all comes from the weights."""
    log = read_behaviour(behaviour_rows(PROBLEM, 3000, np.random.default_rng(4)), PROBLEM)
    learner = LRCSSP(PROBLEM.support, 2, loss_floor=0.1, widths=widths.paper())
    learner.learn_log(log.of_cases(np.arange(3000) < 1000))
    estimate = replace(learner.estimate, losses=np.zeros_like(learner.estimate.losses))
    pairs, own = np.tile([1, 2], (3000, 1)), np.arange(3000) >= 1000
    cases = cases_of(log)
    terms, _ = visit_terms(log, cases, estimate, pairs, own)
    of_own = log.of_cases(own)
    error = terms.std() / np.sqrt(len(terms))
    assert 4 * error < 0.2 * terms.mean()
    assert abs(terms.mean() - true_mean(PROBLEM, of_own, [1, 0])) < 4 * error
