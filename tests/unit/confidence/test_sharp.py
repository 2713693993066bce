"""The room of sharp sets: what is plausible before anything was played, and what shares the failure probability."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.confidence import scaled, sharp
from goalbound.confidence.protocol import Counted, Run
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.models import Support
from tests.support.ridge_kernels import arguments_of

SUPPORT = Support.from_pairs([{0: [0, 1, 2]}, {0: [0, 1], 1: [2]}])
"""Pair 0 may lead anywhere, pair 1 to the states but not to the goal (state 2), pair 2 only to the goal."""
EVERYTHING = Counted(np.ones(3, dtype=np.bool_), np.ones(3, dtype=np.bool_), np.zeros(3, dtype=np.bool_))


def run_of(delta: float = 0.1) -> Run:
    return Run(SUPPORT, 2, delta, 1.0, EVERYTHING)


def test_where_nothing_was_played_intervals_are_everything_that_is_possible() -> None:
    case = arguments_of(LRCSSP(SUPPORT, 2, loss_floor=0.1, loss_bound=5.0, widths=sharp()), [0.25, 0.75])
    for pair in range(3):
        case.look_at(pair)
    sets = case.episode.sets
    assert sets.losses.tolist() == [0.1, 0.1, 0.1]
    assert case.episode.loss_high.tolist() == [1.0, 1.0, 1.0]
    assert sets.low.tolist() == [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]  # pair 2 leads to the goal, whatever is played
    assert sets.high.tolist() == [1.0] * 6
    # half the sum of the lengths, 3 and 2; pair 2 has only its loss, between 0 and 1
    assert case.episode.known_width.tolist() == [1.5, 1.0, 0.5]


def test_losses_and_rows_have_a_quarter_of_the_failure_each_and_rows_share_it_between_two_bounds() -> None:
    constants = sharp().room.constants(run_of(delta=0.08)).sharp
    # two sides of 3 losses in 0.02, and two sides of two bounds of 6 next states
    assert constants.loss_log == pytest.approx(np.log(2 * 3 / 0.02))
    assert constants.row_log == pytest.approx(np.log(4 * 6 / 0.02))
    assert (constants.noise, constants.scale) == (0.5, 1.0)
    assert scaled(sharp(), by=0.25).room.constants(run_of()).sharp.noise == 0.125


def test_sums_of_variances_are_kept_only_where_bounds_by_the_variance_are_used() -> None:
    for variance, shapes in ((True, ((6, 3), (6,))), (False, ((0, 3), (0,)))):
        room = sharp(variance=variance).room
        state = room.new_state(run_of(), room.constants(run_of())).sharp
        assert (state.variance.shape, state.variance_log_det.shape) == shapes
        assert not state.variance.any()
