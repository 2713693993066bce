"""Planning again after a few steps: what waits, what is computed, how long an attempt of UC-SSP may be."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from goalbound.baselines import Method
from goalbound.baselines.methods import uc
from goalbound.baselines.planning import follow_policy, mark_dirty, record
from goalbound.baselines.planning import replan as generic_replan
from goalbound.baselines.planning import update_sets as generic_update_sets
from goalbound.baselines.protocol import kernel_of
from goalbound.baselines.state import LearnerState, copied
from goalbound.planning.kernels.value_iteration import optimistic_row
from tests.support.tabular_kernels import Arguments, arguments, filled, place

UC = Method("uc-ssp", scale=0.02)
SWEEPS = 10**6
attempt_length = uc.attempt_length
replan = kernel_of(generic_replan, "uc-ssp")
update_sets = kernel_of(generic_update_sets, "uc-ssp")
begin_attempt, plan_attempt = kernel_of(uc.begin_attempt, "uc-ssp"), kernel_of(uc.plan_attempt, "uc-ssp")


def planned(seed: int) -> Arguments:
    """UC-SSP with some steps of every pair, and a precise plan."""
    case = filled(UC, seed).case
    assert replan.python(case.constants, case.learner, case.learner.main, 1e-9, SWEEPS)
    return case


def waiting(learner: LearnerState) -> list[int]:
    return learner.main.dirty[: learner.main.dirty_count[0]].tolist()


def test_a_pair_waits_once_however_often_it_was_visited() -> None:
    case = planned(0)
    for pair in (4, 1, 4, 4):
        mark_dirty.python(case.learner.main, pair)
    assert waiting(case.learner) == [4, 1]
    assert np.flatnonzero(case.learner.main.is_dirty).tolist() == [1, 4]


def test_only_pairs_that_wait_are_looked_at() -> None:
    case = planned(0)
    for pair in (1, 4):
        case.record(pair, 0, 1.0)
    mark_dirty.python(case.learner.main, 4)
    counts, used = case.learner.counts, case.learner.visits_used
    update_sets.python(case.constants, case.learner, case.learner.main)
    assert waiting(case.learner) == []
    assert not case.learner.main.is_dirty.any()
    assert used[4] == counts.visits[4]
    assert used[1] == counts.visits[1] - 1


def test_a_few_changes_cost_their_states_and_many_a_sweep() -> None:
    case = planned(0)
    for pair in (1, 4):
        case.record(pair, 0, 1.0)
        mark_dirty.python(case.learner.main, pair)
    before = case.learner.main.iteration.values.copy()
    update_sets.python(case.constants, case.learner, case.learner.main)
    progress = case.learner.main.iteration.progress
    moved = np.abs(case.learner.main.iteration.values - before)
    # What the values of the two states moved by is what the residual may have grown by.
    assert moved.sum() <= progress["residual"] < np.inf
    for pair in range(4):  # more than the three states
        mark_dirty.python(case.learner.main, pair)
    update_sets.python(case.constants, case.learner, case.learner.main)
    assert progress["residual"] == np.inf


def test_a_plan_that_is_precise_enough_is_kept() -> None:
    case = planned(0)
    sweeps = int(case.learner.totals["sweeps"])
    assert replan.python(case.constants, case.learner, case.learner.main, 1e-6, SWEEPS)
    assert case.learner.totals["sweeps"] == sweeps


def test_a_plan_that_is_cut_short_says_so() -> None:
    case = filled(Method("uc-ssp", scale=1e-6), 1).case
    constants = case.constants._replace(policy_iteration=False)
    assert not replan.python(constants, case.learner, case.learner.main, 1e-9, 1)
    assert case.learner.totals["sweeps"] == 1
    assert replan.python(constants, case.learner, case.learner.main, 1e-9, SWEEPS)


def optimistic_kernel(learner: LearnerState) -> NDArray[np.float64]:
    """[S, S] of the greedy policy."""
    sets, iteration = learner.main.sets, learner.main.iteration
    kernel = np.zeros((3, 3))
    for state, pair in enumerate(iteration.policy):
        row = np.zeros(int(sets.used[pair]))
        optimistic_row.python(sets, pair, iteration.values, iteration.dual[pair], row)
        first = sets.next_start[pair]
        kernel[state, sets.state[first : first + len(row)]] = row
    return kernel


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("gamma", [1.0, 0.7, 0.1, 1e-3])
def test_an_attempt_is_as_long_as_the_powers_of_the_optimistic_kernel_say(seed: int, gamma: float) -> None:
    learner = planned(seed).learner
    kernel = optimistic_kernel(learner)
    length = attempt_length.python(learner, learner.main, gamma, 10**4)
    norms = [np.linalg.matrix_power(kernel, h - 1).sum(axis=1).max() for h in range(2, length + 1)]
    assert length >= 2
    assert norms[-1] <= gamma * (1 + 1e-9)
    assert all(norm > gamma for norm in norms[:-1])
    assert attempt_length.python(learner, learner.main, 0.0, 50) == 0


@pytest.mark.parametrize("seed", range(5))
def test_planning_again_after_a_few_steps_is_planning_from_scratch(seed: int) -> None:
    case = planned(seed)
    constants, learner = case.constants, case.learner
    cold = copied(learner)
    rng = np.random.default_rng(seed)
    for model in (learner.main, cold.main):
        assert model.dirty_count[0] == 0
    for pair in (1, 4):
        following = int(rng.integers(4))
        for one in (learner, cold):
            record.python(constants, one.counts, pair, place(pair, following), 1.0)
            mark_dirty.python(one.main, pair)
    cold.main.iteration.progress["residual"] = np.inf
    cold.main.iteration.progress["total_decrease"] = 0.0
    cold.main.iteration.values[:-1] = 0.1
    cold.main.iteration.backup[:] = -np.inf
    for one in (learner, cold):
        assert replan.python(constants, one, one.main, 1e-10, 10**6)
    assert learner.main.iteration.values == pytest.approx(cold.main.iteration.values, rel=1e-8)
    assert learner.main.iteration.policy.tolist() == cold.main.iteration.policy.tolist()


def test_the_attempt_by_hand() -> None:
    # Nothing was seen: every pair leads to the goal, |Q| = 0, and H = 2 is the least there is.
    case = arguments(UC)
    case.episode.progress["number"] = 1
    assert begin_attempt.python(case.constants, case.learner, case.episode, SWEEPS)
    assert case.episode.progress["limit"] == 2
    assert case.episode.policy.tolist() == [0, 2, 4]
    assert case.learner.main.iteration.values.tolist() == [0.1, 0.1, 0.1, 0.0]


@pytest.mark.parametrize(("number", "gamma"), [(1, 1.0), (4, 0.5), (100, 0.1)])
def test_the_first_attempt_of_episode_k_ends_with_probability_one_less_root_k(number: int, gamma: float) -> None:
    case, other = planned(2), planned(2)
    case.episode.progress["number"] = number
    assert begin_attempt.python(case.constants, case.learner, case.episode, SWEEPS)
    assert case.learner.totals["retries"] == 0
    assert case.episode.progress["limit"] == attempt_length.python(other.learner, other.learner.main, gamma, SWEEPS)


def test_later_attempts_play_for_the_shortest_way_and_are_counted() -> None:
    case = planned(2)
    case.episode.progress["number"], case.episode.progress["intervals"] = 100, 1
    case.learner.totals["retries"] = 3
    assert begin_attempt.python(case.constants, case.learner, case.episode, SWEEPS)
    assert case.learner.totals["retries"] == 4
    unit = case.learner.unit
    assert unit.sets.losses.tolist() == [1.0] * 6
    assert case.episode.policy.tolist() == unit.iteration.policy.tolist()
    # 1 / sqrt(3 + 1), whatever the number of the episode
    assert case.episode.progress["limit"] == attempt_length.python(case.learner, unit, 0.5, SWEEPS)


def test_an_attempt_is_planned_as_precisely_as_the_steps_so_far_ask_for() -> None:
    case = filled(Method("uc-ssp", scale=1e-3), 3).case
    case.learner.totals["steps"] = 999
    for least in (0.1, 1e-6):
        assert plan_attempt.python(case.constants, case.learner, case.learner.main, case.episode, least, 0.5, SWEEPS)
        assert case.learner.main.iteration.progress["residual"] <= least / (2 * 1000)


def test_an_attempt_longer_than_all_sweeps_does_not_come_to_an_end() -> None:
    case = planned(2)
    case.episode.progress["number"] = 10**12  # 1 / sqrt(k) = 1e-6 takes more than a few powers
    assert not begin_attempt.python(case.constants, case.learner, case.episode, 3)


def test_an_episode_follows_a_copy_of_its_policy() -> None:
    case = planned(2)
    follow_policy.python(case.learner.main.iteration, case.episode)
    followed = case.episode.policy.tolist()
    assert followed == case.learner.main.iteration.policy.tolist()
    case.learner.main.iteration.policy[:] = -1
    assert case.episode.policy.tolist() == followed
