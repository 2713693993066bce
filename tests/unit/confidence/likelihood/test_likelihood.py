"""The room of likelihood-ratio sets: which numbers have one, their shares of delta, when their bounds appear."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from goalbound import LRCSSP, PriorKnowledge, Step, Support, widths
from goalbound.confidence.likelihood.sets import FIRST_VISITS
from goalbound.problems import dense_random, random_cssp

PROBLEM = dense_random(3, actions=2, context_size=2, seed=4)


def test_what_is_known_or_certain_or_follows_has_no_set() -> None:
    support = Support.from_pairs([{0: [0, 2], 1: [1]}, {0: [0, 1, 2], 1: [0, 1, 2]}])
    known = PriorKnowledge.nothing(support, 2).with_losses({(0, 0): 0.5}).with_rows({(1, 1): [0.5, 0.25, 0.25]})
    learner = LRCSSP(support, 2, loss_floor=0.1, widths=widths.likelihood(), prior=known)
    tracked = learner._constants.sets.tracked

    # The loss of a pair, then its next states, of 2, 1, 3 and 3.
    assert tracked.tolist() == [False, True, False, True, False, True, True, True, True, True, False, False, False]
    share = 0.45 * 0.98 * 0.1
    assert learner._constants.sets.loss_log == pytest.approx(np.log(3 / share))
    assert learner._constants.sets.row_log == pytest.approx(np.log(4 / share))


def test_of_two_next_states_the_second_has_what_the_first_leaves() -> None:
    support = Support.from_pairs([{0: [0, 1]}])
    learner = LRCSSP(support, 1, loss_floor=0.1, widths=widths.likelihood())
    for k in range(40):
        learner.learn([1.0], Step(0, 0, 0.5, int(k % 4 != 0)))
    found = learner.confidence_set([1.0])

    np.testing.assert_allclose(found.low[1], 1.0 - found.high[0], atol=1e-15)
    np.testing.assert_allclose(found.high[1], 1.0 - found.low[0], atol=1e-15)


def test_the_shares_of_delta_sum_to_delta() -> None:
    learner = LRCSSP(PROBLEM.support, 2, loss_floor=0.1, loss_bound=6.0, widths=widths.likelihood())
    intervals, ratios = learner._constants.sets.sharp, learner._constants.sets
    losses, rows = PROBLEM.support.pairs, PROBLEM.support.triples
    each = 2.0 * losses * np.exp(-intervals.loss_log) + losses * np.exp(-ratios.loss_log)
    each += 4.0 * rows * np.exp(-intervals.row_log) + rows * np.exp(-ratios.row_log)
    others = 2.0 * learner._constants.delta / 4.0  # the known test and the trigger of the doubling
    assert each + others == pytest.approx(0.1)


def test_bounds_appear_with_the_first_visits_and_only_shrink() -> None:
    learner = LRCSSP(Support.full(1, 1), 1, loss_floor=0.1, widths=widths.likelihood())
    before = np.inf
    for k in range(60):
        learner.learn([1.0], Step(0, 0, 0.5, k % 2))
        state = learner._state.sets
        assert (state.bounded[0] > 0) == (k + 1 >= FIRST_VISITS)
        length = float(state.high[2, 0] - state.low[2, 0]) if learner._constants.sets.tracked[2] else 1.0
        length = min(length, float(state.high[1, 0] - state.low[1, 0]))
        assert length <= before
        before = length
    assert before < 0.8


def test_a_large_problem_has_a_coarser_lattice(monkeypatch: pytest.MonkeyPatch) -> None:
    support = random_cssp(5, actions=3, context_size=3).support
    assert (
        len(LRCSSP(support, 3, loss_floor=0.1, widths=widths.likelihood())._constants.sets.vertices.vertices) == 28
    )  # 180 // 6 allow 30
    monkeypatch.setattr(
        import_module("goalbound.confidence.likelihood"), "MOST_BOUNDS", 6 * (support.pairs + support.triples)
    )
    assert len(LRCSSP(support, 3, loss_floor=0.1, widths=widths.likelihood())._constants.sets.vertices.vertices) == 6
