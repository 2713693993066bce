"""Hoeffding-SSP: a new plan when a pair is met that is not known (:func:`goalbound.baselines.hoeffding_ssp`)."""

from math import log, sqrt

import numpy as np

from goalbound.baselines.loop import begin_epoch, is_known
from goalbound.baselines.planning import follow_policy, l1_ball_around_mean, replan
from goalbound.baselines.protocol import Room, begin_plan, plan_holds, update_pair
from goalbound.jit.compile import lean
from goalbound.planning.kernels.value_iteration import L1_BALL


@lean
def update_hoeffding(constants, learner, pair):
    """The L1 ball of a pair. O(the next states seen)."""
    n = max(float(learner.counts.visits[pair]), 1.0)
    radius = (
        5.0 * constants.scale * sqrt(constants.width[pair] * log(len(constants.pair_state) * n / constants.delta) / n)
    )
    l1_ball_around_mean(constants, learner, pair, radius)


@lean
def holds_while_known(constants, learner, episode, state):
    """Only the first step of a plan may be of a pair that is not known."""
    return episode.progress["steps"] == 0 or is_known(constants, learner, episode.policy[state])


@lean
def follow_new_plan(constants, learner, episode, sweeps):
    """A plan for each interval."""
    if not replan(constants, learner, learner.main, constants.tolerance, sweeps):
        return False
    begin_epoch(learner)
    follow_policy(learner.main.iteration, episode)
    return True


def known_after(method, width, delta, floor):
    """[N] more visits make a pair known; infinite where no float is large enough."""
    bound = method.loss_bound
    try:
        grown = np.log(1000.0 * bound * len(width) / (delta * floor))
        return method.scale**2 * (5000.0 * bound**2 * width / floor**2) * grown
    except (OverflowError, ZeroDivisionError):
        return np.full(len(width), np.inf)


ROOM = Room(
    {
        update_pair: update_hoeffding,
        plan_holds: holds_while_known,
        begin_plan: follow_new_plan,
    },
    quantity="radii",
    source="Rosenberg et al. (2020)",
    needs=("loss_bound",),
    shape=L1_BALL,
    known_after=known_after,
    looks_again=True,
)
