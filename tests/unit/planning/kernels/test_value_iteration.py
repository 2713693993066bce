"""The most optimistic row of a pair against bisection in 40 digits and a cone program, from any start."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.planning.kernels import value_iteration as kernels
from goalbound.planning.kernels.value_iteration import UncertaintySet
from tests.reference.optimism import inner_minimum, inner_minimum_by_cone
from tests.support.estimates import balls
from tests.support.strategies import examples
from tests.support.uncertainty_sets import backups, iteration_from, plausible_problems, plausible_row

Floats = NDArray[np.float64]

STARTS = (0.0, 1e-300, 1e-9, 0.5, 1e9, 1e300)


def least(row: UncertaintySet, values: Floats, start: float, enough: float = np.inf) -> tuple[float, float]:
    value, dual = kernels.inner_minimum.python(row, 0, values, start, enough)
    return float(value), float(dual)


@st.composite
def wild_rows(draw: st.DrawFn) -> tuple[Floats, float, Floats]:
    """(centre, squared radius, values): values differ by factors of up to 1e12, some entries are 0, and the ball is
    nothing, tiny, just short of everything, or anything between."""
    size = draw(st.integers(1, 8))
    shares = np.array(draw(st.lists(st.integers(0, 9), min_size=size + 1, max_size=size + 1).filter(any)), dtype=float)
    value = st.builds(lambda x, e: x * 10.0**e, st.floats(1.0, 9.0), st.integers(-6, 6))
    values = np.array(draw(st.lists(value, min_size=size, max_size=size)))
    centre = shares[:size] / shares.sum()
    share = draw(st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 1e-15, 1e-6, 1.0 - 1e-9, 1.0 - 2.0**-53, 1.5])))
    return centre, share * float(np.square(centre).sum()), values


@examples(150)
@given(wild_rows())
def test_from_any_start_the_minimum_is_that_of_the_bisection(drawn: tuple[Floats, float, Floats]) -> None:
    centre, ball, values = drawn
    exact, _ = inner_minimum(centre, math.sqrt(ball), values)
    row = plausible_row(centre, ball)
    room = 1e-14 * float(centre @ values)  # what the minimum is the difference of
    _, right = least(row, values, 0.0)
    for start in (*STARTS, right, right * (1.0 + 1e-12), right / 3.0):
        assert least(row, values, start)[0] == pytest.approx(exact, rel=1e-12, abs=room)


@examples(100)
@given(balls())
def test_the_minimum_is_that_of_the_cone_program(drawn: tuple[Floats, float, Floats]) -> None:
    centre, radius, values = drawn
    by_cone, _ = inner_minimum_by_cone(centre, radius, values)
    found, _ = least(plausible_row(centre, radius * radius), values, 0.0)
    assert found == pytest.approx(by_cone, rel=1e-8, abs=1e-8 * float(values.max()))
    assert found == pytest.approx(inner_minimum(centre, radius, values)[0], rel=1e-12, abs=1e-14)


@examples(150)
@given(wild_rows(), st.floats(0.0, 1.2))
def test_where_it_stops_early_it_returns_a_lower_bound_that_is_enough(
    drawn: tuple[Floats, float, Floats], share: float
) -> None:
    centre, ball, values = drawn
    exact, _ = inner_minimum(centre, math.sqrt(ball), values)
    row = plausible_row(centre, ball)
    whole = float(centre @ values)
    for enough in (share * exact, share * whole, exact):
        for start in STARTS:
            found, _ = least(row, values, start, enough)
            assert found <= exact + 1e-12 * exact + 1e-14 * whole
            if found < exact - 1e-12 * exact - 1e-14 * whole:  # it stopped early, so it must have been allowed to
                assert found >= enough


@examples(100)
@given(wild_rows())
def test_the_most_optimistic_row_is_plausible_and_worth_the_minimum(drawn: tuple[Floats, float, Floats]) -> None:
    centre, ball, values = drawn
    check_optimistic_row(centre, ball, values)


def check_optimistic_row(centre: Floats, ball: float, values: Floats) -> None:
    exact, _ = inner_minimum(centre, math.sqrt(ball), values)
    row = np.full(len(centre) + 1, np.nan)
    worth = kernels.optimistic_row.python(plausible_row(centre, ball), 0, values, 0.5, row)
    room = 1e-14 * float(centre @ values)
    assert float(row[:-1] @ values) == pytest.approx(exact, rel=1e-9, abs=room)
    assert worth == pytest.approx(exact, rel=1e-12, abs=room)
    assert row[:-1].min() >= 0.0
    assert (row[:-1] <= centre).all()
    assert np.linalg.norm(row[:-1] - centre) <= math.sqrt(ball) + 1e-15
    assert np.isnan(row[-1])  # room that is not the pair's


@pytest.mark.parametrize("centre", [[0.3], [0.1, 0.2], [0.1, 0.2, 0.3]])
def test_a_ball_that_reaches_the_goal_but_for_rounding_empties_the_row(centre: list[float]) -> None:
    entries = np.array(centre)
    ball = float(np.nextafter(np.square(entries).sum(), 0.0))
    check_optimistic_row(entries, ball, np.array([3.0, 1.0, 2.0][: len(entries)]))


@examples(40)
@given(plausible_problems(), st.data())
def test_pairs_are_skipped_only_where_nobody_sees_it(sets: UncertaintySet, data: st.DataObject) -> None:
    # The naive twin sweeps the same way and looks at every pair every time.
    states = len(sets.pair_start) - 1
    begin = data.draw(st.lists(st.sampled_from([0.1, 1.0, 3.0, 50.0]), min_size=states, max_size=states))
    values = np.array([*begin, 0.0])
    iteration = iteration_from(sets, values)
    for number in range(12):
        backwards = number % 2 == 1
        largest = kernels.sweep.python(sets, iteration, backwards)
        before = values.copy()
        for state in reversed(range(states)) if backwards else range(states):
            values[state] = min(backups(sets, values, state))
        np.testing.assert_allclose(iteration.values, values, rtol=1e-11)
        assert largest == pytest.approx(np.abs(values - before).max(), rel=1e-9, abs=1e-11)
        # and what it returns bounds how far the values are from their own backups
        again = [min(backups(sets, values, state)) for state in range(states)]
        assert np.abs(again - values[:-1]).max() <= largest + 1e-11


@examples(40)
@given(plausible_problems())
def test_iteration_ends_at_the_fixed_point_with_a_policy_that_attains_it(sets: UncertaintySet) -> None:
    states = len(sets.pair_start) - 1
    iteration = iteration_from(sets, np.array([*np.full(states, 0.1), 0.0]))
    sweeps = kernels.iterate.python(sets, iteration, 1e-13, 100_000)
    assert sweeps < 100_000
    assert iteration.progress["residual"] <= 1e-13
    assert iteration.values[-1] == 0.0
    for state in range(states):
        worth = backups(sets, iteration.values, state)
        assert iteration.values[state] == pytest.approx(min(worth), rel=1e-11)
        assert worth[iteration.policy[state] - sets.pair_start[state]] == pytest.approx(min(worth), rel=1e-11)


@examples(20)
@given(plausible_problems())
def test_a_program_for_one_shape_sweeps_to_the_same_bits_as_one_for_any(sets: UncertaintySet) -> None:
    begin = np.array([*np.full(len(sets.pair_start) - 1, 2.0), 0.0])
    one, other = iteration_from(sets, begin), iteration_from(sets, begin)
    of_shape = kernels.iterate.filled({kernels.minimum_of_shape: kernels.MINIMA[sets.shape]})
    assert of_shape is not kernels.iterate
    assert kernels.iterate.python(sets, one, 1e-9, 1000) == of_shape.python(sets, other, 1e-9, 1000)
    for mine, theirs in zip(one, other, strict=True):
        assert mine.tobytes() == theirs.tobytes()
