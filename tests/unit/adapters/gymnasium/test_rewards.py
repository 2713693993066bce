"""Terminations that are not goals: restart, penalty_exit, give_up, refuse."""

import gymnasium
import numpy as np
import pytest

from goalbound.adapters.gymnasium import from_environments, give_up, penalty_exit, per_step, refuse, restart
from goalbound.errors import InputError


def lake(**options):
    return gymnasium.make("FrozenLake-v1", **options)


def row(read, observation, action, component=0):
    """The loss of a pair and its next states by name with their probabilities."""
    problem = read.problem.component(component)
    support = problem.support
    pair = support.pair(read.state(observation), action)
    at = support.row(pair)
    names = ["goal" if s == support.states else support.state_names[s] for s in support.next_state[at]]
    return problem.losses[pair], dict(zip(names, problem.probabilities[at], strict=True))


def test_restart_leads_back_to_the_start_with_loss_one_and_is_the_default():
    dry = from_environments([lake(is_slippery=False)])
    # observation 4, action 2 (right): into the hole at 5
    assert row(dry, 4, 2) == (1.0, {"observation 0": 1.0})
    assert row(dry, 14, 2) == (0.1, {"goal": 1.0})
    assert from_environments([lake(is_slippery=False)], failures=restart()).problem == dry.problem


def test_a_pair_that_may_fall_has_the_mean_of_step_and_restart():
    wet = from_environments([lake(success_rate=0.8)])
    # observation 4, right: 0.8 into the hole at 5, 0.1 each down to 8 and up to 0, where the restart leads too
    loss, following = row(wet, 4, 2)
    assert loss == pytest.approx(0.8 * 1.0 + 0.2 * 0.1, abs=1e-15)
    assert following == pytest.approx({"observation 0": 0.9, "observation 8": 0.1}, abs=1e-15)


def test_restart_leads_to_the_start_law_of_its_own_component():
    # S in two corners of one map, in one corner of the other
    two = from_environments(
        [lake(desc=["SFS", "FHG"], is_slippery=False), lake(desc=["SFF", "FHG"], is_slippery=False)]
    )
    assert row(two, 1, 1, component=0) == (1.0, {"observation 0": 0.5, "observation 2": 0.5})
    assert row(two, 1, 1, component=1) == (1.0, {"observation 0": 1.0, "observation 2": 0.0})


def test_penalty_exit_leads_to_the_goal_with_loss_one():
    dry = from_environments([lake(is_slippery=False)], failures=penalty_exit())
    assert row(dry, 4, 2) == (1.0, {"goal": 1.0})
    assert row(from_environments([lake(is_slippery=False)], failures=penalty_exit(loss=0.5)), 4, 2)[0] == 0.5


def test_give_up_is_an_extra_action_in_every_state_and_the_only_one_in_a_hole():
    read = from_environments([lake(is_slippery=False)], failures=give_up(loss=0.75), losses=per_step(0.01))
    support = read.problem.support
    assert read.give_up_action == 4
    assert support.action_names[-1] == "give up"
    failure_state = support.state("failure")
    assert (failure_state, read.observations[failure_state], read.failure_state) == (
        support.states - 1,
        -1,
        failure_state,
    )
    with pytest.raises(InputError, match="observation -1 is not a state"):
        read.state(-1)
    assert support.pair_action[support.pair_start[failure_state] :].tolist() == [4]
    assert row(read, 4, 2) == (0.01, {"failure": 1.0})
    for state in range(support.states):
        pair = support.pair(state, 4)
        assert support.next_state[support.row(pair)].tolist() == [support.states]
        assert read.problem.losses[pair, 0] == 0.75


def test_where_there_are_no_holes_giving_up_adds_no_state():
    taxi = from_environments([gymnasium.make("Taxi-v4")], failures=give_up(loss=1.0))
    assert (taxi.problem.support.states, taxi.problem.support.actions) == (400, 7)
    assert taxi.failure_state is None


def test_refuse_names_the_holes_that_can_be_reached():
    with pytest.raises(InputError, match=r"environment 0 \(FrozenLake-v1\) ends .* at observations 5, 7, 11, 12; "):
        from_environments([lake()], failures=refuse())


def test_refuse_lets_environments_without_holes_pass():
    taxi = gymnasium.make("Taxi-v4")
    assert from_environments([taxi], failures=refuse()).problem == from_environments([taxi]).problem


def test_maps_with_holes_in_different_places_can_be_mixed():
    maps = [lake(desc=rows, is_slippery=False) for rows in (["SFF", "FHG"], ["SHF", "FFG"])]
    read = from_environments(maps)
    assert row(read, 0, 1, component=0)[1] == {"observation 3": 1.0}
    assert row(read, 3, 2, component=0)[0] == 1.0  # a hole in the first map, a step in the second
    assert row(read, 3, 2, component=1)[0] == 0.1
    np.testing.assert_array_equal(read.observations, [0, 1, 2, 3, 4])


@pytest.mark.parametrize("treatment", [restart, penalty_exit, give_up])
def test_the_loss_of_a_hole_is_in_the_unit_interval(treatment):
    with pytest.raises(InputError, match=r"-?\d.* is not in \[0, 1\]"):
        treatment(loss=1.5)
