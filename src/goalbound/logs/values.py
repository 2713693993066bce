"""Cells of a log as numbers, times and names, with a reason for each one that cannot be.

Arrow casts whole columns; where it cannot, cells are read one by one, to know which is wrong.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.adapters.covariates.columns import is_missing
from goalbound.adapters.covariates.univariate import plain_value
from goalbound.errors import ArgumentError
from goalbound.logs.tables import Values
from goalbound.models.validation import short_repr

LONGEST_NAME = 200
"""The most characters of the name of a case, a state or an action."""
EMPTY = "the cell is empty"
NUMBER, NO_ZONE, ZONE = "a number", "a time without zone", "a time with zone"
"""The kinds of times."""
_TIMES = "give a finite number, or a date such as 2026-03-01T14:05:00"
_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)
_MOST = 2**62


def cells_of(column: Values) -> list[Any]:
    """The cells as Python has them; a text that Arrow holds once is one object."""
    if isinstance(column, list):
        return column
    words, codes = words_of(column)
    return [words[code] for code in codes.tolist()]


def words_of(column: Any) -> tuple[list[Any], NDArray[np.int64]]:
    """The different cells of an Arrow array as Python has them, the last one None, and [K] which one each row has."""
    from pyarrow import ArrowException, types

    if types.is_temporal(column.type):
        column = column.cast("string")
    try:
        encoded = column if types.is_dictionary(column.type) else column.dictionary_encode()
    except ArrowException:  # of lists, for example
        return [*column.to_pylist(), None], np.arange(len(column))
    words = [*encoded.dictionary.to_pylist(), None]
    return words, encoded.indices.fill_null(len(words) - 1).to_numpy().astype(np.int64)


def cast(column: Values, kind: str, zone: str | None = None) -> NDArray[Any] | None:
    """The cells as Arrow casts them to ``double`` or ``timestamp``, gaps as NaN or NaT; None if it cannot read all."""
    if isinstance(column, list):
        return None
    import pyarrow
    from pyarrow import compute, types

    wanted = pyarrow.float64() if kind == "double" else pyarrow.timestamp("us", zone)
    if types.is_dictionary(column.type):
        words = cast(column.dictionary, kind, zone)
        gap = np.array("nan" if kind == "double" else "nat", dtype=None if words is None else words.dtype)
        codes = column.indices.fill_null(len(column.dictionary)).to_numpy()
        return None if words is None else np.append(words, gap)[codes]
    if types.is_string(column.type) or types.is_large_string(column.type):
        column = compute.utf8_trim_whitespace(column)
    elif kind != "double" or not (types.is_integer(column.type) or types.is_floating(column.type)):
        return None
    try:
        return np.asarray(compute.cast(column, wanted, safe=False).to_numpy(zero_copy_only=False))
    except pyarrow.ArrowException:
        return None


class Numbers(NamedTuple):
    """[K] numbers, NaN where there is none, and the reason."""

    values: NDArray[np.float64]
    reason: Callable[[int], str]


def read_numbers(column: Values) -> Numbers:
    """The numbers of a column; text is read as a number is written, with a point."""
    numbers = cast(column, "double")
    if numbers is None:
        numbers = np.array([_number(value) for value in cells_of(column)], dtype=np.float64)

    def reason(row: int) -> str:
        value = _cell(column, row)
        if _is_empty(value):
            return EMPTY
        with_point = value.replace(",", ".") if isinstance(value, str) else None
        comma = "; write a point, not a comma" if _number(with_point) >= 0 else ""
        return f"{short_repr(plain_value(value))} is not a number{comma}"

    return Numbers(numbers, reason)


def _cell(column: Values, row: int) -> Any:
    value = column[row]
    return value.as_py() if hasattr(value, "as_py") else value


def _number(value: Any) -> float:
    if isinstance(value, bool | np.bool_) or is_missing(value) or (isinstance(value, str) and "_" in value):
        return math.nan
    try:
        return float(value) if not isinstance(value, bytes) else math.nan
    except (TypeError, ValueError, OverflowError):
        return math.nan


class LogTimes(NamedTuple):
    """When K steps were made.

    Attributes:
        values: [K] numbers as the column has them, or dates as ``datetime64[us]``, in UTC where they have a zone.
        zoned: whether they are dates with a zone.
    """

    values: NDArray[Any]
    zoned: bool

    def place(self, time: Any, name: str) -> Any:
        """A time of the user's, such as ``"2026-03-01"``, to be compared with those of the log."""
        dates = self.values.dtype.kind == "M"
        first = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC if self.zoned else None) if dates else 0
        times = read_times([first, time])
        if not times.known[1]:
            raise ArgumentError(f"{name}: {times.reason(1)}")
        return times.values[1]


class Times(NamedTuple):
    """[K] places in time that can be compared, which of them are known, and the reason for the others; whether they
    are dates with a zone."""

    values: NDArray[Any]
    known: NDArray[np.bool_]
    reason: Callable[[int], str]
    zoned: bool

    def of_log(self) -> LogTimes:
        """... as logs hold them."""
        dates = self.values.dtype.kind == "M"
        return LogTimes(self.values.astype("datetime64[us]") if dates else self.values, self.zoned)


def read_times(column: Values) -> Times:
    """Numbers, or dates with times; text is one of both, dates as ISO 8601 writes them. All of one kind."""
    quick = None if isinstance(column, list) else _arrow_times(column)
    if quick is not None:
        return quick
    cells = cells_of(column)
    read = [_time(value) for value in cells]
    kind = next((kind for kind, _ in read if kind), "")
    known = np.array([one == kind and bool(kind) for one, _ in read], dtype=np.bool_)
    places = [place if fine else 0 for (_, place), fine in zip(read, known.tolist(), strict=True)]

    def reason(row: int) -> str:
        value, its_kind = cells[row], read[row][0]
        if _is_empty(value):
            return EMPTY
        if its_kind:
            return f"{short_repr(value)} is {its_kind}, and the first time of the log is {kind}; use one kind"
        return f"{short_repr(value)} is not a time; {_TIMES}"

    whole = all(type(place) is int and abs(place) < _MOST for place in places)
    values = np.array(places, dtype=np.int64 if whole else np.float64)
    return Times(values.astype("datetime64[us]") if kind in (NO_ZONE, ZONE) else values, known, reason, kind == ZONE)


def _arrow_times(column: Any) -> Times | None:
    """The times of an Arrow array; None unless all are known, or the type of the column says what they are."""
    from pyarrow import types

    if types.is_timestamp(column.type) or types.is_date(column.type):
        dates = np.asarray(column.to_numpy(zero_copy_only=False))
        return Times(dates, ~np.isnat(dates), lambda row: EMPTY, getattr(column.type, "tz", None) is not None)
    if types.is_integer(column.type) or types.is_floating(column.type):
        numbers = np.asarray(column.to_numpy(zero_copy_only=False))
        known = np.asarray(np.isfinite(numbers))
        return Times(numbers, known, lambda row: _no_time(_cell(column, row)), False)
    for kind, zone in (("double", None), ("timestamp", None), ("timestamp", "UTC")):
        read = cast(column, kind, zone)
        if read is not None and np.isfinite(read).all():
            return Times(read, np.ones(len(read), dtype=np.bool_), lambda row: "", zone is not None)
    return None


def _no_time(value: Any) -> str:
    return EMPTY if value is None else f"{plain_value(value)!r} is not a time; {_TIMES}"


def _time(value: Any) -> tuple[str, int | float]:
    """The kind of a time, "" for none, and its place."""
    if _is_empty(value):
        return "", 0
    if isinstance(value, str):
        number = _number(value)
        if math.isfinite(number):
            return NUMBER, number
        try:
            value = datetime.datetime.fromisoformat(value.strip())
        except ValueError:
            return "", 0
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        value = datetime.datetime.combine(value, datetime.time())
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            return NO_ZONE, (value - _EPOCH) // _MICROSECOND
        return ZONE, (value - _EPOCH.replace(tzinfo=datetime.UTC)) // _MICROSECOND
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and abs(int(value)) < _MOST:
        return NUMBER, int(value)
    number = _number(value)
    return (NUMBER, number) if math.isfinite(number) else ("", 0)


class Names(NamedTuple):
    """[K] the place of each cell among the different names, -1 where there is none; the names; the reasons."""

    codes: NDArray[np.int64]
    names: list[str]
    reason: Callable[[int], str]


def read_names(column: Values) -> Names:
    """The names of a column, in the order in which they first appear; whole numbers are names too."""
    words, rows = _different(column) if isinstance(column, list) else words_of(column)
    faults = [_name_fault(word) for word in words]
    seen = list(dict.fromkeys(rows.tolist()))  # a dictionary of Arrow may hold words in another order, or twice
    places: dict[str, int] = {}
    code_of = np.full(len(words) + 1, -1, dtype=np.int64)
    for word in seen:
        if faults[word] is None:
            code_of[word] = places.setdefault(str(plain_value(words[word])), len(places))
    return Names(code_of[rows], list(places), lambda row: faults[rows[row]] or "")


def _different(cells: list[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    """The different cells, and [K] which one each row has. True is not 1 here, and a cell may be no key, as a list."""
    index: dict[Any, int] = {}
    words: list[Any] = []
    rows = np.empty(len(cells), dtype=np.int64)
    for row, cell in enumerate(cells):
        is_name = isinstance(cell, str | int | float | np.number) and not isinstance(cell, bool)
        place = index.setdefault(cell if is_name else (type(cell).__name__, row), len(words))
        if place == len(words):
            words.append(cell)
        rows[row] = place
    return words, rows


def _name_fault(value: Any) -> str | None:
    """Why a cell is no name, or None."""
    if _is_empty(value):
        return EMPTY
    if isinstance(value, str):
        if len(value) > LONGEST_NAME:
            return f"{short_repr(value[:40])}... has {len(value)} characters; a name has at most {LONGEST_NAME}"
        return None
    if isinstance(plain_value(value), int) and not isinstance(value, bool | np.bool_) and abs(int(value)) < 2**63:
        return None
    return f"{short_repr(value)} is not a name; it needs a text or a whole number"


def _is_empty(value: Any) -> bool:
    """Whether there is nothing in a cell; pandas' NaT is known by its name."""
    return is_missing(value) or type(value).__name__ == "NaTType" or (isinstance(value, str) and not value.strip())
