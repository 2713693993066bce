"""Random problems: what their docstrings claim, checked with the planner."""

import numpy as np
import pytest

from goalbound.planning import evaluate, solve
from goalbound.problems import (
    random_cssp,
)
from tests.support.policies import some_contexts


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
