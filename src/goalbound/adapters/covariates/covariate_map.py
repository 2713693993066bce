"""What every map of covariates shares: the protocol, its result, and the checks of its settings.

A value is *missing* if it is None or NaN (or pandas' NA). A row is *rejected* where a rule of the map says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError
from goalbound.models.validation import check_distribution, check_float, readonly_copy, short_repr

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MAX_COMPONENTS = 4096
"""The most components of a map; a learner keeps a matrix [d, d] for every pair."""

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
    contexts: Floats, *, outside: Flags, missing: Flags, fill: Floats | None, rules: list[RejectionRule]
) -> MapResult:
    """The result for rows [K, d]: divided by their sums, missing values filled or rejected, rejected rows NaN."""
    rows = np.asarray(contexts / contexts.sum(axis=1, keepdims=True))
    gaps: Flags = np.asarray(missing.any(axis=1))
    if fill is not None:
        rows[gaps] = fill
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


def _missing_value(missing: Flags) -> str:
    return "the value is" if len(missing) == 1 else f"column {int(np.argmax(missing))} is"


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
