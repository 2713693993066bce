"""The state of the context-free learners before they have seen anything, and copies of it."""

from __future__ import annotations

import pytest

from goalbound.baselines import Method
from goalbound.baselines.state import LEARNER_TOTALS, copied
from tests.support.tabular_driving import METHODS
from tests.support.tabular_kernels import arguments


@pytest.mark.parametrize("name", METHODS)
def test_a_new_learner_has_seen_nothing_and_has_to_look_at_everything(name: str) -> None:
    learner = arguments(METHODS[name]).learner
    counts = learner.counts
    assert counts.visits.shape == counts.loss_sums.shape == counts.goals.shape == (6,)
    assert counts.seen_state.shape == counts.seen_count.shape == (24,)
    assert counts.seen_index.tolist() == [-1] * 24
    for model, least in ((learner.main, 0.1), (learner.unit, 1.0)):
        assert model.dirty[: model.dirty_count[0]].tolist() == [0, 1, 2, 3, 4, 5]
        assert model.is_dirty.all()
        assert model.iteration.values.tolist() == [least] * 3 + [0.0]
        assert model.iteration.policy.tolist() == [0, 2, 4]
        assert not model.sets.used.any()  # all mass goes to the goal


@pytest.mark.parametrize(("method", "bound"), [(Method("eb-ssp"), 1.0), (Method("eb-ssp", loss_bound=5.0), 5.0)])
def test_the_totals_start_at_zero_but_for_the_bound_and_a_plan_to_be_made(method: Method, bound: float) -> None:
    totals = arguments(method).learner.totals
    assert {name: totals[name] for name in LEARNER_TOTALS.names if totals[name] != 0} == {
        "loss_bound": bound, "stale": 1
    }  # fmt: skip


def test_a_copy_shares_inside_what_was_shared_and_nothing_with_the_original() -> None:
    case = arguments(Method("uc-ssp"))
    learner = case.learner
    for _ in range(8):
        case.record(0, 2, 0.5)
    case.update(0)
    copy = copied(learner)
    assert copy.unit.sets.centre is copy.main.sets.centre
    assert copy.unit.sets.losses is not copy.main.sets.losses
    copy.counts.visits[0] = 99
    copy.main.sets.centre[0] = 0.125
    assert learner.counts.visits[0] == 8
    assert learner.main.sets.centre[0] == 1.0
    assert copy.main.sets.pair_start is learner.main.sets.pair_start
