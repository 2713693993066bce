"""Categorical maps: one of several categories, or a composition whose parts make up a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from goalbound.adapters.covariates.columns import is_missing, listed, number_rows
from goalbound.adapters.covariates.covariate_map import (
    ONE_COLUMN,
    Floats,
    MapResult,
    any_of,
    build_result,
    checked_missing,
    checked_size,
    map_row,
    map_rows,
)
from goalbound.errors import ArgumentError
from goalbound.models.validation import (
    check_bool,
    check_names,
    restore_readonly,
    short_repr,
)

Category = str | int
"""A word, a whole number, or true and false."""


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
        if not _is_listed(given) or not len(given):
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

        return build_result(
            rows, outside=unknown[:, None], missing=missing[:, None], missing_context=self.missing,
            rules=[] if self.other else [(unknown, message)],
        )  # fmt: skip

    many = map_rows
    __call__ = map_row


@dataclass(frozen=True, eq=False)
class Composition:
    """Parts of a whole, divided by their sum: a row is one amount for each part, not negative, not all zero.

    Rows are amounts in the order of the parts; records, data frames and columns of logs that have the names of the
    parts are read by these.

    Attributes:
        parts: the names of the parts.
        missing: [d] the context of a row in which a part is missing; None: it is rejected.

    >>> Composition(["road", "rail", "sea"])([30, 10, 0])
    array([0.75, 0.25, 0.  ])
    >>> Composition(["road", "rail", "sea"])({"sea": 0, "rail": 10, "road": 30})
    array([0.75, 0.25, 0.  ])
    """

    parts: tuple[str, ...]
    missing: Floats | None = None

    __setstate__ = restore_readonly

    def __post_init__(self) -> None:
        given: Any = self.parts
        if not _is_listed(given) or not len(given):
            raise ArgumentError(f"parts is {short_repr(given)}; it needs a list with the name of at least one part")
        names = check_names(tuple(given), len(given), "parts", None)
        object.__setattr__(self, "parts", names)
        object.__setattr__(self, "missing", checked_missing(self.missing, self.context_size))

    @property
    def context_size(self) -> int:
        """d, the parts."""
        return checked_size(len(self.parts), "Composition")

    @property
    def names(self) -> tuple[str, ...]:
        """The parts."""
        return self.parts

    @property
    def column_names(self) -> tuple[str, ...]:
        """The parts."""
        return self.parts

    def apply(self, table: Any) -> MapResult:
        """The result of each of K rows [K, d]."""
        amounts = number_rows(table, self.context_size, self.parts)
        missing = np.isnan(amounts)
        wrong = (amounts < 0.0) | np.isinf(amounts)
        usable = np.where(missing | wrong, 0.0, amounts)
        largest = usable.max(axis=1, keepdims=True)
        empty = (largest[:, 0] == 0.0) & ~any_of(missing) & ~any_of(wrong)
        rows = np.where(largest > 0.0, usable / np.where(largest > 0.0, largest, 1.0), 1.0)

        def message(row: int) -> str:
            part = int(np.argmax(wrong[row]))
            return f'"{self.parts[part]}" is {amounts[row, part]}; a part of a whole is a finite number, not negative'

        return build_result(
            rows, outside=wrong, missing=missing, missing_context=self.missing,
            rules=[
                (any_of(wrong), message),
                (empty, lambda row: "all parts are 0, so there is no whole to divide them by; leave such rows out"),
            ],
        )  # fmt: skip

    many = map_rows
    __call__ = map_row


def _is_listed(given: Any) -> bool:
    """Whether these are values one after the other."""
    if isinstance(given, np.ndarray):
        return given.ndim == 1
    return isinstance(given, Sequence) and not isinstance(given, str | bytes)


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
