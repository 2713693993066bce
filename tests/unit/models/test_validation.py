"""The checks of arguments, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.errors import InputError
from goalbound.models.validation import (
    check_array,
    check_distribution,
    check_names,
    check_range,
    normalise_rows,
    readonly_copy,
)

ONE_ROW = np.array([0, 3])


def place(at: tuple[int, ...]) -> str:
    return f"row {at}"


def test_a_row_within_the_tolerance_is_divided_by_its_sum() -> None:
    row = np.array([0.25, 0.25, 0.5 + 8e-10])
    out = normalise_rows(row, ONE_ROW, place)
    assert abs(out.sum() - 1.0) <= 2**-52
    np.testing.assert_allclose(out, row / (1 + 8e-10), rtol=1e-15)


def test_a_row_outside_the_tolerance_is_refused_with_its_place_and_sum() -> None:
    with pytest.raises(InputError, match=r"row \(0,\): probabilities sum to 1\.000000002, not 1"):
        normalise_rows(np.array([0.25, 0.25, 0.5 + 2e-9]), ONE_ROW, place)
    with pytest.raises(InputError, match=r"row \(1, 0\): probabilities sum to 0\.9, not 1"):
        normalise_rows(np.array([[0.5], [0.5], [0.9]]), np.array([0, 2, 3]), place)


def test_a_row_that_sums_to_one_up_to_rounding_keeps_its_bits() -> None:
    row = np.array([0.7, 0.2, 0.1])
    assert row.sum() != 1.0  # one bit short: 0.7 + 0.2 rounds down
    assert normalise_rows(row, ONE_ROW, place).tobytes() == row.tobytes()


@given(st.lists(st.floats(1e-12, 1.0), min_size=1, max_size=40), st.floats(-9e-10, 9e-10))
def test_normalising_twice_is_normalising_once(weights: list[float], off: float) -> None:
    row = np.array(weights) / np.sum(weights) * (1.0 + off)
    ends = np.array([0, len(row)])
    once = normalise_rows(row, ends, place)
    assert normalise_rows(once, ends, place).tobytes() == once.tobytes()


def test_each_component_of_a_row_is_normalised_by_itself() -> None:
    rows = np.array([[0.5, 0.25], [0.5, 0.75 + 4e-10]])
    out = normalise_rows(rows, np.array([0, 2]), place)
    assert out[:, 0].tobytes() == rows[:, 0].tobytes()
    assert out[:, 1].sum() == pytest.approx(1.0, abs=2**-52)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -1e-300, 1.0000000001])
def test_a_value_outside_its_range_is_named(bad: float) -> None:
    with pytest.raises(InputError, match=r"row \(1,\): loss .* is not in \[0, 1\]"):
        check_range(np.array([0.5, bad]), 0.0, 1.0, "loss", place)


def test_the_ends_of_a_range_belong_to_it() -> None:
    check_range(np.array([0.0, -0.0, 1.0]), 0.0, 1.0, "loss", place)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.5, 0.6], r"law sums to 1\.1, not 1; it is a distribution over the 2 things"),
        ([0.5, 0.4], r"law sums to 0\.9, not 1"),
        ([1.5, -0.5], r"law\[0\]: weight 1\.5 is not in \[0, 1\]"),
        ([-0.5, 1.0], r"law\[0\]: weight -0\.5 is not in \[0, 1\]"),
        ([np.nan, 1.0], r"law\[0\]: weight nan"),
        ([0.5, 0.25, 0.25], r"law has shape \(3,\); it needs 2 numbers, one per thing"),
        (0.5, r"law has shape \(\)"),
        ([[0.5, 0.5]], r"law has shape \(1, 2\)"),
        (["half", "half"], "law is not an array of numbers"),
        ([[0.5], [0.25, 0.25]], "law is not an array of numbers"),
        (None, r"law"),
    ],
)
def test_what_is_no_distribution_is_refused(weights: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_distribution(weights, "law", 2, "thing")  # type: ignore[arg-type]


def test_a_distribution_within_the_tolerance_is_divided_by_its_sum_and_an_exact_one_is_left() -> None:
    assert check_distribution([0.5, 0.5 + 5e-10], "law", 2, "thing").sum() == pytest.approx(1.0, abs=2**-52)
    assert check_distribution([0.25, 0.75], "law", 2, "thing").tolist() == [0.25, 0.75]


def test_a_weight_one_bit_above_one_is_within_the_tolerance() -> None:
    assert check_distribution([1.0 + 2.0**-52, 0.0], "law", 2, "thing").tolist() == [1.0, 0.0]


def test_numbers_says_what_shape_it_wanted() -> None:
    with pytest.raises(InputError, match=r"table has shape \(2,\); it needs two rows of three"):
        check_array([1, 2], "table", (2, 3), "two rows of three")
    assert check_array([[1, 2], [3, 4]], "table", (None, 2), "pairs").dtype == np.float64


def test_frozen_copies_what_can_be_written_and_shares_what_cannot() -> None:
    mine = np.arange(3.0)
    kept = readonly_copy(mine, np.float64)
    mine[0] = 7.0
    assert kept[0] == 0.0
    assert not kept.flags.writeable
    assert readonly_copy(kept, np.float64) is kept
    assert readonly_copy(kept, np.int32).dtype == np.int32


def test_frozen_copies_a_read_only_view_of_what_can_be_written() -> None:
    mine = np.arange(3.0)
    view = mine[:]
    view.flags.writeable = False
    kept = readonly_copy(view, np.float64)
    mine[0] = 7.0
    assert kept[0] == 0.0


def test_names_are_strings_one_each_all_different() -> None:
    assert check_names(["a", "b"], 2, "names", None) == ("a", "b")
    assert check_names(None, 2, "names", None) is None
    with pytest.raises(InputError, match='"goal" in names is reserved'):
        check_names(["a", "goal"], 2, "names", "goal")


def test_a_mapping_where_no_names_are_known_is_an_error_that_says_what_to_do():
    with pytest.raises(InputError, match=r"context is a mapping, and the names .* are not known here; give 2 numbers"):
        check_distribution({"young": 0.9, "old": 0.1}, "context", 2, "component")
