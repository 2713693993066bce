"""The radius of a confidence ellipsoid, from the formula alone."""

from __future__ import annotations

import math

import pytest

from goalbound.confidence.balls import ball_radii, ridge_radius, visits_log


@pytest.mark.parametrize("visits", [0, 1, 1000])
@pytest.mark.parametrize(("size", "lam"), [(1, 1.0), (3, 0.5), (5, 4.0)])
def test_the_radius_is_that_of_the_theorem(visits: int, size: int, lam: float) -> None:
    # sqrt(d log(8 N (1 + tau / lambda) / delta)) + sqrt(lambda) with N = 6, delta = 0.1
    expected = math.sqrt(size * math.log(480.0 * (1.0 + visits / lam))) + math.sqrt(lam)
    found = ridge_radius.python(size, math.log(480.0), visits_log.python(visits, lam, 0.0), lam)
    assert found == pytest.approx(expected, rel=1e-14)


def test_what_is_missing_and_inexact_makes_the_radii_larger() -> None:
    exact = ball_radii.python(2, 3.0, 4.0, 1.0, 1.0, 1.0, 1.5, 0.0, 0.0, 0.0)
    rho = math.sqrt(2 * 5.0) + 1.0
    assert exact == pytest.approx((math.sqrt(2 * 4.0) + 1.0, 1.5 * rho, rho))
    loss, rows, same = ball_radii.python(2, 3.0, 4.0, 1.0, 1.0, 1.0, 1.5, 0.25, 0.125, 0.5)
    assert loss == pytest.approx(exact[0] + 0.25 + 0.125)
    assert rows == pytest.approx(math.sqrt((exact[1] + 0.25) ** 2 + 1.0))  # the square grows by twice the gap
    assert same == exact[2]
