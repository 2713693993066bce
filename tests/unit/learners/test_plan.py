"""Plans as people read them: of learners with contexts, and without."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound import LRCSSP, GreedyRidge, Plan, Support
from goalbound.baselines import bernstein_ssp
from goalbound.errors import LearnerError

SUPPORT = Support.full(2, 2)


def test_a_plan_says_which_pairs_are_known_then_value_and_action_of_each_state() -> None:
    plan = LRCSSP(SUPPORT, 2, loss_floor=0.25, loss_bound=3.0).plan([0.5, 0.5])
    # Nothing is seen: each state may end at once at the loss floor.
    assert (
        str(plan)
        == "0 of 4 pairs known; loss bound 3\nstate 0  0.25          action 0\nstate 1  0.25          action 0"
    )
    assert plan.model().losses.tolist() == [0.25] * 4


def test_without_contexts_a_plan_has_a_policy_and_values_only() -> None:
    plan = bernstein_ssp(SUPPORT, loss_floor=0.25).plan()
    assert str(plan) == "state 0  0.25          action 0\nstate 1  0.25          action 0"
    assert plan.context.tolist() == [1.0]
    assert (plan.upper, plan.losses, plan.rows, plan.known, plan.loss_bound) == (None,) * 5
    with pytest.raises(LearnerError, match="has no model"):
        plan.model()


def test_of_many_states_twelve_are_shown() -> None:
    support = Support.full(14, 1)
    plan = Plan(support, np.ones(1), np.zeros(14, dtype=np.int64), np.arange(14.0, -1.0, -1.0))
    lines = str(plan).splitlines()
    assert len(lines) == 13
    assert lines[0].split() == ["state", "0", "14", "action", "0"]
    assert lines[-1] == "and 2 more states"


def test_what_a_plan_holds_cannot_be_written_to() -> None:
    for plan in (
        GreedyRidge(SUPPORT, 2, loss_floor=0.1).plan([0.5, 0.5]),
        bernstein_ssp(SUPPORT, loss_floor=0.1).plan(),
    ):
        for array in (plan.context, plan.policy, plan.values):
            assert not array.flags.writeable
