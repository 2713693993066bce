"""Where plausible rows may stay and where they may lead, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.models import BallSet, Support
from goalbound.planning.robust_values import PlausibleRows, confined, may_arrive, may_never_arrive

FULL = Support.full(2, 1)
"""States 0 and 1, both lead everywhere; the goal is 2."""


def balls(support: Support, rows: list[float], radius: float) -> PlausibleRows:
    losses = np.full(support.pairs, 0.5)
    return PlausibleRows(BallSet(support, losses, losses, rows, np.full(support.pairs, radius)))


@pytest.mark.parametrize(("radius", "stays"), [(0.28, False), (0.29, True)])
def test_a_ball_may_stay_where_it_holds_a_row_without_the_goal(radius: float, stays: bool) -> None:
    # the centre (0.3, 0.3) lacks 0.4; the nearest row with the sum 1 adds 0.2 to both: 0.2 sqrt(2) = 0.283 away
    found = balls(FULL, [0.3, 0.3, 0.4] * 2, radius).may_stay(np.array([True, True, False]))
    assert found.tolist() == [stays, stays]


def test_a_trap_spoils_all_states_that_may_come_to_it() -> None:
    support = Support.from_pairs([{0: [1, 3]}, {0: [1, 3]}, {0: [2, 3]}])
    rows = balls(support, [0.0, 1.0, 0.9, 0.1, 0.5, 0.5], 0.1)
    assert may_never_arrive(rows).tolist() == [True, True, False]
    assert may_arrive(rows).tolist() == [True, True, True]
    certain = balls(support, [0.0, 1.0, 1.0, 0.0, 0.5, 0.5], 0.0)
    assert may_never_arrive(certain).tolist() == [False, True, False]
    assert may_arrive(certain).tolist() == [True, False, True]


def test_a_ball_confined_to_a_face_is_a_ball_around_the_nearest_row_of_it() -> None:
    support = Support.from_pairs([{0: [0, 1, 2]}, {0: [0]}, {0: [0, 3]}])
    plausible = BallSet(support, [0.5] * 3, [0.5] * 3, [0.4, 0.4, 0.2, 1.0, 0.5, 0.5], [0.5, 0.0, 0.0])
    face = confined(plausible, np.array([True, True, False]))
    assert isinstance(face, BallSet)
    # 0.2 goes: 0.04 of the square of the radius; shared by two states, 0.1 each: another 0.02
    np.testing.assert_allclose(face.rows[:2], [0.5, 0.5])
    np.testing.assert_allclose(face.radii[0], np.sqrt(0.25 - 0.06))
    assert face.support.states == 2
