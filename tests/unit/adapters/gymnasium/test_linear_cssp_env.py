"""A linear contextual problem as a Gymnasium environment."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from goalbound import Builder, LinearCSSP
from goalbound.adapters.gymnasium import LinearCSSPEnv, from_environments
from goalbound.errors import InputError
from goalbound.simulation import OneHot, bernoulli


def two_drugs():
    # component 0: action 0 cures at once; component 1: action 1 does
    return LinearCSSP.dense([[[0.5, 0.2]], [[0.3, 0.4]]], [[[[0.0, 1.0], [0.75, 0.25]]], [[[0.75, 0.25], [0.0, 1.0]]]])


def ragged():
    plan = Builder(components=2)
    plan.add("sick", "drug", loss=0.2, to={"worse": 1.0})
    plan.add("sick", "wait", loss=0.1, to={"goal": [0.5, 0.2], "sick": [0.5, 0.8]})
    plan.add("worse", "drug", loss=0.2, to={"goal": 1.0})
    return plan.linear_cssp()


def test_gymnasium_finds_nothing_to_say_against_it():
    lakes = from_environments([gymnasium.make("FrozenLake-v1", success_rate=q) for q in (1.0, 0.5)]).problem
    for problem in (two_drugs(), lakes):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_env(LinearCSSPEnv(problem), skip_render_check=True)  # it renders nothing
            check_env(LinearCSSPEnv(problem, losses=bernoulli()), skip_render_check=True)


def test_it_can_be_registered_and_made_by_its_id():
    name = "goalbound-test/TwoDrugs-v0"
    gymnasium.register(name, entry_point=LinearCSSPEnv, kwargs={"problem": two_drugs()}, max_episode_steps=5)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_env(gymnasium.make(name).unwrapped)
    finally:
        del gymnasium.registry[name]


def test_the_goal_is_the_last_observation_and_terminates():
    env = LinearCSSPEnv(two_drugs())
    assert env.observation_space == gymnasium.spaces.Discrete(2)
    env.reset(seed=0, options={"context": [1.0, 0.0]})
    observation, reward, terminated, truncated, info = env.step(0)
    assert (observation, reward, terminated, truncated) == (1, -0.5, True, False)
    np.testing.assert_array_equal(info["action_mask"], [0, 0])
    with pytest.raises(gymnasium.error.ResetNeeded, match="again after the goal"):
        env.step(0)


def test_the_context_mixes_the_losses():
    env = LinearCSSPEnv(two_drugs())
    _, info = env.reset(options={"context": [0.25, 0.75]})
    np.testing.assert_array_equal(info["context"], [0.25, 0.75])
    assert env.step(0)[1] == -(0.25 * 0.5 + 0.75 * 0.3)


def test_the_context_mixes_the_next_states():
    # action 0 at [0.5, 0.5] cures with probability 0.5 * 1 + 0.5 * 0.25 = 0.625.
    # 4000 trials: sd 0.0077, so 4.5 sd = 0.035; a correct program fails for 1 in 100 000 seeds
    env = LinearCSSPEnv(two_drugs())
    env.reset(seed=5)
    cured = 0
    for _ in range(4000):
        env.reset(options={"context": [0.5, 0.5]})
        cured += env.step(0)[2]
    assert cured / 4000 == pytest.approx(0.625, abs=0.035)


def test_bernoulli_losses_are_zero_or_one_with_the_mean_of_the_problem():
    # mean 0.5; 4000 trials: sd 0.0079, 4.5 sd = 0.036
    env = LinearCSSPEnv(two_drugs(), losses=bernoulli())
    env.reset(seed=6)
    rewards = []
    for _ in range(4000):
        env.reset(options={"context": [1.0, 0.0]})
        rewards.append(env.step(0)[1])
    assert set(rewards) == {0.0, -1.0}
    assert np.mean(rewards) == pytest.approx(-0.5, abs=0.036)


def test_contexts_are_drawn_evenly_from_the_simplex_unless_a_source_is_given():
    env = LinearCSSPEnv(two_drugs())
    drawn = np.array([env.reset(seed=seed)[1]["context"] for seed in range(400)])
    np.testing.assert_allclose(drawn.sum(axis=1), 1.0, atol=1e-12)
    # a coordinate of Dirichlet(1, 1) is uniform: mean 1/2, sd 0.289 / 20 = 0.0144, 4.5 sd = 0.065
    assert drawn[:, 0].mean() == pytest.approx(0.5, abs=0.065)
    corners = LinearCSSPEnv(two_drugs(), contexts=OneHot(2))
    seen = {tuple(corners.reset(seed=seed)[1]["context"]) for seed in range(20)}
    assert seen == {(1.0, 0.0), (0.0, 1.0)}


def test_the_same_seed_gives_the_same_trajectory():
    def trajectory(seed):
        env = LinearCSSPEnv(two_drugs(), losses=bernoulli())
        observation, info = env.reset(seed=seed)
        seen = [observation, *info["context"]]
        for _ in range(50):
            observation, reward, terminated, *_ = env.step(1)
            seen += [observation, reward]
            if terminated:
                seen += list(env.reset()[1]["context"])
        return seen

    assert trajectory(1) == trajectory(1)
    assert trajectory(1) != trajectory(2)


def test_an_action_that_a_state_does_not_have_is_an_error_and_the_mask_tells():
    env = LinearCSSPEnv(ragged())
    _, info = env.reset(seed=0, options={"context": [1.0, 0.0]})
    assert info["state_name"] == "sick"
    np.testing.assert_array_equal(info["action_mask"], [1, 1])
    *_, info = env.step(0)
    assert info["state_name"] == "worse"
    np.testing.assert_array_equal(info["action_mask"], [1, 0])
    assert env.action_space.sample(mask=info["action_mask"]) == 0
    with pytest.raises(InputError, match=r'"worse"\) has no action 1 \("wait"\); it has action 0 \("drug"\)'):
        env.step(1)
    with pytest.raises(InputError, match="no action 7"):
        env.step(7)
    *_, info = env.step(0)  # the errors changed nothing
    assert info["state_name"] == "goal"


def test_wrong_options_and_contexts_are_errors():
    env = LinearCSSPEnv(two_drugs())
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    with pytest.raises(InputError, match='no option "contxt"'):
        env.reset(options={"contxt": [1.0, 0.0]})
    with pytest.raises(InputError, match=r"context sums to 1.5"):
        env.reset(options={"context": [1.0, 0.5]})


def test_the_way_there_and_back_keeps_starts_and_losses():
    taxi = from_environments([gymnasium.make("Taxi-v4")]).problem
    env = LinearCSSPEnv(taxi)
    starts = {env.reset(seed=seed)[0] for seed in range(50)}
    assert all(taxi.at([1.0]).start_distribution[state] > 0.0 for state in starts)
    assert len(starts) > 30
    assert env.step(0)[1] == -0.1
