"""Grids of episodes, means over seeds, local exponents."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.experiments.report.curves import local_exponents, rounded
from tests.support.synthetic import power, record, run_spec


def test_the_local_exponent_of_a_power_is_its_exponent_wherever_there_is_a_decade():
    run = record(run_spec(), power(3.0, 0.7))
    at = np.array([5, 20, 60, 100])
    found = local_exponents(run, at)
    assert np.isnan(found[0])  # 5 is less than a decade after 1
    np.testing.assert_allclose(found[1:], 0.7, atol=0.02)  # between kept rows the regret is interpolated


@pytest.mark.parametrize(("value", "expected"), [(1.23456789, 1.23457), (2.0, 2), (float("nan"), None), (None, None)])
def test_numbers_of_a_page_have_six_digits(value, expected):
    assert rounded(value) == expected
