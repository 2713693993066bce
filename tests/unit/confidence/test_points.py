"""Point estimates under a context: rows mixed from coefficients, losses that are clipped from above only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from goalbound.confidence import project, ridge_estimate
from goalbound.confidence.points import estimated_row
from goalbound.confidence.protocol import is_known, known_width, loss_set
from goalbound.learners.explore.greedy import Greedy
from goalbound.learners.explore.posterior import Posterior
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.ridge import GreedyRidge
from goalbound.models import Support
from goalbound.planning.kernels.stochastic_rows import NO_GOAL
from tests.support.ridge import exploring
from tests.support.ridge_kernels import Arguments, arguments_of
from tests.support.strategies import examples
from tests.support.taught import Seen, data, teach

SUPPORT = Support.from_pairs([{0: [0, 1, 2]}, {0: [0, 1], 1: [2]}])
"""Pair 0 may lead anywhere, pair 1 to the states but not to the goal (state 2), pair 2 only to the goal."""
CONTEXT = [0.25, 0.75]


def arguments(exploration: Any = None, **options: Any) -> Arguments:
    return arguments_of(exploring(exploration or Greedy(), SUPPORT, 2, **options), CONTEXT)


def test_an_estimated_row_mixes_the_coefficients_of_what_was_seen() -> None:
    case = arguments()
    case.estimate(0, {1: [0.5, 0.1], 0: [0.0, 0.8]}, [0.0, 0.0])
    estimated_row.python(case.constants, case.learner, case.episode, 0)
    # state 1: 0.5 / 4 + 0.1 * 3 / 4 = 0.2; state 0: 0.8 * 3 / 4 = 0.6; squares 0.04 + 0.36
    assert case.row(0) == pytest.approx({1: 0.2, 0: 0.6}, rel=1e-15)
    assert list(case.row(0)) == [1, 0]
    assert case.episode.sets.mass[0] == pytest.approx(0.4, rel=1e-15)


def test_a_row_that_cannot_reach_the_goal_is_uniform_before_all_data_and_says_so() -> None:
    case = arguments()
    estimated_row.python(case.constants, case.learner, case.episode, 1)
    assert case.row(1) == {0: 0.5, 1: 0.5}
    assert case.episode.sets.mass[1] == NO_GOAL


def test_a_greedy_loss_is_the_estimate_clipped_from_above() -> None:
    case = arguments()
    case.estimate(0, {}, [0.8, 0.4])
    case.estimate(2, {}, [3.0, 3.0])
    losses = [case.python(loss_set)(case.constants, case.learner, case.episode, pair) for pair in (0, 2)]
    assert losses[0] == pytest.approx((0.5, 0.5))  # 0.8 / 4 + 0.4 * 3 / 4
    assert losses[1] == (1.0, 1.0)


def test_points_have_no_width_and_are_never_known() -> None:
    for rule in (Greedy(), Posterior()):
        case = arguments(rule)
        for pair in range(3):
            case.look_at(pair)
            assert not case.python(is_known)(case.constants, case.learner, case.episode, pair)
            assert case.python(known_width)(case.constants, case.learner, case.episode, pair, 0.2, 0.9, 0.5) == 0.0
        assert not case.episode.known_width.any()


@examples(10)
@given(seen=data(SUPPORT, 2))
def test_estimates_are_the_projected_ones_of_the_sums(seen: list[Seen]) -> None:
    learner = teach(GreedyRidge(SUPPORT, 2, loss_floor=0.1), seen)
    expected = project(ridge_estimate(learner.statistics))
    np.testing.assert_allclose(learner.estimate.losses, expected.losses, atol=1e-10)
    np.testing.assert_allclose(learner.estimate.rows, expected.rows, atol=1e-10)


def test_before_all_data_the_estimate_is_the_guess() -> None:
    guess = PriorKnowledge.nothing(SUPPORT, 2).with_model(
        exploring(Greedy(), SUPPORT, 2).estimate.model().at([0.5, 0.5]), strength=2.0
    )
    case = arguments_of(GreedyRidge(SUPPORT, 2, loss_floor=0.1, prior=guess), CONTEXT)
    assert guess.guessed.all()
    np.testing.assert_array_equal(case.learner.sets.losses, guess.guess_losses)
    to_states = SUPPORT.next_state < SUPPORT.states  # the goal has what the others leave
    for pair in range(3):
        row = SUPPORT.row(pair)
        given_rows = guess.guess_rows[row][to_states[row]]
        np.testing.assert_array_equal(case.learner.sets.rows[row][: len(given_rows)], given_rows)
