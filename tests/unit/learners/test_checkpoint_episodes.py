"""Open episodes as columns: what a file has of them."""

import numpy as np
import pytest

from goalbound.around.around import bytes_of
from goalbound.jit.records import named_arrays
from goalbound.learners.checkpoint import episode_arrays, states_of
from goalbound.learners.layers import unwrap
from tests.support.driving import reloaded
from tests.support.episode_kinds import KINDS
from tests.support.incidents_at_work import BEFORE, contexts


def begun(kind, count):
    """A learner without its wrappers, with so many open episodes, of which the even ones wait for an outcome."""
    outer = KINDS[kind](np.random.default_rng(3))
    episodes = [outer.begin(context) for context in contexts(count, 1)]
    for episode in episodes[::2]:
        episode.act(0)
    learner = unwrap(outer)
    return learner, learner.open_episodes


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 7])
def test_columns_have_the_arrays_of_every_episode(kind, count):
    learner, episodes = begun(kind, count)
    wanted = [dict(named_arrays("episodes", one._arrays)) for one in episodes]
    columns = episode_arrays(learner, episodes)
    for name in wanted[0]:
        assert columns[name].tolist() == [arrays[name].tolist() for arrays in wanted], name
        assert columns[name].ndim <= 3  # what an array of a file may have
    assert set(columns) - set(wanted[0]) == {f"episodes.at.{name}" for name in ("state", "action", "acted")}


def test_states_are_a_struct_whose_arrays_have_one_more_axis():
    learner, episodes = begun("likelihood", 4)
    template = learner._new_episode_state()
    states = states_of(template, episode_arrays(learner, episodes))
    assert type(states) is type(template)
    for place, one in enumerate(episodes):
        assert states.context[place].tolist() == one.context.tolist()
        assert states.iteration.policy[place].tolist() == one._arrays.iteration.policy.tolist()
        assert states.progress[place] == one._arrays.progress
    assert states.iteration.policy.shape == (4, BEFORE.support.states)


@pytest.mark.parametrize("kind", KINDS)
def test_episodes_of_a_file_are_the_same(kind):
    learner, episodes = begun(kind, 5)
    again = reloaded(learner)
    for one, other in zip(episodes, again.open_episodes, strict=True):
        assert (other.number, other.intervals) == (one.number, one.intervals)
        for (name, array), (_, read) in zip(
            named_arrays("", one._arrays), named_arrays("", other._arrays), strict=True
        ):
            assert read.tobytes() == array.tobytes(), name
    assert (bytes_of(again) == bytes_of(learner)).all()
