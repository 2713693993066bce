"""The checks of arguments, one by one."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.errors import InputError
from goalbound.models.validation import (
    check_distribution,
    check_names,
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


def test_frozen_copies_what_can_be_written_and_shares_what_cannot() -> None:
    mine = np.arange(3.0)
    kept = readonly_copy(mine, np.float64)
    mine[0] = 7.0
    assert kept[0] == 0.0
    assert not kept.flags.writeable
    assert readonly_copy(kept, np.float64) is kept
    assert readonly_copy(kept, np.int32).dtype == np.int32


def test_names_are_strings_one_each_all_different() -> None:
    assert check_names(["a", "b"], 2, "names", None) == ("a", "b")
    assert check_names(None, 2, "names", None) is None
    with pytest.raises(InputError, match='"goal" in names is reserved'):
        check_names(["a", "goal"], 2, "names", "goal")
