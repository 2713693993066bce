"""The largest value that affine functions allow, against whole arrays to the bit, and against a linear program."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.planning.kernels.affine_maximum import max_allowed
from tests.reference.affine_maximum import max_allowed_by_arrays, max_of_min_by_linear_program

Floats = NDArray[np.float64]


@st.composite
def functions(draw: st.DrawFn, most: int = 4) -> Floats:
    """[U, K, S + 1], with values that coincide now and then."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    shape = (draw(st.integers(1, most)), draw(st.integers(1, 4)), draw(st.integers(2, 6)))
    return np.round(rng.uniform(-1.0, 9.0, shape), draw(st.sampled_from([0, 15])))


def largest(bounds: Floats, form: str = "python") -> tuple[float, Floats]:
    weights = np.full(bounds.shape[1], np.nan)
    value = getattr(max_allowed, form)(bounds, np.zeros((2, 3)), weights)
    return float(value), weights


@given(functions())
def test_it_is_what_whole_arrays_give_to_the_bit(bounds: Floats) -> None:
    for form in ("python", "compiled"):
        value, weights = largest(bounds, form)
        expected, where = max_allowed_by_arrays(bounds)
        assert (value, weights.tobytes()) == (expected, where.tobytes())


@given(functions(most=2))
def test_of_two_functions_it_is_the_maximum(bounds: Floats) -> None:
    exact = max(max_of_min_by_linear_program(bounds[:, :, s]) for s in range(bounds.shape[2] - 1))
    assert largest(bounds)[0] == pytest.approx(exact, rel=1e-9, abs=1e-9)


@given(functions())
def test_of_more_it_is_not_below_the_maximum(bounds: Floats) -> None:
    exact = max(max_of_min_by_linear_program(bounds[:, :, s]) for s in range(bounds.shape[2] - 1))
    assert largest(bounds)[0] >= exact - 1e-9
