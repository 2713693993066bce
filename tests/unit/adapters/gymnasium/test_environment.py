"""A real environment played in the states and losses of its problem."""

import gymnasium
import numpy as np
import pytest

from goalbound.adapters.gymnasium import GymEnvironment, from_environments, give_up, penalty_exit, refuse
from goalbound.errors import InputError

RIGHT, DOWN = 2, 1
SAFE_WAY = [DOWN, DOWN, RIGHT, RIGHT, DOWN, RIGHT]  # 0 4 8 9 10 14 goal


def dry_lake(**options):
    return gymnasium.make("FrozenLake-v1", is_slippery=False, **options)


def test_a_whole_episode_in_states_and_losses():
    lake = dry_lake()
    read = from_environments([lake])
    environment = GymEnvironment(read, lake)
    state = environment.begin(seed=0)
    steps = [environment.step(action) for action in SAFE_WAY]
    goal = read.problem.support.states
    assert [step.state for step in steps] == [read.state(o) for o in (0, 4, 8, 9, 10, 14)]
    assert state == steps[0].state
    assert steps[-1].next_state == goal
    assert [step.loss for step in steps] == [0.1] * 6
    with pytest.raises(InputError, match="no episode is open"):
        environment.step(RIGHT)


def test_after_a_hole_the_episode_goes_on_from_the_start():
    lake = dry_lake()
    environment = GymEnvironment(from_environments([lake]), lake)
    environment.begin(seed=0)
    environment.step(DOWN)
    fall = environment.step(RIGHT)
    assert (fall.loss, fall.next_state) == (1.0, 0)
    assert environment.step(DOWN).loss == 0.1


def test_a_hole_under_penalty_exit_is_the_goal():
    lake = dry_lake()
    read = from_environments([lake], failures=penalty_exit())
    environment = GymEnvironment(read, lake)
    environment.begin()
    environment.step(DOWN)
    assert environment.step(RIGHT)[2:] == (1.0, read.problem.support.states)


def test_one_can_give_up_anywhere_and_in_a_hole_nothing_else():
    lake = dry_lake()
    read = from_environments([lake], failures=give_up(loss=0.5))
    goal = read.problem.support.states
    environment = GymEnvironment(read, lake)
    environment.begin()
    assert environment.step(read.give_up_action)[2:] == (0.5, goal)
    environment.begin()
    environment.step(DOWN)
    assert environment.step(RIGHT)[2:] == (0.1, read.problem.support.state("failure"))
    with pytest.raises(InputError, match=r'"failure"\) has no action 1 \("down"\); it has action 4 \("give up"\)'):
        environment.step(DOWN)
    assert environment.step(read.give_up_action)[2:] == (0.5, goal)


def test_truncation_is_not_the_goal_but_an_error_that_names_the_remedy():
    lake = dry_lake(max_episode_steps=2)
    environment = GymEnvironment(from_environments([lake]), lake)
    environment.begin()
    environment.step(DOWN)
    with pytest.raises(InputError, match=r"truncated at observation 8; truncation is not the goal: .*steps=-1"):
        environment.step(DOWN)


def test_a_goal_on_the_last_step_of_the_time_limit_is_the_goal():
    lake = dry_lake(max_episode_steps=6)
    read = from_environments([lake])
    environment = GymEnvironment(read, lake)
    environment.begin()
    assert [environment.step(action) for action in SAFE_WAY][-1].next_state == read.problem.support.states


def test_a_world_that_is_not_the_one_that_was_read_is_noticed():
    easy = dry_lake(desc=["SFF", "FFG"])
    read = from_environments([easy])
    other = dry_lake(desc=["SFF", "FFF", "FFG"])
    environment = GymEnvironment(read, other)
    environment.begin()
    environment.step(DOWN)
    with pytest.raises(InputError, match="observation 6 is not a state of this problem"):
        environment.step(DOWN)
    for failures in (refuse(), give_up(loss=1.0)):
        pits = GymEnvironment(from_environments([easy], failures=failures), dry_lake(desc=["SFF", "HFG"]))
        pits.begin()
        with pytest.raises(InputError, match="ended in a failure at observation 3"):
            pits.step(DOWN)
        with pytest.raises(InputError, match="no episode is open"):
            pits.step(DOWN)
    with pytest.raises(InputError, match="fickle_passenger"):
        GymEnvironment(read, gymnasium.make("Taxi-v4", fickle_passenger=True))


def test_the_return_of_taxi_is_21_minus_10_times_the_loss():
    taxi = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("Taxi-v4", max_episode_steps=-1))
    read = from_environments([taxi])
    goal = read.problem.support.states
    environment = GymEnvironment(read, taxi)
    state, loss = environment.begin(seed=3), 0.0
    rng = np.random.default_rng(3)
    while state != goal:
        step = environment.step(int(rng.integers(6)))
        state, loss = step.next_state, loss + step.loss
    assert taxi.return_queue[-1] == pytest.approx(21 - 10 * loss, abs=1e-6)
