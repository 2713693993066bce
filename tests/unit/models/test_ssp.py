"""One problem: the checks of its arguments, its start, transitions in any order."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from goalbound.errors import InputError
from goalbound.models import SSP, Support

SUPPORT = Support.from_pairs([{0: [0, 1, 2]}, {0: [2], 1: [0, 2]}])
LOSSES = [0.5, 1.0, 0.0]
CHANCES = [0.25, 0.25, 0.5, 1.0, 0.5, 0.5]


def changed(values: list[float], place: int, value: float) -> list[float]:
    return [value if i == place else old for i, old in enumerate(values)]


def test_a_problem_keeps_what_it_was_given() -> None:
    ssp = SSP(SUPPORT, np.array(LOSSES), np.array(CHANCES), start=1, loss_scale=60)
    assert ssp.losses.tolist() == LOSSES
    assert ssp.probabilities.tolist() == CHANCES
    assert (ssp.start, ssp.loss_scale) == (1, 60.0)
    assert ssp.start_distribution.tolist() == [0.0, 1.0]
    assert repr(ssp) == "SSP(2 states, 3 pairs, 6 next states)"


@pytest.mark.parametrize("bad", [-0.1, 1.1, 1.0 + 1e-12, np.nan, np.inf, -np.inf])
def test_a_loss_outside_zero_to_one_is_refused_with_its_pair(bad: float) -> None:
    with pytest.raises(InputError, match=r"state 1, action 1: loss .* is not in \[0, 1\]"):
        SSP(SUPPORT, changed(LOSSES, 2, bad), CHANCES)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [-0.25, 1.5, np.nan, np.inf])
def test_a_probability_that_is_none_is_refused_with_its_triple(bad: float) -> None:
    with pytest.raises(InputError, match=r"state 1, action 1 -> goal: probability .* is not in \[0, 1\]"):
        SSP(SUPPORT, LOSSES, changed(CHANCES, 5, bad))  # type: ignore[arg-type]


def test_a_row_off_by_more_than_the_tolerance_is_refused_with_its_pair_and_sum() -> None:
    with pytest.raises(InputError, match=r"state 0, action 0: probabilities sum to 1\.00000001, not 1"):
        SSP(SUPPORT, LOSSES, changed(CHANCES, 0, 0.25 + 1e-8))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"state 1, action 0: probabilities sum to 0\.98, not 1"):
        SSP(SUPPORT, LOSSES, changed(CHANCES, 3, 0.98))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"state 1, action 0: probabilities sum to 0, not 1"):
        SSP(SUPPORT, LOSSES, changed(CHANCES, 3, 0.0))  # type: ignore[arg-type]


def test_a_row_within_the_tolerance_is_divided_by_its_sum_once_and_for_all() -> None:
    ssp = SSP(SUPPORT, LOSSES, changed(CHANCES, 0, 0.25 + 5e-10))  # type: ignore[arg-type]
    assert sum(Fraction(float(p)) for p in ssp.probabilities[:3]) == pytest.approx(1, abs=3 * 2**-53)
    assert SSP(SUPPORT, ssp.losses, ssp.probabilities).probabilities.tobytes() == ssp.probabilities.tobytes()
    assert SSP(SUPPORT, LOSSES, changed(CHANCES, 3, 1.0 + 5e-10)).probabilities[3] == 1.0  # type: ignore[arg-type]


def test_wrong_shapes_are_refused_with_the_right_one() -> None:
    with pytest.raises(InputError, match=r"losses has shape \(2,\); it needs shape \[N\] = \(3,\), one per pair"):
        SSP(SUPPORT, LOSSES[:2], CHANCES)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"probabilities has shape \(5,\); it needs shape \[M\] = \(6,\)"):
        SSP(SUPPORT, LOSSES, CHANCES[:5])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="losses is not an array of numbers"):
        SSP(SUPPORT, ["a", "b", "c"], CHANCES)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (2, r"start is the goal \(2\); an episode begins in one of the states 0 to 1"),
        ("goal", r"start is the goal \(2\)"),
        (3, "no state 3"),
        (-1, "no state -1"),
        ("sick", 'no state is called "sick"'),
        ([0.5, 0.4], "start sums to 0.9, not 1"),
        ([1.0], r"start has shape \(1,\); it needs 2 numbers, one per state"),
        ([0.5, 0.25, 0.25], r"start has shape \(3,\)"),
        ([1.5, -0.5], r"start\[0\]: weight 1.5"),
        ([np.nan, 1.0], r"start\[0\]: weight nan"),
        (0.5, r"start has shape \(\)"),
    ],
)
def test_a_start_that_is_none_is_refused(start: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        SSP(SUPPORT, LOSSES, CHANCES, start)  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf])
def test_a_loss_scale_is_a_positive_number(scale: float) -> None:
    with pytest.raises(InputError, match=r"loss_scale .* is not a positive number"):
        SSP(SUPPORT, LOSSES, CHANCES, loss_scale=scale)  # type: ignore[arg-type]


def test_the_arrays_are_read_only_and_not_the_callers() -> None:
    losses, chances, law = np.array(LOSSES), np.array(CHANCES), np.array([0.5, 0.5])
    ssp = SSP(SUPPORT, losses, chances, law)
    losses[0], chances[0], law[0] = 0.9, 0.9, 0.9
    assert (ssp.losses[0], ssp.probabilities[0], ssp.start_distribution[0]) == (0.5, 0.25, 0.5)
    for array in (ssp.losses, ssp.probabilities, ssp.start):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0  # type: ignore[index]
    with pytest.raises(dataclasses.FrozenInstanceError):
        ssp.losses = losses  # type: ignore[misc]


def test_dense_tables_drop_what_is_zero_and_keep_the_rest() -> None:
    ssp = SSP.dense([[0.5, 0.1], [1.0, 0.0]], [[[0.25, 0.25, 0.5], [0, 0, 1]], [[0, 0, 1], [0.5, 0, 0.5]]])
    assert ssp.support == Support.from_pairs([{0: [0, 1, 2], 1: [2]}, {0: [2], 1: [0, 2]}])
    assert ssp.losses.tolist() == [0.5, 0.1, 1.0, 0.0]
    assert ssp.probabilities.tolist() == [0.25, 0.25, 0.5, 1.0, 1.0, 0.5, 0.5]


def test_dense_tables_are_checked_too() -> None:
    with pytest.raises(InputError, match=r"transitions has shape \(1, 1, 1\); .* = \(1, 1, 2\), the goal last"):
        SSP.dense([[0.1]], [[[1.0]]])
    with pytest.raises(InputError, match="state 0, action 0: probabilities sum to 0, not 1"):
        SSP.dense([[0.1]], [[[0.0, 0.0]]])
    with pytest.raises(InputError, match="state 0, action 0 -> state 0: probability nan"):
        SSP.dense([[0.1]], [[[np.nan, 1.0]]])
    with pytest.raises(InputError, match="at least one state and one action, not 1 and 0"):
        SSP.dense(np.zeros((1, 0)), np.zeros((1, 0, 2)))
    with pytest.raises(InputError, match='"goal" in state_names is reserved'):
        SSP.dense([[0.1]], [[[0.0, 1.0]]], state_names=["goal"])
    with pytest.raises(InputError, match="state_names has 2 names for 1"):
        SSP.dense([[0.1]], [[[0.0, 1.0]]], state_names=["a", "b"])


@pytest.mark.parametrize(
    ("loose", "message"),
    [
        ([], "there are no transitions"),
        ([(0, 0, 1, 1.0)], r"transition 0 has 4 parts; it needs \(state, action, next state, probability, loss\)"),
        ([(0, 0, 2, 1.0, 0.5)], "transition 0: next state 2 is not in 0 to 1"),
        ([(0, 0, 1, 1.0, 0.5), (0, -1, 1, 1.0, 0.5)], "transition 1: action -1 is not in 0 to"),
        ([(0, 0, 3, 1.0, 0.5), (2, 0, 3, 1.0, 0.5)], "state 1 has no action"),
        ([("a", "go", "b", 1.0, 0.5)], 'transition 0: state "b" has no action; give it one, or lead to "goal"'),
        ([("goal", "go", "goal", 1.0, 0.5)], '"goal" is reserved: nothing can be done there'),
        ([("a", 0, "goal", 1.0, 0.5), (1, 0, "goal", 1.0, 0.5)], "states are partly numbers and partly names"),
        ([(0, 0, "b", 1.0, 0.5)], 'transition 0: state "b" is a name where the others are numbers'),
        ([(0, 0, 1, 0.5, 0.5)], r"state 0, action 0: probabilities sum to 0.5, not 1"),
        ([(0, 0, 1, 1.0, 1.5)], r"transition 0 .*: loss 1.5 is not in \[0, 1\]"),
        ([(0, 0, 1, "half", 0.5)], "probabilities is not an array of numbers"),
    ],
)
def test_loose_transitions_that_make_no_problem_are_refused(loose: list[tuple], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SSP.from_transitions(loose)


@pytest.mark.parametrize(
    "extra",
    [[(0, 0, 1, 1.5, 0.5), (0, 0, 1, -0.5, 0.5)], [(0, 0, 1, 1.0, 0.5), (0, 0, 0, 0.5, 0.5), (0, 0, 0, -0.5, 0.5)]],
)
def test_a_negative_probability_is_refused_also_where_a_repeat_makes_up_for_it(extra: list[tuple]) -> None:
    with pytest.raises(InputError, match="probability"):
        SSP.from_transitions(extra)


def test_problems_are_equal_by_content() -> None:
    one = SSP(SUPPORT, LOSSES, CHANCES)  # type: ignore[arg-type]
    assert one == SSP(SUPPORT, LOSSES, CHANCES)  # type: ignore[arg-type]
    assert one != SSP(SUPPORT, LOSSES, CHANCES, start=1)  # type: ignore[arg-type]
    assert one != SSP(SUPPORT, LOSSES, CHANCES, loss_scale=2.0)  # type: ignore[arg-type]
    assert one != SSP(SUPPORT, changed(LOSSES, 0, 0.6), CHANCES)  # type: ignore[arg-type]
    assert one != "a problem"
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
