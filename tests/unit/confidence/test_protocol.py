"""The known test of the paper, and what a room is that fills in as little as it may."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from goalbound.confidence.protocol import ConfidenceModel, Counted, Empty, Run, is_known
from goalbound.learners.loop import plan
from goalbound.models import Support
from tests.support.ridge import lr_cssp
from tests.support.ridge_kernels import Arguments, arguments_of

SUPPORT = Support.full(2, 2)


def planned() -> Arguments:
    """loss floor 1/2, B = 1, delta = 1/2, in the first interval."""
    case = arguments_of(lr_cssp(SUPPORT, 2, loss_floor=0.5, loss_bound=1.0, delta=0.5), [0.25, 0.75])
    assert case.python(plan)(case.constants, case.learner, case.episode, case.workspace, 10**6)
    return case


def known(case: Arguments, pair: int) -> bool:
    return bool(case.python(is_known)(case.constants, case.learner, case.episode, pair))


@pytest.mark.parametrize(
    ("widths", "norm", "expected"),
    [
        (0.05, 0.0, False),  # 10 * 1 * 0.05 = 0.5 is the floor: the test is strict
        (np.nextafter(0.05, 0.0), 0.0, True),
        (0.0, 0.03467, True),  # 10 sqrt(log(4 * 1 / 0.5)) = 14.4203, and 0.5 / 14.4203 = 0.034673
        (0.0, 0.03468, False),
    ],
)
def test_a_pair_is_known_by_both_sides_of_the_inequality(widths: float, norm: float, expected: bool) -> None:
    case = planned()
    case.episode.known_width[2], case.episode.norm[2] = widths, norm
    assert known(case, 2) == expected


def test_what_was_known_may_be_unknown_in_a_later_interval_or_under_a_larger_bound() -> None:
    case = planned()
    case.episode.known_width[:] = 0.0
    case.episode.norm[2] = 0.03
    assert known(case, 2)  # 14.42 * 0.03 = 0.433
    case.episode.progress["interval"] = 10
    assert not known(case, 2)  # 10 sqrt(log(80)) = 20.93; * 0.03 = 0.628
    case.episode.progress["interval"], case.episode.progress["loss_bound"] = 1, 2.0
    assert not known(case, 2)


class Silent(ConfidenceModel):
    """A room that keeps nothing and shows nothing."""

    name = "silent"


def test_a_room_that_leaves_all_out_keeps_nothing() -> None:
    every = np.ones(SUPPORT.pairs, dtype=np.bool_)
    run, room = Run(SUPPORT, 2, 0.1, 1.0, Counted(every, every, ~every)), Silent()
    assert room.room is room
    kept: list[Any] = [room.constants(run), room.new_state(run, Empty()), room.new_view(run)]
    assert [type(one) for one in kept] == [Empty, Empty, Empty]
    assert room.delta_of_tests(0.1) == 0.1
    assert (room.step_work(Empty()), room.plan_work(), room.proven) == (0.0, 1, False)
    assert room.state_in_use(kept[1]) is kept[1]
    assert (room.as_json(), str(room)) == ({"name": "silent"}, "silent")
