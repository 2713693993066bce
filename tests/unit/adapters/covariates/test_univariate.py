"""Hat functions on a line and around a circle, against arithmetic and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.adapters.covariates import Hats, Periodic, Tensor
from goalbound.errors import InputError

knot_lists = st.lists(st.integers(-50, 50), min_size=2, max_size=8, unique=True).map(
    lambda k: [x / 4 for x in sorted(k)]
)


@given(knots=knot_lists, data=st.data())
def test_what_is_linear_in_hats_is_any_piecewise_linear_function(knots: list[float], data: st.DataObject) -> None:
    heights = data.draw(st.lists(st.floats(-5.0, 5.0), min_size=len(knots), max_size=len(knots)))
    x = np.linspace(knots[0], knots[-1], 41)
    np.testing.assert_allclose(Hats(knots).many(x) @ heights, np.interp(x, knots, heights), atol=1e-13)


def test_at_a_knot_all_weight_is_on_it_exactly() -> None:
    knots = [0.1, 0.3, 1 / 3, 0.7]
    assert np.array_equal(Hats(knots).many(knots), np.eye(4))
    assert np.array_equal(Periodic(2.0, knots).many(knots), np.eye(4))


def test_hats_are_the_splines_of_degree_one_of_scikit_learn() -> None:
    preprocessing = pytest.importorskip("sklearn.preprocessing", reason="scikit-learn is not installed")
    x = np.linspace(0.0, 10.0, 51)[:, None]
    theirs = preprocessing.SplineTransformer(
        knots=np.array([[0.0], [2.0], [5.0], [10.0]]), degree=1, extrapolation="constant"
    ).fit_transform(x)
    np.testing.assert_allclose(Hats([0.0, 2.0, 5.0, 10.0]).many(x), theirs, atol=1e-12)


@given(x=st.floats(-100.0, 100.0), turns=st.integers(-5, 5))
def test_a_circle_comes_round(x: float, turns: int) -> None:
    day = Periodic.even(24, count=6, start=3)
    np.testing.assert_allclose(day(x), day(x + 24 * turns), atol=1e-12)


def test_on_a_circle_the_last_knot_is_next_to_the_first() -> None:
    day = Periodic(24, [2, 8, 20])
    np.testing.assert_allclose(day(23), [0.5, 0.0, 0.5])  # halfway from 20 to 26
    np.testing.assert_allclose(day(-1), day(23))
    np.testing.assert_allclose(day(1), [5 / 6, 0.0, 1 / 6])


def test_beyond_the_ends_a_clamped_map_stays_as_it_is_at_the_end() -> None:
    map = Hats([20, 40, 80], clamp=True)
    first, _, last = np.eye(3)
    assert np.array_equal(map.many([-np.inf, -1e300, 19.9, 20]), [first] * 4)
    assert np.array_equal(map.many([80, 80.1, 1e300, np.inf]), [last] * 4)


def test_beyond_the_ends_a_map_refuses_if_it_is_not_set_to_clamp() -> None:
    with pytest.raises(InputError, match=r"^row 1: 81.0 is outside 20 to 80; .* clamp=True, or move the end knots$"):
        Hats([20, 80]).many([80, 81])
    with pytest.raises(InputError, match=r"^-inf is outside 20 to 80"):
        Hats([20, 80])(-np.inf)
    with pytest.raises(InputError, match=r"^inf has no place on a circle"):
        Periodic.even(24, count=3)(np.inf)


def test_names_say_where_components_are() -> None:
    assert Hats([20, 40.5]).names == ("at 20", "at 40.5")
    assert Hats([1.0, 1.0 + 2**-50]).names == ("at 1.0", "at 1.0000000000000009")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Hats([1]), "knots has 1 numbers; it needs at least 2"),
        (lambda: Hats([1, 3, 2]), r"knots\[2\] is 2 after 3; numbers must ascend"),
        (lambda: Hats([1, 1]), r"knots\[1\] is 1 after 1"),
        (lambda: Hats([1, np.nan]), "knots holds nan; it needs finite numbers"),
        (lambda: Hats([-1.7e308, 1.7e308]), "knots holds numbers too far apart"),
        (lambda: Hats(["a", "b"]), "knots: row 0: 'a' is not a number"),
        (lambda: Hats([0, 1], clamp="yes"), "clamp is 'yes'; it is True or False"),
        (lambda: Hats([0, 1], missing=[0.5, 0.4]), "missing sums to 0.9, not 1"),
        (lambda: Periodic(24, [0, 24]), "knots reach from 0 to 24, and the period is 24; the first knot comes round"),
        (lambda: Periodic(0, [0, 1]), "period is 0; it needs a positive number"),
        (lambda: Periodic.even(24, count=1), "count is 1; a circle needs at least 2 knots"),
        (lambda: Hats(range(5000)), "knots would have 5000 components; at most 4096"),
        (lambda: Tensor([Hats(range(100))] * 3, [0, 1, 2]), "Tensor would have 1000000 components"),
    ],
)
def test_what_is_no_map_is_an_error_that_says_why(make, message) -> None:
    with pytest.raises(InputError, match=message):
        make()
