"""Maps of one column: hat functions on a line and around a circle, and categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from goalbound.adapters.covariates.columns import is_missing, listed, number_column
from goalbound.adapters.covariates.covariate_map import (
    LARGEST,
    Floats,
    MapResult,
    RejectionRule,
    build_result,
    checked_missing,
    checked_positive,
    checked_size,
    map_row,
    map_rows,
)
from goalbound.errors import ArgumentError, InputError
from goalbound.models.validation import (
    check_bool,
    check_float,
    check_int,
    readonly_copy,
    restore_readonly,
    short_repr,
)

ONE_COLUMN = ("value",)
"""The columns of a map of one column, which has no name."""

PERIOD = "such as 24 for hours"
Category = str | int
"""A word, a whole number, or true and false."""


@dataclass(frozen=True, eq=False)
class Hats:
    """Hat functions: at a knot all weight is on it, between two knots it moves in a straight line.

    What is linear in this context is a piecewise-linear function of the number: ``hats(x) @ f(knots) = f(x)``.

    Attributes:
        knots: [d] ascending, at least two.
        clamp: whether numbers beyond the end knots count as the end; else they are rejected.
        missing: [d] the context of a missing number; None: it is rejected.

    >>> Hats([20, 40, 80])(50)
    array([0.  , 0.75, 0.25])
    """

    knots: Floats
    clamp: bool = False
    missing: Floats | None = None

    __setstate__ = restore_readonly

    def __post_init__(self) -> None:
        object.__setattr__(self, "knots", checked_grid(self.knots, "knots", 2))
        object.__setattr__(self, "clamp", check_bool(self.clamp, "clamp"))
        object.__setattr__(self, "missing", checked_missing(self.missing, self.context_size))

    @property
    def context_size(self) -> int:
        """d, one component for each knot."""
        return len(self.knots)

    @property
    def names(self) -> tuple[str, ...]:
        """The knots."""
        return labels(self.knots.tolist(), "at")

    column_names = ONE_COLUMN

    def apply(self, table: Any) -> MapResult:
        """The result of each of K numbers."""
        low, high = float(self.knots[0]), float(self.knots[-1])
        numbers = number_column(table)
        missing = np.isnan(numbers)
        outside = (numbers < low) | (numbers > high)

        def message(row: int) -> str:
            return (
                f"{float(numbers[row])!r} is outside {low:g} to {high:g}; let such values count as the nearest end "
                "with clamp=True, or move the end knots"
            )

        weights = self._weights(np.clip(np.where(missing, low, numbers), low, high))
        rules: list[RejectionRule] = [] if self.clamp else [(outside, message)]
        return build_result(weights, outside=outside[:, None], missing=missing[:, None], fill=self.missing, rules=rules)

    many = map_rows
    __call__ = map_row

    def _weights(self, numbers: Floats) -> Floats:
        left = np.clip(np.searchsorted(self.knots, numbers, side="right") - 1, 0, self.context_size - 2)
        share = (numbers - self.knots[left]) / (self.knots[left + 1] - self.knots[left])
        return _between(left, left + 1, share, self.context_size)


@dataclass(frozen=True, eq=False)
class Categories:
    """All weight on the component of the category.

    Attributes:
        values: the categories that are known: words, whole numbers, or True and False.
        other: whether there is one component more, for all categories that are not known; else they are rejected.
        missing: [d] the context of a missing value; None: it is rejected.

    >>> regions = Categories(["north", "south"])
    >>> regions.names, regions("south"), regions("abroad")
    (('north', 'south', 'other'), array([0., 1., 0.]), array([0., 0., 1.]))
    """

    values: tuple[Category, ...]
    other: bool = True
    missing: Floats | None = None

    __setstate__ = restore_readonly

    def __post_init__(self) -> None:
        given: Any = self.values
        is_list = isinstance(given, Sequence) or (isinstance(given, np.ndarray) and given.ndim == 1)
        if not is_list or isinstance(given, str | bytes) or not len(given):
            raise ArgumentError(f"values is {short_repr(given)}; it needs a list of at least one category")
        values = tuple(plain_value(value) for value in self.values)
        for place, value in enumerate(values):
            if not isinstance(value, str | int):
                raise ArgumentError(
                    f"values[{place}] is {short_repr(value)}; a category is a word, a whole number, True or False"
                )
            if value in values[:place]:
                raise ArgumentError(f"values[{place}] is {value!r}, which is given twice; categories must differ")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "other", check_bool(self.other, "other"))
        object.__setattr__(self, "missing", checked_missing(self.missing, self.context_size))

    @property
    def context_size(self) -> int:
        """d, one component for each category, and one for the others."""
        return checked_size(len(self.values) + self.other, "Categories")

    @property
    def names(self) -> tuple[str, ...]:
        """The categories, then "other"."""
        known = [str(value) for value in self.values]
        if len({*known, "other"}) <= len(known):  # such as "1" and 1, or a category that is called other
            known = [repr(value) for value in self.values]
        return (*known, "other") if self.other else tuple(known)

    column_names = ONE_COLUMN

    def apply(self, table: Any) -> MapResult:
        """The result of each of K values. Unknown categories count as outside."""
        values = [plain_value(value) for value in listed(table)]
        places = {value: place for place, value in enumerate(self.values)}
        missing = np.array([is_missing(value) for value in values], dtype=np.bool_)
        found = np.array([_place(places, value) for value in values], dtype=np.int64)
        unknown = (found < 0) & ~missing
        rows = np.eye(self.context_size)[np.where(found < 0, self.context_size - 1, found)]

        def message(row: int) -> str:
            known = ", ".join(map(repr, self.values[:8])) + (", ..." if len(self.values) > 8 else "")
            return f"{values[row]!r} is none of the categories {known}; add it, or give the map other=True"

        rules: list[RejectionRule] = [] if self.other else [(unknown, message)]
        return build_result(rows, outside=unknown[:, None], missing=missing[:, None], fill=self.missing, rules=rules)

    many = map_rows
    __call__ = map_row


@dataclass(frozen=True, eq=False)
class Periodic:
    """Hat functions around a circle, such as the hour of the day: the last knot is next to the first.

    Attributes:
        period: where it begins again, such as 24.
        knots: [d] ascending, at least two, spanning less than a period; see also :meth:`even`.
        missing: [d] the context of a missing number; None: it is rejected.

    >>> day = Periodic.even(24, count=4)
    >>> day(23), day.names
    (array([0.83333333, 0.        , 0.        , 0.16666667]), ('at 0', 'at 6', 'at 12', 'at 18'))
    """

    period: float
    knots: Floats
    missing: Floats | None = None

    __setstate__ = restore_readonly

    def __post_init__(self) -> None:
        period = checked_positive(self.period, "period", PERIOD)
        knots = checked_grid(self.knots, "knots", 2)
        if not knots[-1] - knots[0] < period:
            raise ArgumentError(
                f"knots reach from {knots[0]:g} to {knots[-1]:g}, and the period is {period:g}; the first knot comes "
                "round again by itself, so leave out the last"
            )
        object.__setattr__(self, "period", period)
        object.__setattr__(self, "knots", knots)
        object.__setattr__(self, "missing", checked_missing(self.missing, self.context_size))

    @classmethod
    def even(cls, period: float, *, count: int, start: float = 0.0) -> Periodic:
        """``count`` knots at equal distances, the first at ``start``."""
        if check_int(count, "count") < 2:
            raise ArgumentError(f"count is {short_repr(count)}; a circle needs at least 2 knots")
        length = checked_positive(period, "period", PERIOD)
        first = check_float(start, "start", "the first knot")
        if not abs(first) <= LARGEST:
            raise ArgumentError(f"start is {short_repr(start)}; it needs a finite number, the first knot")
        return cls(length, first + length * np.arange(checked_size(count, "Periodic")) / count)

    @property
    def context_size(self) -> int:
        """d, one component for each knot."""
        return len(self.knots)

    @property
    def names(self) -> tuple[str, ...]:
        """The knots."""
        return labels(self.knots.tolist(), "at")

    column_names = ONE_COLUMN

    def apply(self, table: Any) -> MapResult:
        """The result of each of K numbers. None is out of range, but infinity is nowhere on a circle."""
        numbers = number_column(table)
        missing, infinite = np.isnan(numbers), np.isinf(numbers)
        place = np.where(missing | infinite, self.knots[0], numbers)
        rules = [(infinite, lambda row: f"{numbers[row]} has no place on a circle; give a finite number")]
        return build_result(
            self._weights(place), outside=infinite[:, None], missing=missing[:, None], fill=self.missing, rules=rules
        )

    many = map_rows
    __call__ = map_row

    def _weights(self, numbers: Floats) -> Floats:
        first = self.knots[0]
        around = np.mod(np.mod(numbers, self.period) - np.mod(first, self.period), self.period)
        around = np.where(around < self.period, around, 0.0)  # -1e-20 modulo 24 is 24
        ends = np.append(self.knots - first, self.period)
        left = np.clip(np.searchsorted(ends, around, side="right") - 1, 0, self.context_size - 1)
        share = (around - ends[left]) / (ends[left + 1] - ends[left])
        return _between(left, (left + 1) % self.context_size, np.clip(share, 0.0, 1.0), self.context_size)


def _between(left: Any, right: Any, share: Floats, size: int) -> Floats:
    """[K, d] weight ``share`` on one component and the rest on another."""
    weights = np.zeros((len(share), size))
    rows = np.arange(len(share))
    weights[rows, left] = 1.0 - share
    weights[rows, right] = share
    return weights


def plain_value(value: Any) -> Any:
    """A value as Python has it; 3.0 is 3, as tables with gaps store whole numbers as floats."""
    if isinstance(value, np.generic):
        value = value.item()
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _place(places: dict[Any, int], value: Any) -> int:
    """The place of a category, or -1."""
    if is_missing(value):
        return -1
    if isinstance(value, str | int | float):
        return places.get(value, -1)
    raise ArgumentError(f"{short_repr(value)} is not a category; it needs a word, a whole number, True or False")


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
