"""The lock and the corridor: what their docstrings claim, checked with the planner."""

import numpy as np
import pytest

from goalbound.planning import evaluate, is_proper, solve
from goalbound.problems import (
    deceptive_lock,
    long_corridor,
)
from tests.support.policies import averaged_policy, proper_corners, some_contexts


@pytest.mark.parametrize(("length", "actions", "size"), [(1, 2, 1), (3, 4, 2), (4, 5, 3)])
def test_the_cheapest_turns_never_open_the_lock_and_random_ones_need_exponentially_many(length, actions, size):
    lock = deceptive_lock(length, actions=actions, context_size=size, seed=1)
    cheapest = lock.losses[:, 0].reshape(length, actions).argmin(axis=1)
    for context in some_contexts(size):
        ssp = lock.at(context)
        assert not is_proper(ssp, cheapest)
    for component in range(size):
        steps = uniform_play_steps(lock.component(component))
        assert steps >= (1 + actions - size) ** length


def uniform_play_steps(ssp) -> float:
    """Expected steps from the start when every action is played with the same probability: (I - P)^-1 1."""
    states = ssp.support.states
    mean = np.zeros((states, states + 1))
    for pair, state in enumerate(ssp.support.pair_state):
        row = ssp.support.row(pair)
        share = 1 / np.sum(ssp.support.pair_state == state)
        mean[state, ssp.support.next_state[row]] += share * ssp.probabilities[row]
    return float(np.linalg.solve(np.eye(states) - mean[:, :states], np.ones(states))[ssp.start])


@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_average_combination_jams_under_the_other_components(size):
    lock = deceptive_lock(5, actions=size + 2, context_size=size, seed=3)
    assert proper_corners(lock, averaged_policy(lock))[1:] == [False] * (size - 1)


def test_following_the_heaviest_component_opens_the_lock_within_the_bound():
    length, size = 6, 3
    lock = deceptive_lock(length, actions=5, context_size=size, seed=2)
    policies = [solve(lock.component(k)).policy for k in range(size)]
    for context in [*some_contexts(size), np.full(size, 1 / size)]:
        steps = evaluate(lock.at(context), policies[int(np.argmax(context))]).hitting_times
        assert steps[0] <= length * size / 0.9 + 1e-9


@pytest.mark.parametrize(("length", "stride"), [(1, 4), (12, 4), (13, 4), (50, 7)])
def test_the_corridor_takes_its_length_when_wet_and_its_strides_when_dry(length, stride):
    corridor = long_corridor(length, stride=stride)
    for component, steps in enumerate([-(-length // stride), length]):
        ssp = corridor.component(component)
        solution = solve(ssp)
        assert evaluate(ssp, solution.policy).hitting_times[0] == pytest.approx(steps, abs=1e-6)
        assert solution.values[0] == pytest.approx(0.1 * steps, abs=1e-6)
    walk = np.full(length, corridor.support.action("walk"))
    for context in some_contexts(2):
        assert evaluate(corridor.at(context), walk).hitting_times[0] == pytest.approx(length, abs=1e-6)


@pytest.mark.parametrize("length", [4, 9, 50])
def test_who_runs_on_the_average_floor_never_arrives_on_a_wet_one(length):
    corridor = long_corridor(length)
    policy = averaged_policy(corridor)
    assert policy[0] == corridor.support.action("run")
    assert proper_corners(corridor, policy) == [True, False]
