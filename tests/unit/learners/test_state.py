"""The state of a learner by ridge regression before it has seen anything: shapes, first values, what is left out."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.confidence import likelihood, paper, sharp
from goalbound.confidence.linearity import VIOLATION, Untested
from goalbound.confidence.points import Points
from goalbound.confidence.protocol import Counted, Empty, Run
from goalbound.confidence.regression import new_regression_sums
from goalbound.jit.records import new_record
from goalbound.learners.explore.greedy import Greedy
from goalbound.learners.explore.posterior import Posterior
from goalbound.learners.state import (
    CHANGE_LOG_SIZE,
    EPISODE_PROGRESS,
    LEARNER_TOTALS,
    EpisodeState,
    LearnerState,
    new_episode_state,
    new_learner_state,
)
from goalbound.models import Support
from goalbound.planning.kernels.value_iteration import INTERVAL_SET, L2_BALL

SUPPORT = Support.from_pairs([{0: [0, 1, 2], 1: [1]}, {0: [0, 2], 1: [2]}])
"""S = 2, N = 4 pairs, two of each state; M = 3 + 1 + 2 + 1 = 7 triples."""


def learner_state() -> LearnerState:
    sums = new_regression_sums(4, 7, 3, 0.5)
    watch = Untested(new_record(VIOLATION))
    return new_learner_state(sums, SUPPORT.pair_start, loss_floor=0.25, loss_bound=2.0, sets=Empty(), watch=watch)


def episode_state(*, shape: int = L2_BALL, ceiling: float = np.inf) -> EpisodeState:
    return new_episode_state(
        SUPPORT.pair_start, SUPPORT.next_start, 3, shape=shape, ceiling=ceiling, room=Empty(), explore=Empty()
    )


def test_a_learner_has_an_entry_for_every_pair_and_a_row_for_every_triple() -> None:
    state = learner_state()
    for array in (state.revision, state.log_det):
        assert array.shape == (4,)
        assert not array.any()
    assert state.pending.contexts.shape == (4, 3)
    assert state.change_log.shape == (CHANGE_LOG_SIZE,)


def test_the_first_plan_starts_from_the_floor_and_the_first_pairs() -> None:
    state = learner_state()
    assert state.values.tolist() == [0.25, 0.25, 0.0]
    assert state.policy.tolist() == [0, 2]
    state.policy[0] = 1
    assert SUPPORT.pair_start[0] == 0  # it is a copy


def test_the_totals_start_at_zero_but_for_the_bound() -> None:
    totals = learner_state().totals
    assert totals.dtype == LEARNER_TOTALS
    assert {name: totals[name] for name in LEARNER_TOTALS.names if totals[name] != 0} == {"loss_bound": 2.0}


def test_two_states_share_nothing_that_changes() -> None:
    one, other = learner_state(), learner_state()
    one.totals["intervals"] += 1
    one.regression.gram[0] += 1.0
    assert other.totals["intervals"] == 0
    assert other.regression.gram[0].tolist() == (0.5 * np.eye(3)).tolist()


@pytest.mark.parametrize(("shape", "sides"), [(L2_BALL, 0), (INTERVAL_SET, 7)])
def test_an_episode_has_the_sides_of_intervals_only_where_it_plans_with_them(shape: int, sides: int) -> None:
    state = episode_state(shape=shape, ceiling=9.0)
    assert state.sets.low.shape == state.sets.high.shape == (sides,)
    assert state.loss_high.shape == (4,)
    assert (state.sets.shape, state.sets.ceiling) == (shape, 9.0)


def test_an_episode_has_looked_at_nothing_yet() -> None:
    state = episode_state()
    assert state.revision.tolist() == [-1] * 4  # no revision of a learner is negative
    assert state.iteration.progress["residual"] == np.inf
    assert not state.sets.used.any()  # all mass may go to the goal
    assert state.sets.centre.shape == (7,)
    assert state.iteration.values.shape == (3,)
    assert state.context.shape == state.direction.shape == state.residual.shape == (3,)
    assert all(state.progress[name] == 0 for name in EPISODE_PROGRESS.names)


def test_coefficients_are_kept_only_where_sets_are_around_them() -> None:
    """Balls and points have estimates; intervals are made from the sums, and no ridge coefficients are kept."""
    run = Run(SUPPORT, 3, 0.1, 1.0, Counted(*[np.ones(4, dtype=np.bool_)] * 2, np.zeros(4, dtype=np.bool_)))
    for room, kept in ((Points(), True), (paper().room, True), (sharp().room, False), (likelihood().room, False)):
        state = room.new_state(run, room.constants(run))
        assert hasattr(state, "losses") == kept
        if kept:
            assert (state.losses.shape, state.rows.shape) == ((4, 3), (7, 3))


def test_noise_has_a_number_for_every_triple_and_every_pair_where_rows_are_drawn() -> None:
    run = Run(SUPPORT, 3, 0.1, 1.0, Counted(*[np.ones(4, dtype=np.bool_)] * 2, np.zeros(4, dtype=np.bool_)))
    assert Posterior().new_view(run).noise.shape == (7 + 4,)
    assert not hasattr(Greedy().new_view(run), "noise")
