"""Transition tables of environments: what is read, and what makes them wrong."""

import gymnasium
import pytest

from goalbound.adapters.gymnasium import (
    from_environments,
)
from goalbound.errors import InputError
from tests.support.table_env import TableEnv, read


def test_the_fickle_passenger_is_refused_because_no_table_contains_it():
    with pytest.raises(InputError, match="fickle_passenger=True, which its transition table does not contain"):
        from_environments([gymnasium.make("Taxi-v4", fickle_passenger=True)])


def test_an_environment_without_a_table_is_refused():
    with pytest.raises(InputError, match=r"environment 0 \(Blackjack-v1\) has no transition table"):
        from_environments([gymnasium.make("Blackjack-v1")])


def test_a_time_limit_changes_nothing():
    limited = from_environments([gymnasium.make("Taxi-v4")]).problem
    assert limited == from_environments([gymnasium.make("Taxi-v4", max_episode_steps=-1)]).problem


def test_a_wrapper_that_may_change_the_game_is_refused():
    lake = gymnasium.make("FrozenLake-v1")
    with pytest.raises(InputError, match="wrapped in TransformReward, which the transition table does not contain"):
        from_environments([gymnasium.wrappers.TransformReward(lake, lambda reward: 2 * reward)])
    assert from_environments([gymnasium.wrappers.RecordEpisodeStatistics(lake)]).problem.support.states == 11


def test_environments_with_other_observations_cannot_be_mixed():
    lakes = [gymnasium.make("FrozenLake-v1", map_name=name) for name in ("4x4", "8x8")]
    with pytest.raises(InputError, match=r"has 64 observations, environment 0 \(FrozenLake-v1\) has 16"):
        from_environments(lakes)


def test_environments_with_other_actions_cannot_be_mixed():
    one = TableEnv({0: {0: [(1.0, 0, 0, True)]}}, [1.0])
    two = TableEnv({0: {0: [(1.0, 0, 0, True)], 1: [(1.0, 0, 0, True)]}}, [1.0])
    with pytest.raises(
        InputError, match=r"has actions \[0, 1\] at observation 0, environment 0 \(TableEnv\) has \[0\]"
    ):
        read(one, two)


@pytest.mark.parametrize(
    ("table", "start", "message"),
    [
        ({0: {0: [(1.0, 0, 0)]}}, [1.0], r"P\[0\]\[0\] is \[\(1.0, 0, 0\)\]; it needs a list of \(probability"),
        ({0: {0: []}}, [1.0], r"P\[0\]\[0\] leads nowhere"),
        ({0: {0: [(1.0, 3, 0, False)]}}, [1.0], r"P\[0\]\[0\] leads to observation 3, which has no rows"),
        ({0: {0: [(1.0, 0, 0, True)]}}, [0.5, 0.5], "may start at observation 1, which has no rows"),
        ({0: {0: [(1.0, 0, 0, True)]}}, [0.0], "starts nowhere"),
        ({0: {0: [(1.0, 0, 0, True)]}}, [0.5], "start sums to 0.5, not 1"),
        ({0: {0: [(0.9, 0, 0, True)]}}, [1.0], "probabilities sum to 0.9, not 1"),
        ({0: {0: [(1.0, 0, 0, True)]}}, None, "has no start law; set env.unwrapped.initial_state_distrib"),
    ],
)
def test_a_broken_table_is_an_error_that_names_the_place(table, start, message):
    with pytest.raises(InputError, match=message):
        read(TableEnv(table, start))


def test_a_table_of_lists_is_a_table_too():
    assert read(TableEnv([[[(1.0, 0, 0, True)]]], [1.0])).problem.support.states == 1
