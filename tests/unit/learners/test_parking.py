"""Episodes that wait, packed."""

import copy

import numpy as np
import pytest

from goalbound import (
    GreedyRidge,
    ModelEnvironment,
)
from goalbound.around.around import bytes_of
from goalbound.errors import LearnerError
from goalbound.learners.layers import unwrap
from tests.support.episode_kinds import KINDS, SUPPORT
from tests.support.incidents_at_work import BEFORE, contexts


def handled(learner, *, parked):
    """Several cases at once, in turn; after each step all of them are packed, or none. The actions."""
    worlds = [ModelEnvironment(BEFORE, rng=np.random.default_rng(number)) for number in range(4)]
    episodes = [learner.begin(context) for context in contexts(4, 1)]
    states = [world.begin(context) for world, context in zip(worlds, contexts(4, 1), strict=True)]
    actions = []
    for turn in range(8):
        for place, (episode, world) in enumerate(zip(episodes, worlds, strict=True)):
            if episode.ended:
                continue
            action = episode.act(states[place])
            actions.append(action)
            if parked:
                for one in episodes:
                    one.park()
            if turn == 3 and place == 1:
                episode.abandon("lost")
                continue
            step = world.step(action)
            episode.observe(step)
            states[place] = step.next_state
            if parked:
                for one in episodes:
                    one.park()
    return actions


@pytest.mark.parametrize("kind", KINDS)
def test_packed_episodes_go_on_to_the_bit(kind):
    one, other = (KINDS[kind](np.random.default_rng(3)) for _ in range(2))
    assert handled(one, parked=True) == handled(other, parked=False)
    assert (bytes_of(unwrap(one)) == bytes_of(unwrap(other))).all()


def test_a_packed_episode_can_be_saved_copied_asked_and_ended():
    learner = GreedyRidge(SUPPORT, 2, loss_floor=0.1)
    episode = learner.begin([0.5, 0.5], id="a")
    action = episode.act("down")
    whole = bytes_of(learner)
    episode.park()
    episode.park()  # once is enough
    assert (bytes_of(learner) == whole).all()
    assert episode.is_parked  # as before
    other = copy.copy(learner).episode("a")
    assert (other.act("down"), other.pending_action, other.number) == (action, episode.pending_action, 0)
    episode.park()
    assert (episode.state, episode.context.tolist(), episode.intervals) == (0, [0.5, 0.5], 1)
    assert episode.plan is not None
    episode.park()
    episode.abandon("done")
    episode.park()
    with pytest.raises(LearnerError, match="the episode has ended"):
        episode.act("down")


def test_packing_saves_most_of_the_memory():
    learner = GreedyRidge(SUPPORT, 2, loss_floor=0.1)
    episode = learner.begin([0.5, 0.5])
    episode.act("down")
    episode.park()
    assert len(episode._held) < 500
