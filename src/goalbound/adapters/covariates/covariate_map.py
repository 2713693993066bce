"""What every map of covariates shares: the protocol, its result, and the checks of its settings.

A value is *missing* if it is None or NaN (or pandas' NA). A row is *rejected* where a rule of the map says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.adapters.covariates.columns import number_column
from goalbound.errors import ArgumentError, InputError
from goalbound.models.validation import check_array, check_distribution, check_float, readonly_copy, short_repr

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MAX_COMPONENTS = 4096
"""The most components of a map; a learner keeps a matrix [d, d] for every pair."""

ONE_COLUMN = ("value",)
"""The columns of a map of one column, which has no name."""

LARGEST = 1e70
"""The largest centre, point, scale, period or temperature: the fourth power must be a number too."""

FURTHEST = 1e300
"""Beyond it, rows count as being there: sums and products with them stay numbers."""

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
    """Takes raw covariates to points of the simplex. Frozen: the same covariates give the same bits always."""

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


def check_map(map: object, name: str = "map") -> None:
    """An error unless this is a map of covariates."""
    applies = not isinstance(map, type) and callable(getattr(map, "apply", None))
    if not applies or not isinstance(getattr(map, "context_size", None), int):  # data frames can be applied too
        raise ArgumentError(f"{name} is {short_repr(map)}; it needs a map of covariates, such as Hats([20, 80])")


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


def checked_missing(missing: Any, size: int) -> Floats | None:
    """The context [d] of missing values, or None: they are rejected."""
    return (
        None
        if missing is None
        else readonly_copy(check_distribution(missing, "missing", size, "component"), np.float64)
    )


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
    """[k] finite numbers, ascending, at least ``least`` of them, whose span is finite."""
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


def checked_points(values: ArrayLike, name: str) -> Floats:
    """[d, n] finite numbers, all rows different."""
    array = check_array(values, name, (None, None), "shape [d, n], one row for each component")
    if not array.size:
        raise ArgumentError(f"{name} has shape {array.shape}; it needs at least one row and one column")
    checked_size(len(array), name)
    bad = np.argwhere(~(np.abs(array) <= LARGEST))
    if len(bad):
        raise ArgumentError(f"{name}[{bad[0][0]}][{bad[0][1]}] is {array[tuple(bad[0])]}; it needs a finite number")
    if len(np.unique(array, axis=0)) < len(array):
        raise ArgumentError(f"two rows of {name} are the same; they must differ")
    return readonly_copy(array, np.float64)


def point_names(points: Floats, before: str) -> tuple[str, ...]:
    """Short names of rows, all different."""
    short = [", ".join(f"{value:.4g}" for value in row) for row in points]
    if len(set(short)) < len(short):
        short = [", ".join(map(repr, row)) for row in points.tolist()]
    return tuple(f"{before} ({text})" for text in short)


def products(rows: Floats, others: Floats) -> Floats:
    """[K, m] ``rows @ others.T``, added up column by column: a row gives the same bits alone and among others."""
    total = np.zeros((len(rows), len(others)))
    for column in range(rows.shape[1]):
        total += rows[:, column, None] * others[:, column]
    return total


def build_point_result(
    rows: Floats, weights: Floats, outside: Flags, missing_context: Floats | None, rules: list[RejectionRule]
) -> MapResult:
    """The result for rows [K, n]: missing values are filled or rejected, and infinity is always rejected."""
    missing, infinite = np.isnan(rows), np.isinf(rows)

    def message(row: int) -> str:
        return f"column {int(np.argmax(infinite[row]))} is {rows[row][infinite[row]][0]}; it needs a finite number"

    gaps = any_of(missing)
    nowhere = any_of(infinite) & ~gaps
    return build_result(
        weights, outside=infinite | (outside & ~gaps)[:, None], missing=missing, missing_context=missing_context,
        rules=[*rules, (nowhere, message)],
    )  # fmt: skip


def place_names(width: int) -> tuple[str, ...]:
    """The names of columns that are known by their places only."""
    return tuple(f"column {place}" for place in range(width))
