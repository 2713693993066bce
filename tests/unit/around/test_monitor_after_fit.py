"""A monitor that is put around a learner which has learned a log knows what to expect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from goalbound import LRCSSP, GreedyRidge, LocalOptimism, Monitored, Step
from goalbound.baselines.factories import uc_ssp
from goalbound.errors import ChangeWarning
from goalbound.learners.prior import PriorKnowledge
from tests.support.incidents_at_work import AFTER, BEFORE, contexts, greedy, handle, people

SUPPORT = BEFORE.support


def fitted(learner: Any) -> Any:
    learner.learn_log(people(BEFORE, 600))
    return learner


@pytest.mark.parametrize("kind", [GreedyRidge, LocalOptimism, LRCSSP])
def test_a_change_in_the_first_cases_is_found_as_if_it_had_seen_the_log(kind: Any) -> None:
    around, within = Monitored(fitted(kind(SUPPORT, 2, loss_floor=0.05))), Monitored(kind(SUPPORT, 2, loss_floor=0.05))
    fitted(within)
    for name in ("gram", "inverse", "outcome_sums", "visits", "overall"):
        mine, theirs = (getattr(one.detector._sums, name) for one in (around, within))
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9, err_msg=name)
    with pytest.warns(ChangeWarning, match="restart"):
        around.learn_log(people(AFTER, 50, seed=3))
    assert around.change is not None
    assert around.change.case == 0


def test_what_was_guessed_is_no_data_of_the_detector_nor_are_pairs_with_outcomes_that_are_still_to_come() -> None:
    guess = PriorKnowledge.nothing(SUPPORT, 2).with_model(AFTER, strength=50.0)
    guessing, plain = (Monitored(fitted(GreedyRidge(SUPPORT, 2, loss_floor=0.05, prior=p))) for p in (guess, None))
    for name in ("gram", "outcome_sums", "visits", "overall"):
        mine, theirs = (getattr(one.detector._sums, name) for one in (guessing, plain))
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9, err_msg=name)
    waiting = fitted(LRCSSP(SUPPORT, 2, loss_floor=0.05))
    first, second = waiting.begin([0.5, 0.5]), waiting.begin([0.5, 0.5])
    action = first.act(0)
    second.act(0)
    second.observe(Step(0, action, 0.1, 2))  # that of the first, which was played before, is still to come
    pair, known = SUPPORT.pair(0, action), Monitored(waiting).detector._sums.visits
    assert waiting.statistics.pending[pair] == 1
    assert known[pair] == 0
    assert (np.delete(known, pair) == np.delete(waiting.statistics.visits, pair)).all()


def test_a_learner_without_contexts_has_no_sums_to_begin_with() -> None:
    learner = uc_ssp(SUPPORT, loss_floor=0.1)
    learner.learn_log([([1.0], step) for _, step in people(BEFORE, 50)])
    assert Monitored(learner).detector._sums.visits.sum() == 0


def test_it_goes_on_where_nothing_changes() -> None:
    monitor = Monitored(fitted(greedy()))
    handle(monitor, BEFORE, contexts(300, 4))
    assert monitor.change is None
