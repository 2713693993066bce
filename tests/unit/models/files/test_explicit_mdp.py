"""An MDP as model checkers write it: to a problem and back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from goalbound.errors import FileFormatError, ModelError
from goalbound.models import SSP
from goalbound.models.files.explicit_mdp import ExplicitMDP, from_ssp, select_name, sum_rewards, to_ssp

MODEL = ExplicitMDP(
    choice_start=np.array([0, 1, 3, 4]),
    branch_start=np.array([0, 1, 3, 4, 6]),
    target=np.array([0, 0, 2, 1, 1, 1]),
    probability=np.array([1.0, 0.5, 0.5, 1.0, 0.25, 0.75]),
    choice_loss=np.array([7.0, 3.0, 1.0, 2.0]),
    goal=np.array([True, False, False]),
    initial=np.array([False, True, False]),
)
"""Three states, the first of them the goal; one target is repeated; the losses are up to 3."""


def test_goal_states_are_merged_and_the_others_renumbered_in_their_order() -> None:
    problem = to_ssp(MODEL)
    assert (problem.support.states, problem.start) == (2, 0)
    np.testing.assert_array_equal(problem.support.next_state, [1, 2, 0, 0])
    np.testing.assert_array_equal(problem.probabilities, [0.5, 0.5, 1.0, 1.0])


def test_losses_are_divided_by_the_smallest_power_of_two_that_none_exceeds() -> None:
    problem = to_ssp(MODEL)
    assert problem.loss_scale == 4.0
    np.testing.assert_array_equal(problem.losses, [0.75, 0.25, 0.5])


def test_a_start_that_is_not_uniform_cannot_be_said() -> None:
    problem = SSP.dense([[0.5], [0.5]], [[[0.0, 0.0, 1.0]], [[0.0, 0.0, 1.0]]], start=[0.25, 0.75])
    with pytest.raises(ModelError, match="not uniform, which this format cannot say"):
        from_ssp(problem)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"goal": np.ones(3, dtype=bool)}, "every state is a goal state"),
        ({"initial": np.array([True, False, False])}, "no state that is not a goal is initial"),
        ({"choice_loss": np.array([0.0, 1.0, -2.0, 0.0])}, "state 1 of the file, choice 1: reward -2.0"),
        ({"probability": np.full(6, np.nan)}, "branch 0 of the file has the probability nan"),
    ],
)
def test_a_model_that_is_no_problem_is_an_error_that_names_the_place(changes: dict, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        to_ssp(replace(MODEL, **changes))


def test_a_name_is_chosen_only_if_it_is_the_only_one() -> None:
    assert select_name(None, ["r"], ["r"], "reward model", "loss") == "r"
    assert select_name("s", ["r", "s"], ["r", "s"], "reward model", "loss") == "s"
    with pytest.raises(FileFormatError, match=r'which reward model is meant.* "r", "s"; name it with loss='):
        select_name(None, ["r", "s"], ["r", "s"], "reward model", "loss")
    with pytest.raises(FileFormatError, match='no reward model is called "t"; there is "r"'):
        select_name("t", ["r"], ["r"], "reward model", "loss")


def test_a_negative_reward_is_not_hidden_by_a_positive_one() -> None:
    np.testing.assert_array_equal(sum_rewards([np.array([1.0, -1.0]), np.array([2.0, 5.0])]), [3.0, -1.0])
