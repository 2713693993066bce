"""The traps of transition tables, one by one. `TableEnv` is a table written by hand, without Gymnasium."""

import gymnasium
import numpy as np
import pytest

from goalbound.adapters.gymnasium import (
    Losses,
    from_environments,
    negated_rewards,
    per_step,
    positive_reward,
    restart,
    ssp_from_environment,
)
from goalbound.errors import InputError
from tests.support.table_env import TableEnv, read


def dense(problem):
    """[S, A, S + 1] the probabilities of a problem that has every action in every state."""
    support = problem.support
    out = np.zeros((support.pairs, support.states + 1))
    for pair in range(support.pairs):
        row = support.row(pair)
        out[pair, support.next_state[row]] = problem.probabilities[row]
    return out.reshape(support.states, support.actions, -1)


def test_the_goal_is_the_terminated_flag_not_a_state():
    # 0 reaches 1 both by terminating and by going on; 1 is an ordinary state all the same
    table = {0: {0: [(1.0, 1, 0, True)], 1: [(1.0, 1, 0, False)]}, 1: {0: [(1.0, 0, 0, False)], 1: [(1.0, 0, 0, True)]}}
    problem = read(TableEnv(table, [1.0, 0.0])).problem.component(0)
    expected = [[[0, 0, 1], [0, 1, 0]], [[1, 0, 0], [0, 0, 1]]]
    np.testing.assert_array_equal(dense(problem), expected)


def test_a_successor_that_a_row_repeats_has_the_sum_of_its_probabilities():
    table = {0: {0: [(0.25, 0, 0, False), (0.5, 0, 0, True), (0.25, 0, 0, False)]}}
    problem = read(TableEnv(table, [1.0])).problem.component(0)
    np.testing.assert_array_equal(dense(problem), [[[0.5, 0.5]]])


def test_the_loss_of_a_pair_is_the_mean_over_its_transitions():
    table = {0: {0: [(0.25, 0, -1, False), (0.75, 0, -3, True)]}}
    problem = read(TableEnv(table, [1.0]), losses=negated_rewards(scale=4)).problem
    assert problem.losses[0, 0] == 0.25 * 0.25 + 0.75 * 0.75
    assert problem.loss_scale == 4.0


def test_states_that_no_start_reaches_are_dropped():
    cliff = from_environments([gymnasium.make("CliffWalking-v1")])
    # 48 cells without the ten of the cliff (a fall leads to the start at once) and without the goal cell
    assert cliff.observations.tolist() == list(range(37))
    taxi = from_environments([gymnasium.make("Taxi-v4")])
    # 25 cells x 4 destinations x (in the taxi, or waiting at one of the 3 other places)
    assert taxi.problem.support.states == 25 * 4 * (1 + 3)
    lake = from_environments([gymnasium.make("FrozenLake-v1")])
    holes_and_goal = {5, 7, 11, 12, 15}
    assert set(lake.observations.tolist()) == set(range(16)) - holes_and_goal


def test_a_state_that_only_one_component_reaches_is_kept_in_all():
    stays = {s: {0: [(1.0, s, 0, True)]} for s in range(2)}
    moves = {0: {0: [(1.0, 1, 0, False)]}, 1: {0: [(1.0, 1, 0, True)]}}
    assert read(TableEnv(stays, [1.0, 0.0])).problem.support.states == 1
    assert read(TableEnv(stays, [1.0, 0.0]), TableEnv(moves, [1.0, 0.0])).problem.support.states == 2


def test_entries_of_probability_zero_are_as_if_they_were_not_there():
    # the reward -99 has no loss and observation 7 no rows, but neither can happen
    table = {0: {0: [(0.0, 7, -99, False), (1.0, 0, 0, True)]}}
    assert read(TableEnv(table, [1.0]), losses=negated_rewards(scale=1)).problem.support.triples == 1


def test_states_and_observations_translate_both_ways():
    lake = from_environments([gymnasium.make("FrozenLake-v1")])
    for state, observation in enumerate(lake.observations):
        assert lake.state(observation) == state
        assert lake.problem.support.state(f"observation {observation}") == state
    with pytest.raises(InputError, match="observation 5 is not a state of this problem"):
        lake.state(5)
    assert lake.problem.support.action_names == ("left", "down", "right", "up")


def test_an_unknown_environment_needs_to_be_reported_how_it_is_read():
    env = TableEnv({0: {0: [(1.0, 0, 0, True)]}}, [1.0])
    with pytest.raises(InputError, match=r"no common default for TableEnv; pass losses= .* and goals= "):
        from_environments([env])
    with pytest.raises(InputError, match="pass goals= which terminations are the goal"):
        from_environments([env], losses=per_step(0.1))


def test_a_loss_out_of_range_names_the_place_the_reward_and_the_remedy():
    with pytest.raises(InputError, match=r"observation 1, action 5: reward -10 is read as loss 2, .*scale="):
        from_environments([gymnasium.make("Taxi-v4")], losses=negated_rewards(scale=5, goal_reward=-1))
    with pytest.raises(InputError, match="reward 20 is read as loss -2"):
        from_environments([gymnasium.make("Taxi-v4")], losses=negated_rewards(scale=10))


def test_an_environment_where_nothing_is_a_goal_is_refused():
    lake = gymnasium.make("FrozenLake-v1", reward_schedule=(0, -1, -1))
    with pytest.raises(InputError, match="no terminating transition that is a goal; pass goals="):
        from_environments([lake])


def test_a_goal_rule_may_use_the_whole_transition():
    lake = gymnasium.make("FrozenLake-v1", reward_schedule=(0, -1, -1))
    by_place = from_environments([lake], goals=lambda transition: transition.next_observation == 15).problem
    assert by_place == from_environments([gymnasium.make("FrozenLake-v1")]).problem


def test_no_environment_is_an_error():
    with pytest.raises(InputError, match="give at least one"):
        from_environments([])


def test_one_environment_is_a_problem_without_context_too():
    lake = gymnasium.make("FrozenLake-v1")
    read_whole = from_environments([lake]).problem
    assert read_whole.context_size == 1
    assert ssp_from_environment(lake) == read_whole.component(0)


def test_start_laws_may_differ_and_are_mixed_by_the_context():
    table = {s: {0: [(0.5, 1 - s, 0, False), (0.5, s, 0, True)]} for s in range(2)}
    problem = read(TableEnv(table, [1.0, 0.0]), TableEnv(table, [0.5, 0.5])).problem
    np.testing.assert_array_equal(problem.at([0.5, 0.5]).start_distribution, [0.75, 0.25])


def test_losses_of_the_three_known_environments():
    taxi = from_environments([gymnasium.make("Taxi-v4")]).problem
    assert set(taxi.losses.ravel()) == {0.1, 1.0}  # -1 and -10 over 10; the final +20 is read as -1
    cliff = from_environments([gymnasium.make("CliffWalking-v1")]).problem
    assert set(cliff.losses.ravel()) == {0.01, 1.0}  # -1 and -100 over 100
    lake = from_environments([gymnasium.make("FrozenLake-v1", is_slippery=False)]).problem
    assert set(lake.losses.ravel()) == {0.1, 1.0}  # a step, and the fall into a hole
    assert (taxi.loss_scale, cliff.loss_scale, lake.loss_scale) == (10.0, 100.0, 1.0)


def test_losses_can_be_any_function_of_the_reward():
    lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
    free_goal = Losses(lambda reward, goal: 0.0 if goal else 0.25, scale=8.0)
    problem = from_environments([lake], losses=free_goal, goals=positive_reward, failures=restart(loss=0.5)).problem
    assert set(problem.losses.ravel()) == {0.0, 0.25, 0.5}
    assert problem.loss_scale == 8.0


def test_dry_taxi_is_rainy_taxi_that_never_slips():
    dry = ssp_from_environment(gymnasium.make("Taxi-v4"))
    sure = ssp_from_environment(gymnasium.make("Taxi-v4", is_rainy=True, rainy_probability=1.0))
    np.testing.assert_array_equal(dense(dry), dense(sure))
    np.testing.assert_array_equal(dry.losses, sure.losses)


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.5, 0.9])
def test_taxi_with_the_mixed_parameter_is_the_mixture(weight):
    corners = [gymnasium.make("Taxi-v4", is_rainy=True, rainy_probability=p) for p in (1.0, 0.8)]
    mixed = from_environments(corners).problem.at([weight, 1 - weight])
    rain = weight + (1 - weight) * 0.8
    simulator = ssp_from_environment(gymnasium.make("Taxi-v4", is_rainy=True, rainy_probability=rain))
    assert np.abs(dense(mixed) - dense(simulator)).max() <= 4e-16
    assert np.abs(mixed.losses - simulator.losses).max() <= 4e-16


@pytest.mark.parametrize("context", [[1, 0, 0], [0.2, 0.3, 0.5], [0.0, 0.5, 0.5]])
def test_frozen_lake_with_the_mixed_parameter_is_the_mixture(context):
    rates = [1.0, 0.8, 1 / 3]
    corners = [gymnasium.make("FrozenLake-v1", success_rate=rate) for rate in rates]
    mixed = from_environments(corners).problem.at(context)
    simulator = ssp_from_environment(gymnasium.make("FrozenLake-v1", success_rate=float(np.dot(context, rates))))
    assert np.abs(dense(mixed) - dense(simulator)).max() <= 4e-16
    assert np.abs(mixed.losses - simulator.losses).max() <= 4e-16
