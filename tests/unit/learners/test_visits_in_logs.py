"""When a visit counts: outcomes that come late, steps of others in between."""

from __future__ import annotations

from goalbound import LRCSSP, GreedyRidge, Step, Support, widths
from tests.support.driving import written

SUPPORT = Support.full(2, 2)
LOG = [([0.3, 0.7], Step(0, 1, 0.5, 1)), ([0.6, 0.4], Step(1, 0, 0.25, 2)), ([0.2, 0.8], Step(0, 0, 0.125, 0))]


def busy() -> LRCSSP:
    """A learner that awaits the outcome of a visit of state 0, which is in its arrays and in no sum yet."""
    learner = LRCSSP(SUPPORT, 2, loss_floor=0.1, widths=widths.sharp())
    learner.begin([0.5, 0.5], id="awaited").act(0)
    return learner


def test_a_visit_that_is_awaited_counts_before_later_ones_of_its_pair_in_a_log_as_step_by_step() -> None:
    at_once, one_by_one = busy(), busy()
    pair = int(at_once.episode("awaited")._pair)
    at_once.learn_log(LOG)
    for context, step in LOG:
        one_by_one.learn(context, step)
    assert written(at_once) == written(one_by_one)
    assert at_once.statistics.visits.sum() == len(LOG) + 1  # the awaited one is a visit without an outcome
    assert at_once._state.pending.visits[pair] == 1
    for learner in (at_once, one_by_one):
        learner.episode("awaited").observe(Step(0, pair, 0.5, 2))
    assert written(at_once) == written(one_by_one)
    assert not at_once._state.pending.visits.any()


def test_who_makes_no_sets_counts_no_visit_before_its_outcome() -> None:
    learner = GreedyRidge(SUPPORT, 2, loss_floor=0.1)
    learner.begin([0.5, 0.5], id="awaited").act(0)
    learner.learn_log(LOG)
    assert learner.statistics.visits.sum() == len(LOG)
