"""What a pair looks like to each context-free method, by the formulas."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

from goalbound.baselines import Method
from goalbound.planning.kernels.value_iteration import optimistic_row
from tests.support.tabular_kernels import DELTA, Arguments, arguments

NEXT = [2, 0, 2, 3, 0, 2, 2, 3]  # of pair 0, in this order: state 0 twice, 2 four times, the goal twice
LOSSES = [0.5, 0.25, 0.5, 0.75, 0.5, 0.25, 0.5, 0.75]  # mean 1/2, mean square 0.28125
N, SCALE = 8.0, 0.03


def taught(method: Method) -> Arguments:
    """A learner that saw eight steps of pair 0, loss floor 0.1, and has looked at it."""
    case = arguments(method)
    for following, loss in zip(NEXT, LOSSES, strict=True):
        case.record(0, following, loss)
    case.update(0)
    return case


@pytest.mark.parametrize(
    ("method", "radius"),
    [
        (Method("uc-ssp", scale=SCALE), SCALE * sqrt(8 * 3 * log(2 * 2 * N / DELTA) / N)),
        (Method("hoeffding-ssp", loss_bound=2.0, scale=SCALE), 5 * SCALE * sqrt(3 * log(6 * N / DELTA) / N)),
    ],
    ids=str,
)
def test_half_the_l1_radius_may_be_taken_from_the_row(method: Method, radius: float) -> None:
    case = taught(method)
    sets = case.learner.main.sets
    assert case.row() == {2: 0.5, 0: 0.25}
    assert sets.mass[0] == 0.75
    assert sets.ball[0] == pytest.approx(radius / 2)
    out = np.zeros(2)
    optimistic_row.python(sets, 0, np.array([5.0, 0.0, 1.0, 0.0]), 0.0, out)
    taken = min(radius / 2, 0.25)  # from state 0 first, where the value is largest
    assert out == pytest.approx([0.5 - (radius / 2 - taken), 0.25 - taken])


def test_bernstein_takes_from_every_next_state_and_drops_the_empty_ones() -> None:
    a = log(6 * N / DELTA) / N
    case = taught(Method("bernstein-ssp", scale=0.01))
    assert case.row() == pytest.approx({s: p - 0.01 * (28 * a + 4 * sqrt(p * a)) for s, p in {2: 0.5, 0: 0.25}.items()})
    narrow = taught(Method("bernstein-ssp", scale=0.015))
    assert list(narrow.row()) == [2]  # 0.25 - 0.015 (28 a + 2 sqrt(a)) < 0, a = 0.772
