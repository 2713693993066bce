"""Certified bounds: as narrow as asked for, and never narrower than what is proved."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.models import SSP
from goalbound.planning import Status, solve
from tests.reference import exact, graph
from tests.reference.certified import assert_bounds, assert_certified
from tests.support.small_problems import one_state


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-6, 1e-9, 1e-12])
def test_the_bounds_are_as_narrow_as_asked_and_the_values_between(tolerance: float) -> None:
    generator = np.random.default_rng(7)
    ssp = SSP.dense(generator.random((30, 3)), generator.dirichlet(np.full(31, 0.3), size=(30, 3)))
    found = solve(ssp, tolerance=tolerance)
    values = exact.policy_losses(ssp, solve(ssp).policy.tolist())
    assert_bounds(found, values)
    if tolerance >= 1e-9 or found.status == Status.CONVERGED:
        assert found.status == Status.CONVERGED
        assert (found.upper - found.lower <= tolerance * found.upper).all()


def nested(leave: float) -> SSP:
    """Two exits, one behind the other, and each failure begins again: about leave^-2 steps."""
    return SSP.from_transitions(
        [(0, 0, 0, 1.0 - leave, 1.0), (0, 0, 1, leave, 1.0), (1, 0, 0, 1.0 - leave, 1.0), (1, 0, 2, leave, 1.0)]
    )


def biased(n: int) -> SSP:
    """A corridor that is walked forward with 1/3 and back with 2/3: about 2^(n + 1) steps."""
    return SSP.from_transitions(
        [(s, 0, max(s - 1, 0), 2 / 3, 1.0) for s in range(n)] + [(s, 0, s + 1, 1 / 3, 1.0) for s in range(n)]
    )


def nearly_free(loss: float) -> SSP:
    """0 and 1 lead to each other, nearly for free; the goal costs 1 from 1."""
    return SSP.from_transitions([(0, 0, 1, 1.0, 0.0), (1, 0, 0, 1.0, loss), (1, 1, 2, 1.0, 1.0)])


@pytest.mark.parametrize(
    "ssp",
    [nested(1e-7), nested(1e-9), biased(30), biased(50)],
    ids=["nested 1e-7", "nested 1e-9", "biased 30", "biased 50"],
)
def test_values_up_to_1e18_are_certified(ssp: SSP) -> None:
    assert_certified(ssp, solve(ssp), exact.optimal_values(ssp))


def nearly_free_with_ends(loss: float) -> SSP:
    """As before, and the goal costs 1 from 0 too."""
    return SSP.from_transitions([(0, 0, 1, 1.0, 0.0), (0, 1, 2, 1.0, 1.0), (1, 0, 0, 1.0, loss), (1, 1, 2, 1.0, 1.0)])


def half_of_a_loss(loss: float) -> SSP:
    """0 comes to 1 with 1/2, for free; 1 pays the loss."""
    return SSP.from_transitions([(0, 0, 1, 0.5, 0.0), (0, 0, 2, 0.5, 0.0), (1, 0, 2, 1.0, loss)])


EXTREMES = {
    "nested exits of 1e-12": nested(1e-12),
    "nested exits of 1e-200": nested(1e-200),
    "a loop that costs 1e-17": nearly_free(1e-17),
    "a loop that costs 1e-17 with two ends": nearly_free_with_ends(1e-17),
    "a loop that costs 1e-300": nearly_free(1e-300),
    "an exit of 1e-200": one_state((1.0, 1e-200)),
    "a loss of 5e-324": one_state((5e-324, 0.5)),
    "half of the smallest loss": half_of_a_loss(5e-324),
    "an exit of 5e-324": one_state((1.0, 5e-324)),
}


@pytest.mark.parametrize("ssp", [pytest.param(ssp, id=name) for name, ssp in EXTREMES.items()])
def test_at_the_end_of_the_floats_bounds_hold_and_nothing_unproved_is_called_converged(ssp: SSP) -> None:
    found, values = solve(ssp), exact.optimal_values(ssp)
    assert_bounds(found, values)
    assert graph.is_proper(ssp, found.policy.tolist())
    if found.status == Status.CONVERGED:
        assert_certified(ssp, found, values)
