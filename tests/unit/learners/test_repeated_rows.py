"""Rows that follow from rows before them: the same to the bit, and nothing that does not fit is taken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.errors import FileFormatError
from goalbound.learners.repeated_rows import SCALED, part_types, repeated_bytes, with_repeats, without_repeats


@st.composite
def related_rows(draw: st.DrawFn) -> NDArray[np.float64]:
    """[n, w]: new rows, rows that are the same as earlier ones, and multiples of them; zeros of both signs."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    width, rows = draw(st.integers(1, 4)), []
    for _ in range(draw(st.integers(1, 60))):
        kind = rng.integers(4) if rows else 0
        if kind == 0:
            rows.append(np.append(rng.choice([0.0, -0.0, rng.random()], width - 1), rng.choice([0.0, 1.0, 2.0, -1.0])))
        else:
            earlier = rows[-rng.integers(1, min(len(rows), 12) + 1)]
            rows.append(earlier * (1.0 if kind == 1 else rng.choice([0.0, -0.0, 0.1, 3.0])))
    return np.array(rows)


@given(related_rows())
def test_what_comes_back_is_the_same_to_the_bit(array: NDArray[np.float64]) -> None:
    arrays = without_repeats({"a": array}, from_bytes=0)
    assert with_repeats(arrays)["a"].tobytes() == array.tobytes()
    if "a" not in arrays:
        assert repeated_bytes(arrays) == array.nbytes - arrays["a.distinct"].nbytes


def test_rows_that_repeat_and_multiples_are_in_the_file_once() -> None:
    rows = np.random.default_rng(0).random((100, 4))
    rows[:, -1] = 1.0
    array = np.repeat(rows, 3, axis=0)
    array[1::3] *= np.linspace(0.1, 0.9, 100)[:, None]
    arrays = without_repeats({"a": array}, from_bytes=0)
    assert arrays["a.repeats"].reshape(100, 3).tolist() == [[0, SCALED + 1, 2]] * 100
    assert np.array_equal(arrays["a.distinct"], rows)
    assert np.array_equal(arrays["a.factors"], np.linspace(0.1, 0.9, 100))


def test_small_arrays_and_arrays_whose_rows_differ_stay_whole() -> None:
    given = {
        "small": np.zeros((9, 2)), "vector": np.zeros(10**5), "flags": np.zeros((10**5, 2), dtype=np.bool_),
        "rows": np.random.default_rng(0).random((10**5, 2)),
    }  # fmt: skip
    assert without_repeats(given).keys() == given.keys()


def test_parts_have_types() -> None:
    assert part_types({"a": "<f8", "b": "<i4"}) == {"a.repeats": "|u1", "a.distinct": "<f8", "a.factors": "<f8"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"a.factors": None}, "a.factors is missing"),
        ({"a": np.zeros((4, 2))}, "a has parts for its repeated rows, and it is whole too"),
        ({"a.repeats": [0, 1, 0, 129]}, "asks for other numbers of distinct rows"),
        ({"a.factors": np.zeros(2)}, "asks for other numbers of distinct rows"),
        ({"a.distinct": np.zeros(1)}, "the parts of a have 1, 1 and 1 dimensions"),
        ({"a.distinct": np.zeros((1, 0))}, "the parts of a have"),
        ({"a.repeats": [0, 2, 1, 130]}, "names rows before the first one"),
        ({"a.repeats": [0, 1, 1, 128]}, "names rows before the first one"),
        ({"a.repeats": [0, 1, 129, 129], "a.factors": np.zeros(2)}, "a multiple of a multiple"),
        ({"a.repeats": [1, 0, 1, 129]}, "names rows before the first one"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes: dict[str, Any], message: str) -> None:
    array = np.array([[0.5, 1.0], [0.5, 1.0], [0.5, 1.0], [1.5, 3.0]])
    arrays = without_repeats({"a": array}, from_bytes=0)
    assert arrays["a.repeats"].tolist() == [0, 1, 1, 129]
    changed = {name: np.array(part, np.uint8) if isinstance(part, list) else part for name, part in changes.items()}
    arrays = {name: part for name, part in {**arrays, **changed}.items() if part is not None}
    with pytest.raises(FileFormatError, match=message):
        with_repeats(arrays)
