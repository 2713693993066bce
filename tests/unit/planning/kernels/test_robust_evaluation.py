"""The worst plausible row of a pair against a linear program, a cone program, exact fractions and arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.models import BallSet, IntervalSet, Support
from goalbound.planning.extended_value_iteration import uncertainty_arrays
from goalbound.planning.kernels import robust_evaluation, value_iteration
from goalbound.planning.kernels.value_iteration import UncertaintySet
from tests.reference.pessimism import ball_maximum_by_cone, interval_maximum, interval_maximum_by_program
from tests.support.strategies import examples

Floats = NDArray[np.float64]

ROUNDING = 1e-13
"""More than the bound adds for the rounding of rows as short as here, relative to the largest value."""


def one_pair(support_states: list[int], states: int) -> Support:
    """State 0 leads to some states; all others lead to the goal."""
    return Support.from_pairs([{0: support_states}, *({0: [states]} for _ in range(states - 1))])


def ball(centre: Floats, radius: float, *, stochastic: bool) -> UncertaintySet:
    """The set of one pair, state 0's, that leads to the states 1, 2, ..., and to the goal unless it is stochastic."""
    count = len(centre)
    states = count + 1
    support = one_pair([*range(1, states), *([] if stochastic else [states])], states)
    rows = np.ones(support.triples)
    rows[:count] = centre
    rows[count : count + (not stochastic)] = 0.0
    losses = np.full(states, 0.5)
    return uncertainty_arrays(BallSet(support, losses, losses, rows, np.append(radius, np.zeros(count))))


def box(low: Floats, high: Floats) -> UncertaintySet:
    """The set of one pair that leads to the states 1, 2, ... and, last, to the goal."""
    states = len(low)
    support = one_pair([*range(1, states + 1)], states)
    ones = np.ones(states - 1)
    losses = np.full(states, 0.5)
    return uncertainty_arrays(IntervalSet(support, losses, losses, np.append(low, ones), np.append(high, ones)))


def with_ends(values: Floats) -> Floats:
    """[S + 1] values of state 0, of its next states and of the goal."""
    return np.concatenate(([0.0], values, [0.0]))


def largest(sets: UncertaintySet, values: Floats, dual: float = 0.0) -> float:
    return float(robust_evaluation.inner_maximum.python(sets, 0, values, dual)[0])


def worst_row(sets: UncertaintySet, values: Floats, dual: float = 0.0) -> Floats:
    _, t, added = robust_evaluation.inner_maximum.python(sets, 0, values, dual)
    row = np.zeros(int(sets.used[0]))
    robust_evaluation.pessimistic_row.python(sets, 0, values, t, added, row)
    return row


numbers = st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0, 1.0, 3.0, 10.0, 1e-6, 1e6, 0.1, 0.7])
radii = st.sampled_from([0.0, 1e-9, 1e-3, 0.05, 0.2, 0.5, 1.0, 1.5, 7.0])


@st.composite
def ball_cases(draw: st.DrawFn) -> tuple[Floats, float, Floats, bool]:
    """(centre, radius, values, stochastic)."""
    count = draw(st.integers(1, 6))
    stochastic = draw(st.booleans())
    weights = np.array(draw(st.lists(st.integers(0, 5), min_size=count, max_size=count).filter(any)), dtype=float)
    lack = 0.0 if stochastic else draw(st.sampled_from([0.0, 0.1, 0.5, 0.9]))
    centre = weights / weights.sum() * (1.0 - lack)
    values = np.array(draw(st.lists(numbers, min_size=count, max_size=count)))
    return centre, draw(radii), values, stochastic


@st.composite
def box_cases(draw: st.DrawFn) -> tuple[Floats, Floats, Floats]:
    """(low, high, values), ends in sixteenths; the last next state is the goal, of value 0."""
    count = draw(st.integers(1, 5))
    weights = np.array(draw(st.lists(st.integers(0, 4), min_size=count, max_size=count)))
    inside = np.diff(np.concatenate(([0], np.sort(np.minimum(np.cumsum(weights), 16))[:-1], [16])))  # a row inside
    down, up = (np.array(draw(st.lists(st.integers(0, 16), min_size=count, max_size=count))) for _ in range(2))
    values = np.array([*draw(st.lists(numbers, min_size=count - 1, max_size=count - 1)), 0.0])
    return np.maximum(inside - down, 0) / 16.0, np.minimum(inside + up, 16) / 16.0, values


@examples(150)
@given(box_cases(), numbers)
def test_the_maximum_over_intervals_is_that_of_exact_fractions_and_of_a_linear_program(
    case: tuple[Floats, Floats, Floats], dual: float
) -> None:
    low, high, values = case
    exact = interval_maximum(low, high, values)
    found = largest(box(low, high), np.append(0.0, values), dual)
    assert exact <= Fraction(found) <= exact + Fraction(ROUNDING) * Fraction(max(values.max(), dual))
    assert found == pytest.approx(interval_maximum_by_program(low, high, values), rel=1e-7, abs=1e-9)


@examples(150)
@given(box_cases())
def test_the_row_of_the_maximum_over_intervals_is_plausible_and_attains_it(case: tuple[Floats, Floats, Floats]) -> None:
    low, high, values = case
    row = worst_row(box(low, high), np.append(0.0, values))
    assert row.sum() == pytest.approx(1.0)
    assert (row >= low - 1e-15).all()
    assert (row <= high + 1e-15).all()
    assert row @ values == pytest.approx(float(interval_maximum(low, high, values)), abs=1e-12 * max(values.max(), 1.0))


@examples(150)
@given(ball_cases())
def test_the_maximum_over_a_ball_is_that_of_a_cone_program(case: tuple[Floats, float, Floats, bool]) -> None:
    centre, radius, values, stochastic = case
    found = largest(ball(centre, radius, stochastic=stochastic), with_ends(values))
    scale = max(values.max(), 1e-300)
    wanted = ball_maximum_by_cone(centre, radius, values, stochastic=stochastic)
    assert found / scale == pytest.approx(wanted / scale, abs=2e-7)
    assert found >= wanted - 1e-7 * scale


@examples(150)
@given(ball_cases())
def test_the_row_of_the_maximum_over_a_ball_is_plausible_and_attains_it(
    case: tuple[Floats, float, Floats, bool],
) -> None:
    centre, radius, values, stochastic = case
    sets = ball(centre, radius, stochastic=stochastic)
    row = worst_row(sets, with_ends(values))
    assert (row >= 0.0).all()
    assert np.linalg.norm(row - centre) <= radius + 1e-9
    assert row.sum() <= 1.0 + 1e-9
    if stochastic:
        assert row.sum() == pytest.approx(1.0)
    # no plausible row is worth more than the bound, and this one is worth that
    assert row @ values == pytest.approx(largest(sets, with_ends(values)), abs=1e-9 * max(values.max(), 1.0))


BESIDE = st.sampled_from([-3, -1, 0, 0, 0, 1, 2])
"""How many units in the last place a number is from another, which it ties with up to rounding."""


def beside(number: float, units: int) -> float:
    return max(number + units * math.ulp(number), 0.0)


@st.composite
def near_ties(draw: st.DrawFn, count: int) -> Floats:
    """Values of which many tie up to rounding."""
    few = draw(st.lists(st.sampled_from([0.1, 0.3, 1.0, 3.0, 1e4]), min_size=1, max_size=2))
    return np.array([beside(draw(st.sampled_from(few)), draw(BESIDE)) for _ in range(count)])


@examples(150)
@given(st.data(), box_cases())
def test_where_values_tie_up_to_rounding_the_row_of_the_maximum_over_intervals_is_still_plausible(
    data: st.DataObject, case: tuple[Floats, Floats, Floats]
) -> None:
    low, high, _ = case
    values = np.append(data.draw(near_ties(len(low) - 1)), 0.0)
    start = beside(data.draw(st.sampled_from(values.tolist())), data.draw(BESIDE))
    sets, worth = box(low, high), np.append(0.0, values)
    row = worst_row(sets, worth, start)
    check_row(row, low, high)
    unit = max(values.max(), 1e-300)
    assert row @ values == pytest.approx(float(interval_maximum(low, high, values)), abs=1e-12 * unit)
    out, rows = np.zeros(len(sets.losses)), np.zeros(len(sets.state))
    robust_evaluation.optimistic_backups.python(sets, worth, np.full(len(sets.losses), start), out, rows)
    check_row(rows[: len(low)], low, high)
    assert rows[: len(low)] @ values == pytest.approx(-float(interval_maximum(low, high, -values)), abs=1e-12 * unit)
    value_iteration.optimistic_row.python(sets, 0, worth, start, rows[: len(low)])
    check_row(rows[: len(low)], low, high)


def check_row(row: Floats, low: Floats, high: Floats) -> None:
    assert row.sum() == pytest.approx(1.0, abs=1e-15 * (len(row) + 1))
    assert (row >= low - 1e-15).all()
    assert (row <= high + 1e-15).all()


@examples(150)
@given(st.data(), ball_cases())
def test_where_values_tie_up_to_rounding_the_row_of_the_maximum_over_a_ball_is_still_plausible(
    data: st.DataObject, case: tuple[Floats, float, Floats, bool]
) -> None:
    centre, radius, _, stochastic = case
    values = data.draw(near_ties(len(centre)))
    sets = ball(centre, radius, stochastic=stochastic)
    row = worst_row(sets, with_ends(values))
    assert (row >= 0.0).all()
    assert np.linalg.norm(row - centre) <= radius + 1e-12
    assert row.sum() <= 1.0 + 1e-12
    if stochastic:
        assert row.sum() == pytest.approx(1.0, abs=1e-12)
    assert row @ values == pytest.approx(largest(sets, with_ends(values)), abs=1e-9 * values.max())
