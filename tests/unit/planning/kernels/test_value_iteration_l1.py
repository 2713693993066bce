"""The most optimistic row where a limited mass may be taken (L1_BALL), against sorting in fractions and a linear
program, from any start."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.planning.kernels import value_iteration as kernels
from goalbound.planning.kernels.value_iteration import L1_BALL, UncertaintySet
from tests.reference.optimism import l1_minimum_by_sorting
from tests.support.strategies import examples

Floats = NDArray[np.float64]
Drawn = tuple[Floats, float, Floats]

STARTS = (0.0, 1e-300, 1e-9, 0.5, 2.0, 1e9, 1e300)


def taking_row(centre: Floats, take: float) -> UncertaintySet:
    """One pair of one state whose next states are 0, 1, ..."""
    count = len(centre)
    return UncertaintySet(
        L1_BALL, np.inf,
        np.array([0, 1]), np.array([0, count]), np.array([count]), np.arange(count, dtype=np.int32),
        np.asarray(centre, dtype=np.float64), np.array([take]), np.array([float(np.sum(centre))]),
        np.array([0.1]), np.empty(0), np.empty(0), np.empty(0, dtype=np.int64),
    )  # fmt: skip


def least(row: UncertaintySet, values: Floats, start: float, enough: float = np.inf) -> tuple[float, float]:
    worth, level = kernels.inner_minimum.python(row, 0, values, start, enough)
    return float(worth), float(level)


@st.composite
def rows(draw: st.DrawFn) -> Drawn:
    """(centre, mass that may be taken, values): equal values, zeros, and masses that are just used up are frequent."""
    size = draw(st.integers(1, 7))
    shares = np.array(draw(st.lists(st.integers(0, 8), min_size=size + 1, max_size=size + 1).filter(any)), dtype=float)
    centre = shares[:size] / shares.sum()
    value = st.one_of(
        st.sampled_from([0.0, 1.0, 1.0, 2.0]),
        st.builds(lambda x, e: x * 10.0**e, st.floats(1.0, 9.0), st.integers(-6, 6)),
    )
    values = np.array(draw(st.lists(value, min_size=size, max_size=size)))
    some = float(centre[draw(st.integers(0, size - 1)) :].sum())
    take = draw(st.one_of(st.floats(0.0, 1.2), st.sampled_from([0.0, 1e-15, some, float(centre.sum()), 2.0])))
    return centre, take, values


@examples(70)
@given(rows())
def test_from_any_start_the_minimum_is_that_of_sorting(drawn: Drawn) -> None:
    centre, take, values = drawn
    exact = l1_minimum_by_sorting(centre, take, values)
    row = taking_row(centre, take)
    # Rounding is relative to what the minimum is the difference of, and to the level that the walk starts from.
    room = 1e-14 * float(centre @ values)
    for start in (*STARTS, *values.tolist(), float(values.mean()), float(np.nextafter(values[0], 9e99))):
        assert least(row, values, start)[0] == pytest.approx(exact, rel=1e-12, abs=room)


@examples(70)
@given(rows(), st.floats(0.0, 1.2))
def test_where_it_stops_early_it_returns_a_lower_bound_that_is_enough(drawn: Drawn, share: float) -> None:
    centre, take, values = drawn
    exact = l1_minimum_by_sorting(centre, take, values)
    row = taking_row(centre, take)
    whole = float(centre @ values)
    room = 1e-12 * exact + 1e-14 * whole
    for enough in (share * exact, share * whole, exact, -1.0):
        for start in (*STARTS, *values.tolist()):
            found, _ = least(row, values, start, enough)
            assert 0.0 <= found <= exact + room
            if found < exact - room:  # it stopped early, so it must have been allowed to
                assert found >= enough


@examples(70)
@given(rows(), st.sampled_from(STARTS))
def test_the_most_optimistic_row_is_plausible_and_worth_the_minimum(drawn: Drawn, start: float) -> None:
    centre, take, values = drawn
    exact = l1_minimum_by_sorting(centre, take, values)
    row = np.full(len(centre) + 1, np.nan)
    worth = kernels.optimistic_row.python(taking_row(centre, take), 0, values, start, row)
    room = 1e-14 * float(centre @ values) + 1e-15
    assert worth == pytest.approx(exact, rel=1e-12, abs=room)
    assert float(row[:-1] @ values) == pytest.approx(exact, rel=1e-12, abs=room)
    assert row[:-1].min() >= 0.0
    assert (row[:-1] <= centre).all()
    # All that may be taken is taken: the goal has value 0, so it never hurts. Of worthless mass it does not matter.
    taken = centre - row[:-1]
    assert taken.sum() <= take + 1e-15
    assert taken[values > 0.0].sum() == pytest.approx(min(take, centre[values > 0.0].sum()), abs=1e-15)
    assert np.isnan(row[-1])  # room that is not the pair's
