"""When the world changes: false alarms, delays and relearning, small; and the parts of that experiment."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound import GreedyRidge
from goalbound.problems import incident_recovery
from guarantees.change import BROKEN, Size, change, handle, with_broken_action
from guarantees.in_use import FLOOR
from guarantees.incident_cases import new_cases
from tests.paper.claims import assert_held

SMALL = Size(
    quiet_logs=1, log_cases=4000, kind_logs=1, live_runs=1, live_cases=300, known_runs=40, seeds=3, after=500
)  # fmt: skip


def test_a_broken_failover_is_found_soon_and_relearning_is_as_good_as_beginning_anew() -> None:
    # Nothing is proven of the delays and losses: at full size 9 of 10 delays were below 100 cases, and relearning lost
    # less than beginning anew. Here the seeds are fixed, and one change in three may be found late. The mean run
    # length of 40 runs is held against its bound with three standard errors to spare.
    assert_held(change(SMALL))


def test_the_broken_action_reaches_the_goal_a_fifth_as_often_and_nothing_else_changes() -> None:
    problem = incident_recovery()
    changed, support = with_broken_action(problem), problem.support
    for pair in range(support.pairs):
        row = support.row(pair)
        to_goal = support.next_state[row] == support.states
        factor = 0.2 if support.pair_action[pair] == support.action(BROKEN) else 1.0
        expected = factor * problem.probabilities[row][to_goal]
        np.testing.assert_allclose(changed.probabilities[row][to_goal], expected, rtol=1e-12)
    np.testing.assert_allclose(np.add.reduceat(changed.probabilities, support.next_start[:-1], axis=0), 1.0)
    np.testing.assert_array_equal(changed.losses, problem.losses)


def test_handling_stops_where_it_is_told_to_and_the_clairvoyants_loss_is_the_least() -> None:
    problem = incident_recovery()
    contexts = new_cases(problem, 6, seed=0).contexts
    learner = GreedyRidge(problem.support, problem.context_size, loss_floor=FLOOR)
    steps = handle(learner, problem, contexts, np.random.default_rng(0), lambda: learner.statistics.visits.sum() > 5)
    assert 0 < len(steps.case) < 60
    assert steps.case.max() < 5
    every = handle(learner, problem, contexts, np.random.default_rng(0))
    assert sorted(set(every.case.tolist())) == list(range(6))
    best = every._replace(case=every.case[:0], pair=every.pair[:0]).expected_loss(problem, contexts)
    assert every.expected_loss(problem, contexts) >= best == pytest.approx(0.4, abs=0.2)
