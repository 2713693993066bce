"""Groups of tied pairs, kernel by kernel; tests/unit/learners/test_ties.py has whole learners."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound import LRCSSP, PriorKnowledge, Step, widths
from goalbound.kernels.ties import check_noise_free, exact_loss_interval, forecast_visit, mark_members
from goalbound.problems import windy_grid

GRID = windy_grid(2, 3)


@pytest.fixture
def learner() -> LRCSSP:
    prior = PriorKnowledge.nothing(GRID.support, 3).with_ties_of(GRID).with_noise_free_losses()
    return LRCSSP(GRID.support, 3, loss_floor=0.1, widths=widths.likelihood(), prior=prior)


def test_a_change_of_a_group_marks_all_its_pairs(learner: LRCSSP) -> None:
    constants, state = learner._constants, learner._state
    before, group = state.revision.copy(), int(constants.ties.loss_group[0])
    written = int(state.totals["changes"])
    mark_members.python(constants, state, group)
    np.testing.assert_array_equal(state.revision - before, (constants.ties.loss_group == group).astype(int))
    assert state.totals["changes"] - written == (constants.ties.loss_group == group).sum()


def test_forecasts_of_groups_stand_at_their_own_places(learner: LRCSSP) -> None:
    episode = learner._new_episode_state()
    episode.context[:] = episode.ties.context[:] = [0.2, 0.3, 0.5]
    episode.ties.forecast[:] = 0.125
    pair = GRID.support.pair("row 1, column 1", "drift")
    forecast_visit.python(learner._constants, learner._state, episode, pair)
    group = int(learner._constants.ties.row_group[pair])
    tracked = learner._constants.ties.groups.likelihood.tracked
    changed = (episode.ties.forecast != 0.125).any(axis=1)
    assert not changed[0]  # losses without noise need no forecast
    if group >= 0:
        first = learner._constants.ties.groups.next_start[group]
        count = int(learner._constants.ties.groups.next_start[group + 1] - first)
        pairs = learner._groups.support.pairs if learner._groups is not None else 0
        np.testing.assert_array_equal(changed[1 : 1 + count], tracked[pairs + first : pairs + first + count])


def test_a_loss_is_checked_against_those_of_its_group(learner: LRCSSP) -> None:
    corner = np.array([1.0, 0.0, 0.0])
    learner.learn(corner, Step(0, 0, 0.4, 0))
    other = GRID.support.pair(1, 1)
    assert exact_loss_interval.python(learner._constants, learner._state, corner, other) == pytest.approx((0.4, 0.4))
    assert check_noise_free.python(learner._constants, learner._state, corner, other, 0.4)
    assert not check_noise_free.python(learner._constants, learner._state, corner, other, 0.5)
    assert learner._state.ties.noise_free.contradiction["pair"] == other
