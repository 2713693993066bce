"""Results in the user's unit: each amount is rounded as its field says, the unit is said once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from goalbound import SSP, LossScale
from goalbound.models.amounts import (
    Amounts,
    Capped,
    at_least,
    at_most,
    cap_entry,
    cap_of,
    each,
    interval,
    nearest,
    with_cap,
)

THIRDS = LossScale("min", cap=1 / 3)


@dataclass(frozen=True, eq=False)
class Bounds(Amounts):
    lower: Any
    upper: Any
    estimate: Any = None
    inside: Any = ()

    _amounts: ClassVar = {"lower": at_least, "upper": at_most, "estimate": nearest, "inside": each}


def test_bounds_are_rounded_outwards_and_what_is_missing_stays_missing() -> None:
    losses = np.array([0.0, 0.1, 0.7, np.inf])
    shown = Bounds(losses, losses).in_unit(THIRDS)
    exact = [float(loss) / 3 for loss in losses]
    assert (shown.lower <= exact).all()
    assert (shown.upper >= exact).all()
    assert (shown.lower[0], shown.upper[0], shown.lower[3], shown.upper[3]) == (0.0, 0.0, np.inf, np.inf)
    assert shown.estimate is None
    assert not shown.upper.flags.writeable
    assert (shown.unit, shown.loss_scale, Bounds(losses, losses).unit) == ("min", THIRDS, None)


def test_numbers_intervals_and_results_inside_are_converted_too() -> None:
    minutes = LossScale("min", cap=60)
    shown = Bounds(0.25, 0.25, 0.25, (Bounds(0.5, 0.5),)).in_unit(minutes)
    assert (shown.estimate, shown.inside[0].loss_scale) == (15.0, minutes)
    assert shown.lower < 15.0 < shown.upper
    low, high = interval(minutes, (0.25, 0.5))
    assert (low, high) == (pytest.approx(15), pytest.approx(30))
    assert low < 15.0
    assert high > 30.0


def test_a_problem_says_with_one_number_what_a_loss_of_1_is() -> None:
    problem = SSP.dense([[0.5]], [[[0.0, 1.0]]])
    assert (cap_of(problem), cap_of(with_cap(problem, 60.0))) == (1.0, 60.0)
    assert Capped(**cap_entry(60.0)).cap_sentence == "A loss of 1 is 60 in the problem's unit."
    assert Capped().cap_sentence == ""
