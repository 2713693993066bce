"""One biomarker, smooth curves, and a best treatment that changes back and forth."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from goalbound import LRCSSP, play, solve
from goalbound.adapters.covariates import CovariateContexts, Hats
from goalbound.around.contexts import MappedContexts
from goalbound.confidence import paper, scaled
from goalbound.errors import InputError
from goalbound.planning import Status, is_proper
from goalbound.problems.treatment import biomarker, helping_chances, treatment_curve

FINE = Hats(np.linspace(0, 1, 33))


def uniform(rng: np.random.Generator, first: int, count: int) -> np.ndarray:
    return rng.random(count)


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


def test_the_best_treatment_changes_four_times_along_the_biomarker() -> None:
    problem = treatment_curve()
    best = [int(solve(problem.at(FINE(x))).policy[0]) for x in np.linspace(0, 1, 101)]
    changes = [best[0], *(now for before, now in pairwise(best) if now != before)]
    assert changes == [0, 2, 1, 2, 0]  # standard, broad, targeted, broad, standard


def test_on_average_and_at_both_ends_the_standard_treatment_is_best() -> None:
    problem = treatment_curve()
    for context in (np.full(33, 1 / 33), FINE(0.0), FINE(1.0)):
        assert solve(problem.at(context)).policy.tolist() == [0, 0, 0]
    # Averaged over x: 0.1 + 0.8 / 2 = 0.5 against 0.4; the targeted one 0.1 + 0.8 * 0.15 * sqrt(pi) = 0.313.
    np.testing.assert_allclose(
        helping_chances(np.linspace(0, 1, 20001)).mean(axis=0), [0.5, 0.1 + 0.12 * np.sqrt(np.pi), 0.4], atol=1e-4
    )


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


def test_the_biomarker_comes_back_from_its_context() -> None:
    for x in (0.0, 0.3, 1 / 3, 0.97, 1.0):
        assert biomarker(FINE(x)) == pytest.approx(x, abs=1e-14)


def test_a_learner_that_sees_the_curve_loses_far_less_than_one_that_sees_a_line() -> None:
    problem = treatment_curve()
    contexts = CovariateContexts(FINE, uniform)
    regrets = {}
    for name, map in {"line": Hats([0, 1]), "hats": Hats(np.linspace(0, 1, 5))}.items():
        learner = LRCSSP(problem.support, map.context_size, loss_floor=0.2, widths=scaled(paper(), by=0.05))
        seeing = MappedContexts(learner, lambda context, map=map: map(biomarker(context)))
        history = play(problem, seeing, contexts, episodes=2000, seed=0, step_limit=10_000)
        regrets[name] = history.expected_regret[1000:].mean()
    # The line gives the standard treatment to all: in the middle 0.1 instead of 0.9 helps, on each of three rungs.
    assert regrets["line"] > 5 * regrets["hats"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: treatment_curve(0), "levels is 0; it needs a whole number, at least 1"),
        (lambda: treatment_curve(knots=2), "knots is 2; it needs a whole number, from 3"),
        (lambda: treatment_curve(relapse=0.5), "relapse is 0.5; it needs a number from 0 to 0.1"),
    ],
)
def test_a_setting_that_makes_no_sense_is_an_error_that_names_it(make, message) -> None:
    with pytest.raises(InputError, match=message):
        make()
