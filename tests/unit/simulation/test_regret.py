"""The gap of a pair: its arithmetic, its sign, and what happens to values that are not optimal."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.errors import InputError
from goalbound.models import LinearCSSP
from goalbound.simulation.regret import step_regret

# Drug A heals with 0.9 (young) or 0.1 (old) at a loss of 0.2; drug B always, at 0.5.
DRUGS = LinearCSSP.dense([[[0.2, 0.5]], [[0.2, 0.5]]], [[[[0.1, 0.9], [0.0, 1.0]]], [[[0.9, 0.1], [0.0, 1.0]]]])


def test_the_gap_is_the_loss_and_what_is_left_to_pay_minus_the_best() -> None:
    best = 0.2 / 0.5  # half young, half old: drug A until it works
    values = np.array([best, 0.0])
    gap = [step_regret(DRUGS, 0, action, context=[0.5, 0.5], optimal_values=values) for action in (0, 1)]
    assert gap[0] == pytest.approx(0.0, abs=1e-16)
    assert gap[1] == pytest.approx(0.5 - best)
    old = np.array([0.5, 0.0])
    assert step_regret(DRUGS, 0, 0, context=[0.0, 1.0], optimal_values=old) == pytest.approx(0.2 + 0.9 * 0.5 - 0.5)


def test_values_that_are_not_optimal_are_an_error_and_not_a_number() -> None:
    with pytest.raises(InputError, match="state 0, action 0 is better than optimal: the values are not"):
        step_regret(DRUGS, 0, 0, context=[1.0, 0.0], optimal_values=np.array([0.3, 0.0]))
    # 0.2 / 0.9 raised by a relative 1e-8 makes the gap -0.9 * 2.2e-9: more than 2e-9 (0.2 + 0.02 + 0.22) allows
    best = 0.2 / 0.9
    with pytest.raises(InputError, match="better than optimal"):
        step_regret(DRUGS, 0, 0, context=[1.0, 0.0], optimal_values=np.array([best * (1 + 1e-8), 0.0]))
    # within the error that the values may have, it is 0
    assert step_regret(DRUGS, 0, 0, context=[1.0, 0.0], optimal_values=np.array([best * (1 + 5e-10), 0.0])) == 0.0


def test_the_values_need_one_entry_for_the_goal() -> None:
    with pytest.raises(InputError, match="then the goal's 0"):
        step_regret(DRUGS, 0, 0, context=[1.0, 0.0], optimal_values=np.array([0.3]))
