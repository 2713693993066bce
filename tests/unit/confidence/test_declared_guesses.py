"""Sums that begin with a guess, held against those of the visits that the guess stands for."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound import GreedyRidge, PriorKnowledge, Step, Support
from goalbound.models import LinearCSSP

SUPPORT = Support.from_pairs([{0: [0, 1, 2], 1: [0, 1]}, {0: [2]}])  # the second pair cannot lead to the goal
MODEL = LinearCSSP(
    SUPPORT,
    [[0.0, 1.0], [0.5, 0.25], [1.0, 0.0]],
    [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]],
)


def test_a_guess_of_strength_3_is_three_visits_at_each_corner() -> None:
    """Where the model is deterministic at the corners, its guess can be played: prior and visits, less the prior."""
    guessing = GreedyRidge(SUPPORT, 2, loss_floor=0.1, prior=PriorKnowledge.around(MODEL, strength=3.0))
    played = GreedyRidge(SUPPORT, 2, loss_floor=0.1)
    for _ in range(3):
        for corner, following in (([1.0, 0.0], [0, 1, 2]), ([0.0, 1.0], [2, 0, 2])):
            for pair in range(3):
                state, action = int(SUPPORT.pair_state[pair]), int(SUPPORT.pair_action[pair])
                loss = float(MODEL.losses[pair] @ corner)
                played.learn(corner, Step(state, action, loss, following[pair]))

    np.testing.assert_array_equal(guessing.statistics.gram, played.statistics.gram)
    prior = np.array([[1.5, -0.5], [-0.5, 1.5]])  # 2 (I - J) + 2 / 2 J; it is around the model too
    losses, rows = MODEL.losses @ prior, MODEL.probabilities @ prior
    np.testing.assert_allclose(guessing.statistics.loss_sums, played.statistics.loss_sums + losses, atol=1e-14)
    np.testing.assert_allclose(guessing.statistics.next_sums, played.statistics.next_sums + rows, atol=1e-14)
    assert guessing.statistics.visits.tolist() == [0, 0, 0]


@pytest.mark.parametrize("strength", [0.5, 1e6])
def test_estimates_of_pairs_that_cannot_lead_to_the_goal_stay_stochastic(strength: float) -> None:
    learner = GreedyRidge(SUPPORT, 2, loss_floor=0.1, prior=PriorKnowledge.around(MODEL, strength=strength))
    learner.learn([0.5, 0.5], Step(0, 1, 0.5, 1))

    np.testing.assert_allclose(learner.estimate.rows[SUPPORT.row(1)].sum(axis=0), 1.0, rtol=1e-12)
