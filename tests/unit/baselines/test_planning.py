"""Planning again after a few steps: what waits, what is computed, how long an attempt of UC-SSP may be."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from goalbound.baselines import Method
from goalbound.baselines.methods import uc
from goalbound.baselines.planning import mark_dirty, record
from goalbound.baselines.planning import replan as generic_replan
from goalbound.baselines.planning import update_sets as generic_update_sets
from goalbound.baselines.protocol import kernel_of
from goalbound.baselines.state import LearnerState, copied
from goalbound.planning.kernels.value_iteration import optimistic_row
from tests.support.tabular_kernels import Arguments, filled, place

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


def test_an_attempt_longer_than_all_sweeps_does_not_come_to_an_end() -> None:
    case = planned(2)
    case.episode.progress["number"] = 10**12  # 1 / sqrt(k) = 1e-6 takes more than a few powers
    assert not begin_attempt.python(case.constants, case.learner, case.episode, 3)
