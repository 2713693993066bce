"""The model of an epoch of PSRL-SSP: draws number by number, the mean of the posterior, rows from weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from goalbound.baselines import Method
from goalbound.baselines.methods.psrl import draw_posterior, mean_model, set_loss, set_row
from tests.reference.tabular import NaivePSRLSSP
from tests.support.tabular_kernels import PAIRS, SUPPORT, Arguments, arguments, filled, place


def eight_steps(**options: Any) -> Arguments:
    """Pair 0 led to state 0 twice, to state 2 four times, to the goal twice; the mean loss is 1/2."""
    case = arguments(Method("psrl-ssp"), **options)
    for to, loss in zip([2, 0, 2, 3, 0, 2, 2, 3], [0.5, 0.25, 0.5, 0.75, 0.5, 0.25, 0.5, 0.75], strict=True):
        case.record(0, to, loss)
    return case


def test_known_losses_are_taken_as_they_are() -> None:
    known = np.linspace(0.2, 0.7, PAIRS)
    case = eight_steps(known_losses=known, added_loss=0.05)
    mean_model.python(case.constants, case.learner)
    assert case.learner.main.sets.losses == pytest.approx(known + 0.05, rel=1e-15)


@pytest.mark.parametrize(("drawn", "loss"), [(0.5, 0.55), (-3.0, 0.15), (1.7, 1.05)])
def test_a_loss_is_brought_between_the_floor_and_one_before_something_is_added(drawn: float, loss: float) -> None:
    case = arguments(Method("psrl-ssp"), added_loss=0.05)
    set_loss.python(case.constants, case.learner, 2, drawn)
    assert case.learner.main.sets.losses[2] == pytest.approx(loss, rel=1e-15)


def test_a_row_leaves_out_the_goal_and_next_states_without_weight() -> None:
    case = arguments(Method("psrl-ssp"))
    case.learner.workspace.row[place(1, 0) : place(1, 0) + 4] = [1.0, 0.0, 2.0, 5.0]
    set_row.python(case.constants, case.learner, 1)
    assert case.row(1) == {0: 0.125, 2: 0.25}
    assert case.learner.main.sets.mass[1] == 0.125**2 + 0.25**2


def test_where_all_weights_vanish_the_last_next_state_gets_all() -> None:
    # Gamma numbers of a tiny parameter underflow to 0. The last of a full row is the goal: nothing is left.
    case = arguments(Method("psrl-ssp"))
    case.learner.workspace.row[:] = 0.0
    set_row.python(case.constants, case.learner, 1)
    assert case.row(1) == {}
    assert case.learner.main.sets.mass[1] == 0.0


@pytest.mark.parametrize("seed", range(4))
def test_a_draw_takes_the_numbers_of_the_definition_in_its_order(seed: int) -> None:
    case, given, data = filled(Method("psrl-ssp", scale=0.3), seed)
    twin = NaivePSRLSSP(given, np.random.default_rng(seed))
    twin.data = data
    losses, rows = twin.drawn()
    rng = np.random.default_rng(seed)
    draw_posterior.python(case.constants, case.learner, rng)
    assert case.learner.main.sets.losses == pytest.approx(losses, rel=1e-14)
    for pair in range(PAIRS):
        mine = np.zeros(SUPPORT.states)
        mine[list(case.row(pair))] = list(case.row(pair).values())
        assert mine == pytest.approx(rows[pair], rel=1e-14)
    assert rng.random() == twin.rng.random()  # as many numbers were taken
