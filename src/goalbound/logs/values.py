"""Cells of a log as numbers, times and names, with a reason for each one that cannot be."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.adapters.covariates.columns import is_missing
from goalbound.adapters.covariates.univariate import plain_value
from goalbound.logs.tables import Values
from goalbound.models.validation import short_repr

LONGEST_NAME = 200
"""The most characters of the name of a case, a state or an action."""
EMPTY = "the cell is empty"
_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)
_MOST = 2**62


class Numbers(NamedTuple):
    """[K] numbers, NaN where there is none, and the reason."""

    values: NDArray[np.float64]
    reason: Callable[[int], str]


def read_numbers(column: Values) -> Numbers:
    """The numbers of a column; text is read as a number is written, with a point."""
    if isinstance(column, np.ndarray):
        numbers = column.astype(np.float64) if column.dtype.kind in "iuf" else np.full(len(column), np.nan)
    else:
        quick = _quick_numbers(column)
        numbers = np.array([_number(value) for value in column], dtype=np.float64) if quick is None else quick

    def reason(row: int) -> str:
        value = column[row]
        if _is_empty(value):
            return EMPTY
        comma = (
            "; write a point, not a comma" if isinstance(value, str) and _number(value.replace(",", ".")) >= 0 else ""
        )
        return f"{short_repr(plain_value(value))} is not a number{comma}"

    return Numbers(numbers, reason)


def _quick_numbers(column: list[Any]) -> NDArray[np.float64] | None:
    """All cells at once, if all are text of numbers or all are floats."""
    try:
        kinds = set(map(type, column))
        if kinds == {str}:
            return None if "_" in "".join(column) else np.array(list(map(float, column)))
        if kinds == {float}:
            return np.array(column)
    except ValueError:
        pass
    return None


def _number(value: Any) -> float:
    if isinstance(value, bool | np.bool_) or is_missing(value) or (isinstance(value, str) and "_" in value):
        return math.nan
    try:
        return float(value) if not isinstance(value, bytes) else math.nan
    except (TypeError, ValueError, OverflowError):
        return math.nan


class Times(NamedTuple):
    """[K] places in time that can be compared, which of them are known, and the reason for the others."""

    values: NDArray[Any]
    known: NDArray[np.bool_]
    reason: Callable[[int], str]


def read_times(column: Values) -> Times:
    """Numbers, or dates with times; text is one of both, dates as ISO 8601 writes them. All of one kind."""
    if isinstance(column, np.ndarray):
        if column.dtype.kind == "M":
            known = ~np.isnat(column)
            return Times(column, known, lambda row: EMPTY)
        known = np.isfinite(column) if column.dtype.kind == "f" else np.ones(len(column), dtype=np.bool_)
        return Times(column, known, lambda row: f"{plain_value(column[row])!r} is not a time; {_TIMES}")
    quick = _quick_numbers(column)
    if quick is not None and np.isfinite(quick).all():
        return Times(quick, np.ones(len(quick), dtype=np.bool_), lambda row: "")
    cells = [_time(value) for value in column]
    kind = next((kind for kind, _ in cells if kind), "")
    known = np.array([one == kind and bool(kind) for one, _ in cells], dtype=np.bool_)
    places = [place if fine else 0 for (_, place), fine in zip(cells, known.tolist(), strict=True)]

    def reason(row: int) -> str:
        if _is_empty(column[row]):
            return EMPTY
        if cells[row][0]:
            return (
                f"{short_repr(column[row])} is {cells[row][0]}, and the first time of the log is {kind}; use one kind"
            )
        return f"{short_repr(column[row])} is not a time; {_TIMES}"

    whole = all(type(place) is int and abs(place) < _MOST for place in places)
    return Times(np.array(places, dtype=np.int64 if whole else np.float64), known, reason)


_TIMES = "give a finite number, or a date such as 2026-03-01T14:05:00"


def _time(value: Any) -> tuple[str, int | float]:
    """The kind of a time, "" for none, and its place."""
    if _is_empty(value):
        return "", 0
    if isinstance(value, str):
        number = _number(value)
        if math.isfinite(number):
            return "a number", number
        try:
            value = datetime.datetime.fromisoformat(value.strip())
        except ValueError:
            return "", 0
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            return "a time without zone", (value - _EPOCH) // _MICROSECOND
        return "a time with zone", (value - _EPOCH.replace(tzinfo=datetime.UTC)) // _MICROSECOND
    if isinstance(value, datetime.date):
        return "a time without zone", (datetime.datetime.combine(value, datetime.time()) - _EPOCH) // _MICROSECOND
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and abs(int(value)) < _MOST:
        return "a number", int(value)
    number = _number(value)
    return ("a number", number) if math.isfinite(number) else ("", 0)


class Names(NamedTuple):
    """[K] the place of each cell among the different names, -1 where there is none; the names; the reasons."""

    codes: NDArray[np.int64]
    names: list[str]
    reason: Callable[[int], str]


def read_names(column: Values) -> Names:
    """The names of a column, in the order in which they first appear; whole numbers are names too."""
    cells = column.tolist() if isinstance(column, np.ndarray) else column
    kinds = set(map(type, cells))
    keys = cells if kinds.isdisjoint((bool, np.bool_)) else [_key(value) for value in cells]
    index: dict[Any, int] = {}
    try:
        raw = [index.setdefault(value, len(index)) for value in keys]
    except TypeError:  # a cell that is no key, such as a list
        index = {}
        raw = [index.setdefault(value if _is_key(value) else (_NO_KEY, repr(value)), len(index)) for value in keys]
    places: dict[str, int] = {}
    code_of = np.full(len(index), -1, dtype=np.int64)
    for value, place in index.items():
        if _name_fault(value) is None:
            code_of[place] = places.setdefault(_name(value), len(places))
    codes = code_of[np.array(raw, dtype=np.int64)] if raw else np.empty(0, dtype=np.int64)
    return Names(codes, list(places), lambda row: _name_fault(cells[row]) or "")


_NO_KEY = object()


def _key(value: Any) -> Any:
    """True and False are not names, and would be the same keys as 1 and 0."""
    return (_NO_KEY, repr(value)) if isinstance(value, bool | np.bool_) else value


def _is_key(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _name(value: Any) -> str:
    return value if isinstance(value, str) else str(plain_value(value))


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
