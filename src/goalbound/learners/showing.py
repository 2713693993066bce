"""From the arrays that a learner plans with to a plan that people read."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from goalbound.kernels.state import Constants, EpisodeState
from goalbound.kernels.value_iteration import UncertaintySet
from goalbound.learners.plan import Plan
from goalbound.models import Support
from goalbound.models.validation import set_readonly
from goalbound.planning.extended_value_iteration import optimistic_rows, value_bounds


def make_plan(
    support: Support,
    constants: Constants,
    episode_state: EpisodeState,
    known: Callable[[Constants, EpisodeState, int], bool],
) -> Plan:
    """The plan that an episode holds, in the order of the support; ``known`` is the test of a pair."""
    sets = episode_state.sets if constants.intervals.on else in_support_order(support, episode_state.sets)
    lower, upper = value_bounds(
        episode_state.iteration.values, float(episode_state.iteration.progress["residual"]), constants.loss_floor
    )
    return Plan(
        support,
        set_readonly(episode_state.context.copy()),
        set_readonly(support.pair_action[episode_state.iteration.policy].astype(np.int64)),
        lower,
        upper,
        set_readonly(episode_state.sets.losses.copy()),
        optimistic_rows(support, sets, episode_state.iteration),
        set_readonly(np.array([bool(known(constants, episode_state, pair)) for pair in range(support.pairs)])),
        float(episode_state.progress["loss_bound"]),
    )


def in_support_order(support: Support, sets: UncertaintySet) -> UncertaintySet:
    """From seen indices to the order of the support; 0 where a next state has none."""
    width = support.states + 1
    pair = np.repeat(np.arange(support.pairs), np.diff(support.next_start))
    index = np.arange(support.triples) - support.next_start[pair]
    taken = index < sets.used[pair]
    centres = np.zeros(support.triples)
    keys = pair * width + support.next_state
    centres[np.searchsorted(keys, pair[taken] * width + sets.state[taken])] = sets.centre[taken]
    return sets._replace(
        used=np.diff(support.next_start) - (support.next_state[support.next_start[1:] - 1] == support.states),
        state=np.array(support.next_state),
        centre=centres,
    )
