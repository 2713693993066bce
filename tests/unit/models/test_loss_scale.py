"""Losses in a unit: there and back, beyond the cap, and as JSON."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest

from goalbound import LossScale
from goalbound.errors import InputError

MINUTES = LossScale("min", cap=60)
CLIPPED = LossScale("min", cap=60, beyond="clip")


def test_numbers_are_numbers_and_arrays_keep_their_shape() -> None:
    assert MINUTES.from_unit(15) == 0.25  # 15 / 60
    assert type(MINUTES.from_unit(np.int64(15))) is float
    np.testing.assert_array_equal(MINUTES.from_unit([[0, 30], [45, 60]]), [[0.0, 0.5], [0.75, 1.0]])
    assert MINUTES.to_unit(0.25) == 15.0
    np.testing.assert_array_equal(MINUTES.to_unit(np.array([0.0, 2.5])), [0.0, 150.0])


def test_beyond_the_cap_is_refused_with_its_value_or_clipped_and_countable() -> None:
    with pytest.raises(InputError, match=r'a loss of 75 min is above the cap of 60 min.*beyond="clip"'):
        MINUTES.from_unit([10, 75])
    np.testing.assert_array_equal(CLIPPED.from_unit([10, 60, 75]), [10 / 60, 1.0, 1.0])
    np.testing.assert_array_equal(CLIPPED.beyond_cap([10, 60, 75]), [False, False, True])


@pytest.mark.parametrize("scale", [MINUTES, CLIPPED])
@pytest.mark.parametrize("amount", [-1, math.nan, math.inf, "12", None, True])
def test_what_is_no_loss_is_an_error_whatever_lies_beyond(scale: LossScale, amount) -> None:
    with pytest.raises(InputError):
        scale.from_unit(amount)


def test_it_is_written_and_read_as_json_and_shows_what_it_is() -> None:
    assert LossScale.from_json(json.loads(json.dumps(CLIPPED.as_json()))) == CLIPPED
    assert repr(MINUTES) == "LossScale(unit='min', cap=60.0, beyond='refuse')"
    assert pickle.loads(pickle.dumps(CLIPPED)) == CLIPPED
    with pytest.raises(InputError, match="a loss scale has unit, cap and beyond"):
        LossScale.from_json({"unit": "min"})


def test_totals_of_an_episode_are_converted_whatever_the_cap() -> None:
    for scale in (MINUTES, CLIPPED):
        assert scale.total_from_unit(120) == 2.0  # 120 / 60
        np.testing.assert_array_equal(scale.total_from_unit([-30, 600]), [-0.5, 10.0])
    with pytest.raises(InputError, match="amounts holds inf; a total is a finite number"):
        MINUTES.total_from_unit([1, math.inf])
