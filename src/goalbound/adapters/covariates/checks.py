"""Checks of raw covariates: numbers, missing values, values out of range, and the result of a map.

A value is *missing* if it is None or NaN (or pandas' NA). A row is *rejected* where a rule of the map says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError, InputError
from goalbound.models.validation import check_distribution, check_float, readonly_copy, short_repr

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MAX_COMPONENTS = 4096
"""The most components of a map; a learner keeps a matrix [d, d] for every pair."""

ONE_COLUMN = ("value",)
"""The columns of a map of one column, which has no name."""

LARGEST = 1e70
"""The largest centre, point, scale, period or temperature: the fourth power must be a number too."""

FILL = "give the map a context for missing values, missing=[...], or the mean of your data: fill_missing(map, data)"


class Rejection(NamedTuple):
    """The first row that was rejected, and why."""

    row: int
    message: str


@dataclass(frozen=True, eq=False)
class MapResult:
    """The result of a map on K rows of n raw columns.

    Attributes:
        contexts: [K, d] points of the simplex; NaN in rows that were rejected.
        outside: [K, n] values out of the range of the map, whether clamped or rejected.
        missing: [K, n] values that are None or NaN, whether filled or rejected.
        rejection: the first rejected row, or None.
    """

    contexts: Floats
    outside: Flags
    missing: Flags
    rejection: Rejection | None

    def accepted(self) -> Floats:
        """[K, d] the contexts; an error if a row was rejected."""
        if self.rejection is not None:
            raise ArgumentError(f"row {self.rejection.row}: {self.rejection.message}")
        return self.contexts

    def single(self) -> Floats:
        """[d] the context of the only row; an error if it was rejected."""
        if self.rejection is not None:
            raise ArgumentError(self.rejection.message)
        return self.contexts[0]


class CovariateMap(Protocol):
    """Takes raw covariates to points of the simplex. Frozen: the same covariates give the same bits for ever."""

    @property
    def context_size(self) -> int:
        """d, the components."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """d names of the components, for reports."""
        ...

    @property
    def column_names(self) -> tuple[str, ...]:
        """n names of the raw columns, for reports."""
        ...

    def apply(self, table: Any) -> MapResult:
        """The result of each of K rows; rejected rows raise no error."""
        ...

    def many(self, table: Any) -> Floats:
        """[K, d] the contexts of K rows, or an error that names the row."""
        ...

    def __call__(self, covariates: Any) -> Floats:
        """[d] the context of one row."""
        ...


class _Map(Protocol):
    def apply(self, table: Any) -> MapResult: ...


def map_rows(self: _Map, table: Any) -> Floats:
    """[K, d] the contexts of K rows, or an error that names the row: the method ``many`` of every map."""
    return self.apply(table).accepted()


def map_row(self: _Map, covariates: Any) -> Floats:
    """[d] the context of one row, record or value: the method ``__call__`` of every map."""
    return self.apply([covariates]).single()


RejectionRule = tuple[Flags, Callable[[int], str]]
"""[K] which rows are rejected, and the message for one."""


def check_map(map: object) -> None:
    """An error unless this is a map of covariates."""
    if isinstance(map, type) or not callable(getattr(map, "apply", None)):
        raise ArgumentError(f"map is {short_repr(map)}; it needs a map of covariates, such as Hats([20, 80])")


def build_result(
    contexts: Floats, *, outside: Flags, missing: Flags, missing_context: Floats | None, rules: list[RejectionRule]
) -> MapResult:
    """The result for rows [K, d]: divided by their sums, missing values filled or rejected, rejected rows NaN."""
    rows = np.asarray(contexts / contexts.sum(axis=1, keepdims=True))
    gaps = any_of(missing)
    if missing_context is not None:
        rows[gaps] = missing_context
    else:
        rules = [(gaps, lambda row: f"{_missing_value(missing[row])} missing (None or NaN); {FILL}"), *rules]
    first: Rejection | None = None
    for mask, message in rules:
        if mask.any():
            row = int(np.argmax(mask))
            rows[mask] = np.nan
            if first is None or row < first.row:
                first = Rejection(row, message(row))
    return MapResult(rows, outside, missing, first)


def any_of(flags: Flags) -> Flags:
    """[K] whether any of a row [K, n] is true."""
    return np.asarray(flags.any(axis=1))


def all_finite(rows: Floats) -> Flags:
    """[K] whether all of a row [K, n] are finite numbers."""
    return np.asarray(np.isfinite(rows).all(axis=1))


def _missing_value(missing: Flags) -> str:
    return "the value is" if len(missing) == 1 else f"column {int(np.argmax(missing))} is"


def map_column(
    values: Any, knots: Floats, *, clamp: bool, missing_context: Floats | None, weights: Callable[[Floats], Floats]
) -> MapResult:
    """The result for one column of numbers, by ``weights`` of [K] numbers from the first knot to the last."""
    low, high = float(knots[0]), float(knots[-1])
    numbers = number_column(values)
    missing = np.isnan(numbers)
    outside = (numbers < low) | (numbers > high)

    def message(row: int) -> str:
        return (
            f"{float(numbers[row])!r} is outside {low:g} to {high:g}; let such values count as the nearest end "
            "with clamp=True, or move the end knots"
        )

    inside = np.clip(np.where(missing, low, numbers), low, high)
    return build_result(
        weights(inside), outside=outside[:, None], missing=missing[:, None], missing_context=missing_context,
        rules=[] if clamp else [(outside, message)],
    )  # fmt: skip


def number_column(values: Any) -> Floats:
    """[K] float64, NaN where a value is missing; an error names the row and the value."""
    array = _as_array(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ArgumentError(f"the values have shape {array.shape}; give one number for each row")
    if array.dtype.kind in "fiub":
        return array.astype(np.float64)
    if array.dtype.kind in "mMc":
        raise ArgumentError(f"the values are {array.dtype}; give one number for each row, such as days since some day")
    return np.array([_number(value, row) for row, value in enumerate(array.tolist())], dtype=np.float64)


def number_rows(table: Any, width: int) -> Floats:
    """[K, n] float64, NaN where a value is missing; rows of n values each."""
    array = _as_array(table)
    if array.ndim == 0:
        raise ArgumentError(f"the table is {short_repr(table)}; give rows of {width} values each")
    if array.ndim == 2 and array.dtype.kind in "fiub" and array.shape[1] == width:
        return array.astype(np.float64)
    rows = [list(row) if np.iterable(row) and not isinstance(row, str) else [row] for row in table]
    for place, row in enumerate(rows):
        if len(row) != width:
            raise ArgumentError(f"row {place} has {len(row)} values; the map takes {width} columns")
    columns = [number_column([row[column] for row in rows]) for column in range(width)]
    return np.stack(columns, axis=1) if rows else np.empty((0, width))


def _as_array(values: Any) -> NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))
    if isinstance(values, np.ndarray):
        return values
    try:
        return np.asarray(values, dtype=None if hasattr(values, "__array__") else object)
    except Exception as error:  # an object may do anything when it is asked for its array
        raise ArgumentError(f"the values are no table ({error!s:.200}); give one number for each row") from None


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN or pandas' NA (known by its name, so that pandas need not be there)."""
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and value != value)


def _number(value: Any, row: int) -> float:
    if is_missing(value):
        return np.nan
    if not isinstance(value, str | bytes):
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            pass
    raise ArgumentError(
        f"row {row}: {short_repr(value)} is no number; a missing one is None or NaN, and words are for Categories"
    )


def checked_missing(missing: Any, size: int) -> Floats | None:
    """The context [d] of missing values, or None: they are rejected."""
    return (
        None
        if missing is None
        else readonly_copy(check_distribution(missing, "missing", size, "component"), np.float64)
    )


def checked_flag(value: Any, name: str) -> bool:
    """True or false."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(f"{name} is {short_repr(value)}; it needs True or False")
    return bool(value)


def checked_positive(value: Any, name: str, meaning: str) -> float:
    """A number from 1e-70 to 1e70."""
    found = check_float(value, name, f"a positive number, {meaning}")
    if not 1.0 / LARGEST <= found <= LARGEST:
        raise ArgumentError(f"{name} is {short_repr(value)}; it needs a positive number, {meaning}")
    return found


def checked_size(size: int, what: str) -> int:
    """A number of components that a learner can handle."""
    if size > MAX_COMPONENTS:
        raise ArgumentError(
            f"{what} would have {short_repr(size)} components; at most {MAX_COMPONENTS} are allowed, and few are best"
        )
    return size


def checked_grid(values: Any, name: str, least: int) -> Floats:
    """[k] finite numbers, ascending, at least so many, whose span is finite."""
    try:
        array = number_column(values)
    except InputError as error:
        raise ArgumentError(f"{name}: {error}") from None
    if len(array) < least:
        raise ArgumentError(f"{name} has {len(array)} numbers; it needs at least {least}")
    checked_size(len(array), name)
    with np.errstate(all="ignore"):
        span = array[-1] - array[0]
    bad = array[~np.isfinite(array)]
    if len(bad) or not np.isfinite(span):
        raise ArgumentError(f"{name} holds {bad[0] if len(bad) else 'numbers too far apart'}; it needs finite numbers")
    flat = np.flatnonzero(~(np.diff(array) > 0.0))
    if len(flat):
        at = int(flat[0])
        raise ArgumentError(f"{name}[{at + 1}] is {array[at + 1]:g} after {array[at]:g}; numbers must ascend")
    return readonly_copy(array, np.float64)


def labels(values: Sequence[float], before: str) -> tuple[str, ...]:
    """Short names of numbers, all different."""
    short = [f"{value:g}" for value in values]
    if len(set(short)) < len(short):
        short = [repr(float(value)) for value in values]
    if len(set(short)) < len(short):
        short = [f"{text} ({place})" for place, text in enumerate(short)]
    return tuple(f"{before} {text}" for text in short)
