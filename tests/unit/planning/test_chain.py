"""Chains with exits so rare that a solver needs care."""

from __future__ import annotations

from fractions import Fraction

import pytest

from goalbound.models import SSP
from goalbound.planning import Status, solve
from tests.reference import exact
from tests.reference.certified import assert_bounds, assert_certified


@pytest.mark.parametrize("leave", [1e-6, 1e-9, 1e-12])
def test_a_tiny_exit_is_compared_with_a_known_price(leave: float) -> None:
    # 0 pays 2^-20 a step until it leaves; 1 leads there for free or finishes for 1: the better of 1 and 2^-20 / leave
    ssp = SSP.from_transitions(
        [(0, 0, 0, 1.0 - leave, 2.0**-20), (0, 0, 2, leave, 2.0**-20), (1, 0, 0, 1.0, 0.0), (1, 1, 2, 1.0, 1.0)]
    )
    found = solve(ssp)
    assert_certified(ssp, found, exact.optimal_values(ssp))
    assert found.policy[1] == (0 if 2.0**-20 / leave < 1.0 else 1)


@pytest.mark.parametrize("leave", [1e-6, 1e-9, 1e-12])
def test_a_tiny_exit_from_a_cycle_of_two(leave: float) -> None:
    ssp = SSP.from_transitions(
        [(0, 0, 1, 1.0, 0.5), (1, 0, 0, 1.0 - leave, 0.5), (1, 0, 2, leave, 0.5), (1, 1, 0, 1.0, 0.0)]
    )
    found = solve(ssp)
    values = exact.optimal_values(ssp)
    assert_bounds(found, values)
    if leave >= 1e-9 or found.status == Status.CONVERGED:
        assert_certified(ssp, found, values)


def test_a_corridor_of_several_hundred_thousand_expected_steps() -> None:
    # a walk on 0..599 that steps on with 1/2 and back with 1/2 (staying at 0), the goal after the last: the expected
    # steps from k are (n - k)(n + k + 1), so n (n + 1) = 360 600 from the start
    n = 600
    rows = [(s, 0, max(s - 1, 0), 0.5, 0.25) for s in range(n)] + [(s, 0, s + 1, 0.5, 0.25) for s in range(n)]
    ssp = SSP.from_transitions(rows)
    found = solve(ssp)
    steps = [Fraction((n - k) * (n + k + 1)) for k in range(n + 1)]
    assert found.status == Status.CONVERGED
    for lower, value, upper in zip(found.lower.tolist(), [s / 4 for s in steps], found.upper.tolist(), strict=True):
        assert lower <= value <= upper
        assert upper - lower <= 1e-9 * upper
    assert found.hitting_times == pytest.approx([float(s) for s in steps], rel=1e-8)
