"""How far the truth is from an estimate, in the norm of its Gram matrix."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from goalbound.confidence import paper
from goalbound.learners.audit import truth_distances
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.models import LinearCSSP, Step, Support
from goalbound.models.simulated import Components


def distances(learner: LRCSSP, truth: LinearCSSP, pair: int) -> tuple[float, float]:
    support = truth.support
    components = Components(support.next_start, support.next_state, truth.losses, truth.probabilities)
    found = truth_distances.python(components, learner._constants, learner._state, pair, np.zeros(truth.context_size))
    return float(found[0]), float(found[1])


def test_next_states_that_the_truth_has_not_count_where_the_estimate_gives_them_mass() -> None:
    # The learner allows 0, 1 and 2, the truth leads to 1 and 2 with 0.5 each. No data: a third each, V = I, d = 1:
    # sqrt((1/3)^2 + 2 (1/6)^2) = sqrt(1/6).
    learner = LRCSSP(Support.from_pairs([{0: [0, 1, 2]}, {0: [3]}, {0: [3]}]), 1, loss_floor=0.1, widths=paper())
    narrow = Support.from_pairs([{0: [1, 2]}, {0: [3]}, {0: [3]}])
    truth = LinearCSSP(narrow, np.full((3, 1), 0.5), np.array([[0.5], [0.5], [1.0], [1.0]]))
    assert distances(learner, truth, 0) == pytest.approx((0.5, sqrt(1.0 / 6.0)), rel=1e-14)
    # One step to 1: it has 1/2, the other half is shared: 2/3, and 1/6 for 0 and 2. V = 2.
    # sqrt(2 ((1/6)^2 + (1/6)^2 + (1/3)^2)) = sqrt(1/3). The loss: 0.25 of 0.5.
    episode = learner.begin([1.0])
    episode.act(0)
    episode.observe(Step(0, 0, 0.5, 1))
    assert distances(learner, truth, 0) == pytest.approx((sqrt(2.0) * 0.25, sqrt(1.0 / 3.0)), rel=1e-14)


def test_where_the_goal_may_follow_next_states_never_seen_are_nothing_to_both() -> None:
    # The learner allows 0, 1 and the goal, the truth leads to 1 or to the goal. One step to 1: 1/2 of 0.75, V = 2.
    learner = LRCSSP(Support.full(2, 1), 1, loss_floor=0.1, widths=paper())
    narrow = Support.from_pairs([{0: [1, 2]}, {0: [2]}])
    truth = LinearCSSP(narrow, np.full((2, 1), 0.5), np.array([[0.75], [0.25], [1.0]]))
    episode = learner.begin([1.0])
    episode.act(0)
    episode.observe(Step(0, 0, 0.5, 1))
    assert distances(learner, truth, 0)[1] == pytest.approx(sqrt(2.0) * 0.25, rel=1e-14)
