"""Bounds stay bounds when they are shortened."""

from fractions import Fraction

import numpy as np
import pytest

from goalbound.experiments.explorer.numbers import about, at_least, at_most


def test_shortened_bounds_are_on_the_right_side_and_close():
    rng = np.random.default_rng(0)
    drawn = (rng.random(2000) * 10.0 ** rng.integers(-12, 12, 2000)).tolist()
    values = [*drawn, 0.0, 1.0, 0.1, 1e-300, 123456789012.5]
    for value, low, high in zip(values, at_least(values), at_most(values), strict=True):
        assert Fraction(low) <= Fraction(value) <= Fraction(high)
        assert low == pytest.approx(value, rel=2e-9)
        assert high == pytest.approx(value, rel=2e-9)


def test_what_json_cannot_write_is_none():
    for shorten in (at_least, at_most, about):
        assert shorten([np.inf, np.nan]) == [None, None]
    assert about([2 / 3]) == [0.6666666667]
