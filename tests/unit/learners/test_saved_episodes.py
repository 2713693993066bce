"""Open episodes as columns: what a file has of them."""

import tracemalloc

import numpy as np
import pytest

from goalbound import GreedyRidge
from goalbound.around.around import bytes_of
from goalbound.jit.records import named_arrays
from goalbound.learners.layers import unwrap
from goalbound.learners.parking import numbers_of, packed
from goalbound.learners.saved_episodes import columns_of, packed_episodes, states_of
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
def test_columns_have_the_arrays_of_every_episode_packed_or_not(kind, count, monkeypatch):
    monkeypatch.setattr("goalbound.learners.saved_episodes._AT_ONCE", 3)
    learner, episodes = begun(kind, count)
    assert len(episodes) == count
    wanted = [dict(named_arrays("", one._arrays)) for one in episodes]
    template = learner._new_episode_state()
    for some in (episodes, episodes[1::3]):
        for one in some:
            one.park()
        columns = columns_of(template, episodes)
        assert list(columns) == [name for name, _ in named_arrays("", template)]
        for name, column in columns.items():
            assert column.tolist() == [arrays[name].tolist() for arrays in wanted], name
            assert column.ndim <= 3  # what an array of a file may have
    assert all(one.is_parked for one in episodes)
    again = list(packed_episodes(template, columns, count))
    assert again == [packed(one._arrays) for one in episodes]


def test_what_changes_in_a_packed_episode_is_in_its_column():
    learner, episodes = begun("greedy", 3)
    episodes[0].park()
    episodes[0]._progress["unknown_steps"] += 5
    columns = columns_of(learner._new_episode_state(), episodes)
    assert columns[".progress.unknown_steps"].tolist() == [[5], [0], [0]]


def test_states_are_a_struct_whose_arrays_have_one_more_axis():
    learner, episodes = begun("likelihood", 4)
    template = learner._new_episode_state()
    states = states_of(template, columns_of(template, episodes))
    assert type(states) is type(template)
    for place, one in enumerate(episodes):
        assert states.context[place].tolist() == one.context.tolist()
        assert states.iteration.policy[place].tolist() == one._arrays.iteration.policy.tolist()
        assert states.progress[place] == one._arrays.progress
    assert states.iteration.policy.shape == (4, BEFORE.support.states)


@pytest.mark.parametrize("kind", KINDS)
def test_episodes_of_a_file_are_packed_until_they_are_used_and_the_same(kind):
    learner, episodes = begun(kind, 5)
    again = reloaded(learner)
    assert all(one.is_parked for one in again.open_episodes)
    for one, other in zip(episodes, again.open_episodes, strict=True):
        assert (other.number, other.intervals, other.context.tolist()) == (
            one.number,
            one.intervals,
            one.context.tolist(),
        )
    assert (bytes_of(again) == bytes_of(learner)).all()
    assert all(one.is_parked for one in again.open_episodes)
    for one, other in zip(episodes, again.open_episodes, strict=True):
        assert numbers_of(other._arrays) == numbers_of(one._arrays)
        assert not other.is_parked
    assert (bytes_of(again) == bytes_of(learner)).all()


def test_many_packed_episodes_are_saved_and_loaded_without_standing_in_memory():
    """Unpacked, each takes some 15 kB for its arrays, which are objects of their own."""
    learner = GreedyRidge(BEFORE.support, 2, loss_floor=0.1)
    for number, context in enumerate(contexts(3000, 0)):
        episode = learner.begin(context, id=number)
        episode.act(0)
        episode.park()
    tracemalloc.start()
    try:
        data = bytes_of(learner)
        assert tracemalloc.get_traced_memory()[1] < 3000 * 6000
        tracemalloc.reset_peak()
        again = reloaded(learner)
        assert tracemalloc.get_traced_memory()[1] < 3000 * 8000
    finally:
        tracemalloc.stop()
    assert (bytes_of(again) == data).all()
