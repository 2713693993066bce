"""The sharp widths leave out a ball around all rows of a pair together: it would never have helped."""

from __future__ import annotations

import math

import numpy as np

from goalbound import LRCSSP, Dirichlet, play
from goalbound.confidence import sharp
from goalbound.learners.settings import LearnerOptions
from goalbound.planning.kernels.value_iteration import min_over_intervals
from goalbound.problems import dense_random

PROBLEM = dense_random(10, actions=3, context_size=3, seed=0)
SUPPORT = PROBLEM.support


def joint_bound(learner: LRCSSP, pair: int, context: np.ndarray, values: np.ndarray) -> float:
    """An upper bound of what the joint ball could say of P V: its bias is left out.

    One-hot noise is sqrt(1/2)-sub-Gaussian, so |P^ - P|_V <= sqrt(1/2) sqrt(m log det(V / lambda) + 2 log(8 N / delta))
    for all m rows together. For any level t, t (1 - sum q) + q v - R w |v - t| is a lower bound over the ball.
    """
    gram = learner.statistics.gram[pair]
    direction = np.linalg.solve(gram, context)
    rows = learner.statistics.next_sums[SUPPORT.row(pair)] @ direction  # the goal among them
    reached = values[SUPPORT.next_state[SUPPORT.row(pair)]]
    volume = float(np.linalg.slogdet(gram)[1])  # lambda = 1
    radius = math.sqrt(0.5 * (len(rows) * volume + 2.0 * math.log(8 * SUPPORT.pairs / 0.1))) * math.sqrt(
        context @ direction
    )
    levels = np.linspace(0.0, reached.max(), 60)
    return max(
        float(level * (1.0 - rows.sum()) + rows @ reached - radius * np.linalg.norm(reached - level))
        for level in levels
    )


def test_the_joint_ball_is_never_the_larger_lower_bound() -> None:
    learner = LRCSSP(
        SUPPORT, 3, loss_floor=0.1, loss_bound=4.0, widths=sharp(), options=LearnerOptions(replan_factor=2.0)
    )
    rng = np.random.default_rng(1)
    compared = 0
    for stage in range(3):
        play(PROBLEM, learner, Dirichlet.symmetric(3), episodes=3000, seed=stage)
        for context in rng.dirichlet(np.ones(3), size=3):
            values = learner.plan(context).values
            view = learner._new_episode_state()
            intervals = learner.confidence_set(context)
            view.sets.low[:], view.sets.high[:] = intervals.low, intervals.high
            view.sets.state[:] = SUPPORT.next_state
            view.sets.used[:] = np.diff(SUPPORT.next_start)
            for pair in np.flatnonzero(learner.statistics.visits > 0).tolist():
                box, _ = min_over_intervals.python(view.sets, pair, values, 0.0, np.inf)
                assert joint_bound(learner, pair, context, values) <= box
                compared += 1
    assert compared == 3 * 3 * SUPPORT.pairs
