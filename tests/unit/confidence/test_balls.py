"""The sets of the paper by hand: radii, what is optimistic about a loss, and the ball of a pair under a context."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from goalbound.confidence.balls import set_radii
from goalbound.confidence.regression import UNIT
from goalbound.learners.loop import look_at
from goalbound.models import Step, Support
from tests.support.ridge import lr_cssp
from tests.support.ridge_kernels import Arguments, arguments_of

SUPPORT = Support.from_pairs([{0: [0, 1, 2]}, {0: [0, 1], 1: [2]}])
"""Pair 0 may lead anywhere, pair 1 to the states but not to the goal (state 2), pair 2 only to the goal."""
CONTEXT = [0.25, 0.75]


def arguments(**settings: Any) -> Arguments:
    return arguments_of(lr_cssp(SUPPORT, 2, **{"loss_floor": 0.1, "loss_bound": 5.0, **settings}), CONTEXT)


def test_the_radii_of_a_pair_are_those_of_the_paper() -> None:
    learner = lr_cssp(Support.full(2, 2), 2, loss_floor=0.5, loss_bound=1.0, delta=0.1)
    case = arguments_of(learner, CONTEXT)
    sets = case.learner.sets
    case.learner.regression.visits[1] = 7
    set_radii.python(case.constants, case.learner, 1, 0.0, 0.0)
    # d = 2, lambda = 1, 1 + 7 / 1 = 8; N = 4 pairs, 8 rows that do not lead to the goal, 2 of them of this pair
    rho = math.sqrt(2 * math.log(8 * 8 / 0.1 * 8)) + 1.0
    assert sets.loss_radius[1] == pytest.approx(math.sqrt(2 * math.log(8 * 4 / 0.1 * 8)) + 1.0, rel=1e-14)
    assert sets.next_radius[1] == pytest.approx(math.sqrt(2) * rho, rel=1e-14)
    assert sets.known_width[1] == pytest.approx(2 * rho, rel=1e-14)
    # Outcomes that are missing, worth a norm of 3 / 4, and an inexact loss of 1 / 8 make all of them larger.
    case.learner.pending.norms[1] = round(0.75 / UNIT)
    set_radii.python(case.constants, case.learner, 1, 0.125, 0.0)
    assert sets.loss_radius[1] == pytest.approx(
        math.sqrt(2 * math.log(8 * 4 / 0.1 * 8)) + 1.0 + 0.75 + 0.125, rel=1e-14
    )
    assert sets.next_radius[1] == pytest.approx(math.sqrt(2) * rho + 0.75, rel=1e-14)
    assert sets.known_width[1] == pytest.approx(2 * rho + math.sqrt(2) * 0.75 + 0.125, rel=1e-14)


@pytest.mark.parametrize(
    ("losses", "norm", "expected"),
    [
        ([0.8, 0.4], 0.5, 0.5 - 0.25 * 0.5),  # 0.8 / 4 + 0.4 * 3 / 4 less radius times norm
        ([0.8, 0.4], 2.0, 0.1),  # 0.5 - 0.5 is below the floor
        ([3.0, 3.0], 2.0, 1.0),  # 3 - 0.5 is above what a loss can be
    ],
)
def test_an_optimistic_loss_is_the_estimate_less_its_radius_clipped(
    losses: list[float], norm: float, expected: float
) -> None:
    case = arguments()
    case.estimate(0, {}, losses)
    case.learner.sets.loss_radius[0] = 0.25
    with_norm(case, 0, norm)
    case.look_at(0)
    assert case.episode.norm[0] == pytest.approx(norm, rel=1e-12)
    assert case.episode.sets.losses[0] == pytest.approx(expected)


def with_norm(case: Arguments, pair: int, norm: float) -> None:
    """Make this the norm of the context, of the square 1/16 + 9/16 = 5/8, in the inverse Gram matrix of a pair."""
    ridge = 0.625 / (norm * norm)
    case.learner.regression.gram[pair] = ridge * np.eye(2)
    case.learner.regression.inverse[pair] = np.eye(2) / ridge


def test_what_is_added_to_losses_comes_after_the_clipping() -> None:
    case = arguments(loss_floor=0.0, episodes=5000)
    added = case.constants.added_loss
    assert added > 0.0
    case.estimate(0, {}, [3.0, 3.0])
    case.estimate(1, {0: [0.5, 0.5], 1: [0.5, 0.5]}, [-3.0, -3.0])
    case.learner.sets.loss_radius[:] = 0.0
    for pair in (0, 1):
        case.look_at(pair)
    assert case.episode.sets.losses[:2].tolist() == [1.0 + added, added]


def taught(seed: int = 5) -> Arguments:
    """LR-CSSP after some steps of pair 0, looked at under the context."""
    learner = lr_cssp(SUPPORT, 2, loss_floor=0.1, loss_bound=5.0)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        episode = learner.begin(rng.dirichlet(np.ones(2)))
        episode.observe(Step(0, episode.act(0), float(rng.random()), int(rng.integers(3))))
    return arguments_of(learner, CONTEXT)


def test_the_set_of_a_pair_is_a_ball_of_radius_times_norm_around_its_row() -> None:
    case, context = taught(), np.array(CONTEXT)
    learner, episode = case.learner, case.episode
    case.look_at(0)
    norm = math.sqrt(context @ np.linalg.solve(learner.regression.gram[0], context))
    assert episode.norm[0] == pytest.approx(norm, rel=1e-12)
    assert episode.sets.ball[0] == pytest.approx((learner.sets.next_radius[0] * norm) ** 2, rel=1e-12)
    assert episode.known_width[0] == pytest.approx(learner.sets.known_width[0] * norm, rel=1e-12)
    loss = float(learner.sets.losses[0] @ context) - learner.sets.loss_radius[0] * norm
    assert episode.sets.losses[0] == pytest.approx(max(0.1, loss), rel=1e-12)
    assert episode.revision[0] == learner.revision[0] == 1 + 20  # set before all data, then by each step
    assert episode.log_det[0] == learner.log_det[0] > 0.0
    assert episode.iteration.backup[0] == -np.inf


def test_both_forms_of_a_set_have_the_same_bits() -> None:
    one, other = taught(), taught()
    for pair in range(3):
        one.python(look_at)(one.constants, one.learner, one.episode, pair)
        other.program[look_at].compiled(other.constants, other.learner, other.episode, pair)
    for mine, theirs in zip(one.episode.sets, other.episode.sets, strict=True):
        assert np.asarray(mine).tobytes() == np.asarray(theirs).tobytes()
    assert one.episode.known_width.tobytes() == other.episode.known_width.tobytes()
