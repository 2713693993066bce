"""What an array that was read from a file must look like, and the range of its numbers."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.errors import FileFormatError
from goalbound.jit.records import new_record, record_type
from goalbound.models.files.ranges import HUGE, MANY, around, matching, within, within_record


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (None, "sums is missing"),
        (np.zeros(2, dtype=np.int64), "sums holds int64 numbers; it needs float64"),
        (np.zeros(3), r"sums has shape \(3,\); the support asks for \(2,\)"),
        (np.array([0.0, np.nan]), "sums holds nan"),
        (np.array([np.inf, 0.0]), "sums holds inf"),
        (np.array([0.0, -2.0 * HUGE]), "sums holds -6"),
    ],
)
def test_any_other_array_is_refused_and_named(array: np.ndarray | None, message: str) -> None:
    with pytest.raises(FileFormatError, match=f"^{message}"):
        matching({} if array is None else {"sums": array}, "sums", (2,), np.float64)


def test_where_nothing_is_known_yet_numbers_may_be_infinite_and_never_nan() -> None:
    matching({"state.backup": np.array([-np.inf])}, "state.backup", (1,), np.float64)
    with pytest.raises(FileFormatError, match="holds nan"):
        matching({"state.backup": np.array([np.nan])}, "state.backup", (1,), np.float64)


def test_a_number_out_of_range_is_named_and_nan_is_in_none() -> None:
    within("place", np.array([0, 3]), 0, 3)
    for wrong in (-1, 4):
        with pytest.raises(FileFormatError, match=f"place holds {wrong}, which is out of range"):
            within("place", np.array([0, wrong]), 0, 3)
    with pytest.raises(FileFormatError, match="place holds nan"):
        within("place", np.array([np.nan]), *around(1.0, 1.0))


def test_fields_of_a_record_without_limits_are_counts_and_finite() -> None:
    record = new_record(record_type(integers=("steps",), reals=("loss", "residual")))
    record["residual"] = np.inf  # where value iteration knows nothing yet
    within_record("totals", record)
    for field, number in (("steps", -1), ("steps", MANY + 1), ("loss", np.inf), ("residual", np.nan)):
        wrong = new_record(record.dtype)
        wrong[field] = number
        with pytest.raises(FileFormatError, match=f"{field} of totals holds"):
            within_record("totals", wrong)
    within_record("totals", record, steps=(0, 2))
