"""Free steps: what loses nothing is collapsed before planning, and expanded after."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from goalbound.models import SSP
from goalbound.planning import Status, solve
from tests.reference.certified import assert_certified


def test_all_losses_zero_still_means_reaching_the_goal() -> None:
    ssp = SSP.dense(np.zeros((2, 2)), [[[1, 0, 0], [0, 1, 0]], [[1, 0, 0], [0.5, 0, 0.5]]])
    found = solve(ssp)
    assert found.values.tolist() == found.lower.tolist() == found.upper.tolist() == [0.0, 0.0, 0.0]
    assert found.policy.tolist() == [1, 1]
    assert found.hitting_times == pytest.approx([4.0, 3.0, 0.0])  # h0 = 1 + h1, h1 = 1 + h0 / 2
    assert found.status == Status.CONVERGED


def test_a_free_cycle_shares_the_cheapest_way_out() -> None:
    # 0 <-> 1 <-> 2 are free to walk; the goal costs 1 from 0, 1/2 from 1, 1/4 from 2
    ssp = SSP.from_transitions(
        [(0, 0, 1, 1.0, 0.0), (0, 1, 3, 1.0, 1.0), (1, 0, 2, 1.0, 0.0), (1, 1, 0, 1.0, 0.0), (1, 2, 3, 1.0, 0.5),
         (2, 0, 1, 1.0, 0.0), (2, 1, 3, 1.0, 0.25)]
    )  # fmt: skip
    found = solve(ssp)
    assert found.policy.tolist() == [0, 0, 1]
    assert_certified(ssp, found, [Fraction(1, 4)] * 3 + [Fraction(0)])


def test_a_tie_with_a_free_loop_goes_to_the_action_that_ends() -> None:
    # 0: free into 0 or 1, or finish for 7/8. 1: finish for 1, or back to 0 for free. Both are worth 7/8, and the free
    # action of 0 ties with the one that finishes: v0 = v0 / 2 + v1 / 2. Together the free actions never end.
    ssp = SSP.from_transitions(
        [(0, 0, 0, 0.5, 0.0), (0, 0, 1, 0.5, 0.0), (0, 1, 2, 1.0, 0.875), (1, 0, 2, 1.0, 1.0), (1, 1, 0, 1.0, 0.0)]
    )
    found = solve(ssp)
    assert found.policy.tolist() == [1, 1]
    assert_certified(ssp, found, [Fraction(7, 8), Fraction(7, 8), Fraction(0)])
