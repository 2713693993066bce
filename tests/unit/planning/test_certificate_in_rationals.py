"""Policy iteration in exact rationals, from a bad proper policy, against fractions computed elsewhere."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from goalbound.models import SSP
from goalbound.planning.certificate import solve_in_rationals
from goalbound.planning.reduction import rows_of
from tests.support.small_problems import one_state


def solved(ssp: SSP, policy: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lower and upper values, and the policy of pairs, from a proper policy of pairs."""
    found = np.array(policy)
    certificate = solve_in_rationals(rows_of(ssp), np.ones(ssp.support.pairs, dtype=bool), found)
    return certificate.lower, certificate.upper, found


def test_the_bounds_are_one_rounding_apart_around_the_exact_value() -> None:
    # 0.1 / 0.3, of the floats 0.1 and 0.3: no float, so that the bounds are its neighbours.
    lower, upper, policy = solved(one_state((0.1, 0.3)), [0])
    exact = Fraction(0.1) * (Fraction(1.0 - 0.3) + Fraction(0.3)) / Fraction(0.3)
    assert Fraction(lower[0]) < exact < Fraction(upper[0]) == Fraction(np.nextafter(lower[0], np.inf))
    assert (lower[1], upper[1], policy.tolist()) == (0.0, 0.0, [0])


def test_a_difference_that_no_float_of_the_values_shows_decides() -> None:
    # Losses 1 and 1 - 2^-53 at the end of a chain whose values are about 2^60: equal in float64, not in rationals.
    tiny = 2.0**-60
    ssp = SSP.dense(
        [[0.5, 0.5], [1.0, 1.0 - 2.0**-53]],
        [[[1.0 - tiny, tiny / 2, tiny / 2]] * 2, [[0.0, 0.0, 1.0]] * 2],
    )
    _, _, policy = solved(ssp, [0, 2])
    assert policy.tolist() == [0, 3]


def test_values_beyond_the_floats_have_the_largest_one_as_lower_bound() -> None:
    smallest = 5e-324
    lower, upper, _ = solved(one_state((1.0, smallest)), [0])  # 1 / 5e-324 is above 1.8e308
    assert (lower[0], upper[0]) == (np.finfo(np.float64).max, np.inf)
