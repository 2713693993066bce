"""What the docstrings of the families claim, checked with the planner."""

import numpy as np
import pytest

from goalbound.models import LinearCSSP
from goalbound.planning import evaluate, is_proper, solve
from goalbound.problems import (
    CATALOG,
    deceptive_lock,
    long_corridor,
    random_cssp,
    routing_grid,
    treatment_ladder,
    windy_grid,
)


def averaged_policy(problem: LinearCSSP) -> np.ndarray:
    """The optimal policy of the average of all components."""
    return np.asarray(solve(problem.at(np.full(problem.context_size, 1 / problem.context_size))).policy)


def proper_corners(problem: LinearCSSP, policy: np.ndarray) -> list[bool]:
    return [is_proper(problem.component(k), policy) for k in range(problem.context_size)]


def some_contexts(size: int) -> np.ndarray:
    return np.concatenate((np.eye(size), np.random.default_rng(7).dirichlet(np.ones(size), size=5)))


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (4, 6), (3, 9), (7, 7)])
def test_in_the_average_wind_drifting_is_best_everywhere_and_in_each_corner_it_is_improper(rows, columns):
    grid = windy_grid(rows, columns)
    policy = averaged_policy(grid)
    assert set(policy) == {grid.support.action("drift")}
    assert is_proper(grid.at([1 / 3, 1 / 3, 1 / 3]), policy)
    assert proper_corners(grid, policy) == [False, False, False]


def test_drifting_in_the_calm_never_moves():
    grid = windy_grid(3, 4).component(0)
    for state in range(grid.support.states):
        row = grid.support.row(grid.support.pair(state, "drift"))
        law = dict(zip(grid.support.next_state[row].tolist(), grid.probabilities[row].tolist(), strict=True))
        assert law[state] == 1.0


def test_walking_to_the_goal_keeps_the_bound_on_its_steps_in_every_wind():
    rows, columns, slip = 4, 5, 0.2
    grid = windy_grid(rows, columns, slip=slip)
    east, south = grid.support.action("east"), grid.support.action("south")
    policy = np.array([east if cell % columns < columns - 1 else south for cell in range(grid.support.states)])
    for context in some_contexts(3):
        steps = evaluate(grid.at(context), policy).hitting_times
        assert steps[0] <= (rows + columns - 2) / (1 - slip) + 1e-9
    # in the calm the bound is met: every step is one nearer with probability 1 - slip, else it stays
    assert evaluate(grid.component(0), policy).hitting_times[0] == pytest.approx((rows + columns - 2) / (1 - slip))


def test_the_demo_shows_a_policy_that_is_best_on_average_and_never_ends_in_the_calm():
    demo = CATALOG["demo"].make()
    policy = averaged_policy(demo)
    assert is_proper(demo.at([1 / 3, 1 / 3, 1 / 3]), policy)
    assert not is_proper(demo.component(0), policy)
    assert demo.component_names is not None
    assert demo.component_names[0] == "calm"


@pytest.mark.parametrize(("levels", "markers"), [(1, 1), (6, 2), (12, 4), (20, 6)])
def test_drug_a_is_best_on_average_and_heals_only_those_with_marker_a(levels, markers):
    ladder = treatment_ladder(levels, markers=markers)
    policy = averaged_policy(ladder)
    assert set(policy) == {ladder.support.action("drug A")}
    assert proper_corners(ladder, policy) == [True] + [False] * markers


@pytest.mark.parametrize("relapse", [0.0, 0.05, 0.2])
def test_the_broad_drug_heals_everyone_within_the_bound(relapse):
    levels = 9
    ladder = treatment_ladder(levels, relapse=relapse)
    policy = np.full(levels, ladder.support.action("broad drug"))
    for context in some_contexts(3):
        doses = evaluate(ladder.at(context), policy).hitting_times
        assert doses[levels - 1] <= levels / (0.25 - 0.75 * relapse) + 1e-9


def test_a_patient_with_a_marker_gets_its_drug_and_one_with_none_the_broad_drug():
    ladder = treatment_ladder(5, markers=2)
    for component, drug in enumerate(["drug A", "drug B", "broad drug"]):
        assert set(solve(ladder.component(component)).policy) == {ladder.support.action(drug)}


@pytest.mark.parametrize("seed", range(4))
def test_the_exit_actions_alone_reach_the_goal_within_their_bound(seed):
    floor = 0.05
    problem = random_cssp(15, context_size=3, exit_probability=floor, seed=seed)
    support = problem.support
    into_goal = np.flatnonzero(support.next_state == support.states)
    pairs = np.searchsorted(support.next_start, into_goal, side="right") - 1
    assert support.pair_state[pairs].tolist() == list(range(15))  # one in each state
    assert (problem.probabilities[into_goal] >= floor).all()
    assert (problem.probabilities[into_goal] <= 3 * floor).all()
    assert problem.losses.min() >= 0.1
    for context in some_contexts(3):
        ssp = problem.at(context)
        assert evaluate(ssp, support.pair_action[pairs]).hitting_times.max() <= 1 / floor + 1e-9
        assert solve(ssp).values.max() <= 1 / floor


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


def test_jams_change_the_way_through_the_city():
    city = routing_grid(5, 5, regimes=3, seed=0)
    policies = [solve(city.component(k)).policy for k in range(3)]
    assert not np.array_equal(policies[0], policies[1])
    assert not np.array_equal(policies[1], policies[2])
    free, jam = city.losses[:, 0] * city.loss_scale, city.losses[:, 1] * city.loss_scale
    assert free.min() >= 1 - 1e-12
    assert free.max() <= 2 + 1e-12
    assert jam.max() > 2  # what is jammed takes up to four times as long
    assert 4 < city.loss_scale <= 8


def test_the_crossings_of_the_city_have_two_to_four_streets():
    degrees = np.diff(routing_grid(4, 5).support.pair_start)
    assert degrees.min() == 2
    assert degrees.max() == 4
