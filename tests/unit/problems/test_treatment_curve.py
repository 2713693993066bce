"""One biomarker, smooth curves, and a best treatment that changes back and forth."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound import solve
from goalbound.adapters.covariates import Hats
from goalbound.planning import Status, is_proper
from goalbound.problems.treatment import helping_chances, treatment_curve

FINE = Hats(np.linspace(0, 1, 33))


def test_the_chances_are_the_curves_at_the_knots_and_straight_between_them() -> None:
    problem = treatment_curve()
    knots = np.linspace(0, 1, 33)
    pair = problem.support.pair
    for x in (0.0, 0.125, 0.4, 0.71, 1.0):
        now = problem.at(FINE(x))
        for number, name in enumerate(("standard", "targeted", "broad")):
            row = problem.support.row(pair("severity 3", name))
            want = np.interp(x, knots, helping_chances(knots)[:, number])
            assert now.probabilities[row][0] == pytest.approx(want, abs=1e-12)
    # cos(pi/2) = 0 and exp(0) = 1 in the middle; cos(0) = 1 at the end.
    np.testing.assert_allclose(helping_chances(0.5), [0.1, 0.9, 0.4], atol=1e-12)
    np.testing.assert_allclose(helping_chances(1.0)[[0, 2]], [0.9, 0.4], atol=1e-12)


def test_every_policy_is_proper_under_every_context() -> None:
    problem = treatment_curve(levels=4)
    assert problem.probabilities[problem.support.next_state == problem.support.states].min() >= 0.1 - 1e-12
    for treatment in range(3):
        for context in (np.eye(33)[16], np.full(33, 1 / 33)):
            assert is_proper(problem.at(context), np.full(4, treatment))
    assert solve(problem.at(FINE(0.5))).status is Status.CONVERGED


def test_one_rung_without_relapse_by_hand() -> None:
    # At x = 0.5 the targeted treatment helps with 0.9: 0.2 / 0.9 until recovered.
    problem = treatment_curve(1, relapse=0.0)
    assert solve(problem.at(FINE(0.5))).values[0] == pytest.approx(0.2 / 0.9)
