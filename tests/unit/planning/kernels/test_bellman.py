"""Advantages, residuals and chains of policies against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.planning.kernels import bellman
from tests.reference import kernels as twin
from tests.support import drawn
from tests.support.strategies import examples

ROUNDING = Fraction(1, 2**53)
NOTHING = np.empty(0)

wide = st.builds(lambda x, e: x * 2.0**e, st.floats(-2.0, 2.0), st.integers(-200, 200))


@given(wide, wide)
@examples(35)
def test_the_product_error_is_exact(a: float, b: float) -> None:
    product = a * b
    if abs(product) > 2.0**-900:  # below, the error itself may be too small for a float
        assert Fraction(bellman.product_error.python(a, b, product)) == Fraction(a) * Fraction(b) - Fraction(product)


@st.composite
def two_parts(draw: st.DrawFn, states: int) -> tuple[np.ndarray, np.ndarray]:
    """Values and their trailing parts, which are below half a unit in the last place, or not so small at all."""
    leading = draw(drawn.values(states))
    share = draw(st.lists(st.floats(-1.0, 1.0), min_size=states, max_size=states))
    return leading, np.append(share, 0.0) * leading * draw(st.sampled_from([2.0**-54, 2.0**-30, 0.0]))


@given(st.data())
@examples(40)
def test_a_precise_change_is_off_by_no_more_than_it_says_and_that_is_little(data: st.DataObject) -> None:
    rows = data.draw(drawn.problems())
    states = twin.states_of(rows)
    values, low = data.draw(two_parts(states))
    level = data.draw(st.booleans())
    for pair in twin.pairs_of(rows, drawn.moving(rows)):
        if level:  # the value of the state is the mean of the next: almost everything cancels
            values[pair.state] = float(twin.next_value(pair, twin.exactly(values))[0])
        v = twin.exactly(values, low)
        found, error = bellman.precise_change.python(rows, pair.state, pair.number, values, low)
        exact = twin.change(pair, v)
        assert abs(Fraction(float(found)) - exact) <= Fraction(float(error))
        # Twice the precision: besides the last rounding, 2^-43 of what is as small as a rounding error or as low.
        here, trailing = v[pair.state], twin.exactly(np.abs(low))
        parts = [(p, abs(v[t] - here), trailing[t] + trailing[pair.state]) for t, p in pair.entries]
        small = sum(4 * p * (ROUNDING * lead + trail) for p, lead, trail in parts)
        assert error <= 4 * ROUNDING * abs(exact) + Fraction(1, 2**43) * small


@given(st.data())
@examples(35)
def test_advantages_are_those_of_fractions_up_to_rounding(data: st.DataObject) -> None:
    rows = data.draw(drawn.problems())
    values, low = data.draw(two_parts(twin.states_of(rows)))
    v, leading = twin.exactly(values, low), twin.exactly(values)
    for pair in twin.pairs_of(rows, drawn.moving(rows)):
        where = (rows, pair.state, pair.number, values)
        off = (len(pair.entries) + 8) * ROUNDING / pair.moving
        plain, precise = bellman.plain_advantage.python(*where), bellman.precise_advantage.python(*where, low)
        assert abs(Fraction(float(plain)) - twin.advantage(pair, leading)) <= off * twin.size(pair, leading)
        slip = Fraction(float(bellman.precise_change.python(*where, low)[1])) / pair.moving
        inner = pair.total * pair.loss + abs(twin.change(pair, v))
        assert abs(Fraction(float(precise)) - twin.advantage(pair, v)) <= off * inner + 2 * slip
        assert bellman.advantage.python(*where, NOTHING) == plain
        assert bellman.advantage.python(*where, low) == precise


def test_a_residual_by_hand() -> None:
    rows = drawn.rows_from([[(0.5, [(2, 1.0)])], [(0.25, [(0, 1.0)])]])
    values, residual, unit = np.array([1.0, 1.0, 0.0]), np.empty(2), np.empty(2)
    # State 0: a loss of 0.5 and then 0 - v(0) = -1; state 1: a loss of 0.25 and then v(0) - v(1) = 0.
    largest = bellman.policy_residual.python(rows, np.array([0, 1]), values, NOTHING, 0.5, residual, unit)
    assert residual.tolist() == [-0.5, 0.25]
    assert unit.tolist() == [1.0, 0.75]
    assert largest == 0.5


@pytest.mark.parametrize("place", [0, 1])
def test_a_residual_that_is_no_number_is_infinite_wherever_it_stands(place: int) -> None:
    rows = drawn.rows_from([[(0.5, [(2, 1.0)])], [(0.5, [(2, 1.0)])]])
    values = np.array([0.5, 0.5, 0.0])
    values[place] = np.nan
    out, unit = np.empty(2), np.empty(2)
    assert bellman.policy_residual.python(rows, np.array([0, 1]), values, NOTHING, 1.0, out, unit) == np.inf
