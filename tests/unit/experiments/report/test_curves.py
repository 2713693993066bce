"""Grids of episodes, means over seeds, local exponents."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.experiments.report.curves import COARSE, coarse_grid, local_exponents, mean_curve, rounded
from tests.support.synthetic import power, record, run_spec


def test_the_local_exponent_of_a_power_is_its_exponent_wherever_there_is_a_decade():
    run = record(run_spec(), power(3.0, 0.7))
    at = np.array([5, 20, 60, 100])
    found = local_exponents(run, at)
    assert np.isnan(found[0])  # 5 is less than a decade after 1
    np.testing.assert_allclose(found[1:], 0.7, atol=0.02)  # between kept rows the regret is interpolated


def test_without_regret_there_is_no_exponent():
    assert np.isnan(local_exponents(record(run_spec(), power(0.0, 1.0)), np.array([50, 100]))).all()


def test_a_mean_is_missing_where_a_seed_has_no_value():
    found = mean_curve([np.array([1.0, np.nan, 3.0]), np.array([3.0, 2.0, 5.0])])
    assert found["values"] == [2, None, 4]
    assert found["low"][1] is found["high"][1] is None
    assert found["low"][0] == 1


def test_the_coarse_grid_keeps_the_ends():
    grid = np.arange(1, 10_001)
    coarse = coarse_grid(grid)
    assert (coarse[0], coarse[-1]) == (1, 10_000)
    assert len(coarse) <= COARSE


@pytest.mark.parametrize(("value", "expected"), [(1.23456789, 1.23457), (2.0, 2), (float("nan"), None), (None, None)])
def test_numbers_of_a_page_have_six_digits(value, expected):
    assert rounded(value) == expected
