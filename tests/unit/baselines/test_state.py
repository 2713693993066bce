"""The state of the context-free learners before they have seen anything, and copies of it."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.baselines import Method, TabularLearner
from goalbound.baselines.state import EPISODE_PROGRESS, LEARNER_TOTALS, copied, new_episode_state
from goalbound.models import Support
from goalbound.planning.kernels.value_iteration import L1_BALL, L2_BALL
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


@pytest.mark.parametrize("name", METHODS)
def test_only_uc_and_hoeffding_plan_with_l1_balls(name: str) -> None:
    shape = L1_BALL if name in ("uc", "hoeffding") else L2_BALL
    assert arguments(METHODS[name]).learner.main.sets.shape == shape


def test_the_model_of_later_attempts_shares_the_rows_and_has_losses_of_its_own() -> None:
    learner = arguments(Method("uc-ssp")).learner
    assert learner.unit.sets.centre is learner.main.sets.centre
    assert learner.unit.sets.ball is learner.main.sets.ball
    assert learner.unit.sets.losses.tolist() == [1.0] * 6
    assert learner.unit.iteration.values is not learner.main.iteration.values


def test_only_ulcvi_has_a_table_of_stages() -> None:
    # H = ceil(8 * 1 * ln(8 * 3)) = ceil(25.4)
    staged = Method("ulcvi", loss_bound=2.0, time_bound=1.0, episodes=3)
    assert arguments(staged).learner.workspace.table.shape == (26, 3)
    assert arguments(Method("eb-ssp")).learner.workspace.table.shape == (0, 3)


def test_many_states_have_no_room_to_evaluate_policies_in() -> None:
    few = arguments(Method("bernstein-ssp")).learner.workspace.workspace
    many = TabularLearner(Support.full(200, 1), Method("bernstein-ssp"), loss_floor=0.1)._state.workspace.workspace
    assert few.matrix.shape == (3, 3)
    assert many.matrix.size == 0


def test_a_ceiling_is_that_of_both_models() -> None:
    learner = arguments(Method("psrl-ssp", value_cap=7.0)).learner
    assert learner.main.sets.ceiling == learner.unit.sets.ceiling == 7.0


def test_an_episode_follows_no_plan_yet() -> None:
    state = new_episode_state(5)
    assert state.policy.tolist() == [0] * 5
    assert state.policy.dtype == np.int64
    assert all(state.progress[name] == 0 for name in EPISODE_PROGRESS.names)


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
