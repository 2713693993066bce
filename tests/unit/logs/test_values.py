"""Cells as numbers, times and names."""

import datetime
import math
from decimal import Decimal

import numpy as np
import pytest

from goalbound.logs import values
from goalbound.logs.tables import as_column
from goalbound.logs.values import EMPTY


def read_numbers(cells):
    return values.read_numbers(as_column(cells))


def read_times(cells):
    return values.read_times(as_column(cells))


def read_names(cells):
    return values.read_names(as_column(cells))


def test_numbers_are_read_from_text_numbers_and_decimals():
    np.testing.assert_array_equal(read_numbers(["1.5", " 2 ", "1e-3"]).values, [1.5, 2.0, 0.001])
    np.testing.assert_array_equal(read_numbers([1, np.float32(0.5), Decimal("0.25")]).values, [1.0, 0.5, 0.25])
    np.testing.assert_array_equal(read_numbers(np.array([1, 2], dtype=np.int8)).values, [1.0, 2.0])


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("", EMPTY), ("  ", EMPTY), (None, EMPTY), (math.nan, EMPTY), ("much", "'much' is not a number"),
        ("3,5", "'3,5' is not a number; write a point, not a comma"), ("=1+1", "'=1+1' is not a number"),
        ("1_000", "'1_000' is not a number"), (True, "True is not a number"), ([1], "[1] is not a number"),
        (b"1", "b'1' is not a number"), ("9" * 10**6, "'999"), (10**400, "is not a number"),
    ],
)  # fmt: skip
def test_what_is_no_number_has_a_reason_with_its_value(cell, reason):
    numbers = read_numbers([0.5, cell])
    assert numbers.values[0] == 0.5
    assert not math.isfinite(numbers.values[1])
    assert reason in numbers.reason(1)
    assert len(numbers.reason(1)) < 200


def test_times_are_numbers_or_dates_and_keep_their_order():
    for column in (
        ["2026-03-01", "2026-03-01T00:00:01", "2026-03-02 12:00"],
        [datetime.date(2026, 3, 1), datetime.datetime(2026, 3, 1, 1), datetime.datetime(2026, 3, 2)],
        ["2026-03-01T12:00:00+02:00", "2026-03-01T11:00:00Z", "2026-03-01T12:30:00+01:00"],
        np.array(["2026-03-01", "2026-03-02", "2026-03-03"], dtype="datetime64[ns]"),
        ["1", "2.5", "10"],
        [1, 2, 3],
        [2**60, 2**60 + 1, 2**60 + 2],  # nanoseconds: floats could not tell them apart
    ):
        times = read_times(column)
        assert times.known.all()
        assert (np.diff(times.values) > np.zeros(1, dtype=np.diff(times.values).dtype)).all()


def test_times_of_two_kinds_are_told_apart():
    for column, said in (
        (["3", "2026-03-01"], "is a time without zone, and the first time of the log is a number"),
        (
            ["2026-03-01", "2026-03-01T00:00:00Z"],
            "is a time with zone, and the first time of the log is a",
        ),
        (["2026-03-01", "yesterday"], "'yesterday' is not a time"),
        (["2026-03-01", ""], EMPTY),
    ):
        times = read_times(column)
        np.testing.assert_array_equal(times.known, [True, False])
        assert said in times.reason(1)
    not_finite = read_times(np.array([0.0, np.nan, np.inf]))
    np.testing.assert_array_equal(not_finite.known, [True, False, False])
    assert not read_times(np.array(["NaT"], dtype="datetime64[s]")).known[0]


def test_names_are_numbered_as_they_appear_and_whole_numbers_are_names():
    names = read_names(["b", "a", "b", None])
    np.testing.assert_array_equal(names.codes, [0, 1, 0, -1])
    assert names.names == ["b", "a"]
    assert names.reason(3) == EMPTY
    assert read_names([3, 3.0, "3", np.int64(3)]).names == ["3"]  # as tables with gaps store whole numbers
    assert read_names(np.array([7, 8])).names == ["7", "8"]


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("x" * 10**6, "has 1000000 characters; a name has at most 200"), (0.5, "0.5 is not a name"),
        ([1], "[1] is not a name"), ({}, "{} is not a name"), (True, "True is not a name"), (b"a", "is not a name"),
        (10**30, "is not a name"), (math.inf, "inf is not a name"),
    ],
)  # fmt: skip
def test_what_is_no_name_has_a_reason_with_its_value(cell, said):
    names = read_names(["a", cell])
    np.testing.assert_array_equal(names.codes, [0, -1])
    assert said in names.reason(1)
    assert len(names.reason(1)) < 200


@pytest.mark.parametrize("flag", [True, np.True_])
def test_true_is_not_the_name_1(flag):
    for column, codes in (([flag, 1, 2], [-1, 0, 1]), ([1, flag, 2], [0, -1, 1])):
        names = read_names(column)
        np.testing.assert_array_equal(names.codes, codes)
        assert names.names == ["1", "2"]
        assert names.reason(column.index(flag) if column[0] is flag else 1).endswith(
            "it needs a text or a whole number"
        )
