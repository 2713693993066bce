"""Maps of several columns, each read by a map of its own: averages and products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, product
from math import prod
from typing import Any

import numpy as np

from goalbound.adapters.covariates.columns import Column, checked_columns, column_label, column_labels, column_of
from goalbound.adapters.covariates.covariate_map import (
    CovariateMap,
    Floats,
    MapResult,
    Rejection,
    check_map,
    checked_size,
    map_row,
    map_rows,
)
from goalbound.errors import ArgumentError, InputError
from goalbound.models.validation import (
    check_distribution,
    check_list,
    readonly_copy,
    restore_readonly,
)


@dataclass(frozen=True, eq=False)
class Additive:
    """The weighted average of maps, each of its own column; the components are those of all maps, side by side.

    What is linear in this context is a sum of functions of the columns, one each: no interactions. A map of weight w
    can move no probability and no loss by more than w.

    Attributes:
        maps: one for each column.
        columns: which column each map reads: a name (covariates are records), a place (covariates are rows), or a
            tuple for a map of several columns.
        weights: [maps] how much each counts; None: all alike.

    >>> from goalbound.adapters.covariates import Categories, Hats
    >>> patients = Additive([Hats([20, 80]), Categories(["A", "B"], other=False)], ["age", "type"])
    >>> patients({"age": 35, "type": "B"})
    array([0.375, 0.125, 0.   , 0.5  ])
    >>> patients.names
    ('age: at 20', 'age: at 80', 'type: A', 'type: B')
    """

    maps: tuple[CovariateMap, ...]
    columns: tuple[Column, ...]
    weights: Floats | None = None

    __setstate__ = restore_readonly

    def __post_init__(self) -> None:
        maps = _checked_maps(self.maps)
        object.__setattr__(self, "maps", maps)
        object.__setattr__(self, "columns", checked_columns(self.columns, len(maps)))
        checked_size(self.context_size, "Additive")
        if self.weights is not None:
            weights = check_distribution(self.weights, "weights", len(maps), "map")
            object.__setattr__(self, "weights", readonly_copy(weights, np.float64))

    @property
    def context_size(self) -> int:
        """d, the components of all maps together."""
        return sum(one.context_size for one in self.maps)

    @property
    def names(self) -> tuple[str, ...]:
        """Each component with its column."""
        return tuple(chain.from_iterable(_component_names(self.maps, self.columns)))

    @property
    def column_names(self) -> tuple[str, ...]:
        """The raw columns."""
        return _all_columns(self.maps, self.columns)

    def apply(self, table: Any) -> MapResult:
        """The result of each of K rows."""
        results = _apply_all(self.maps, self.columns, table)
        shares = np.full(len(self.maps), 1.0 / len(self.maps)) if self.weights is None else self.weights
        rows = np.concatenate([share * one.contexts for share, one in zip(shares, results, strict=True)], axis=1)
        return _combined(results, rows, self.columns)

    many = map_rows
    __call__ = map_row


@dataclass(frozen=True, eq=False)
class Tensor:
    """The product of maps, each of its own column: a component for each choice of one component from each map.

    What is linear in this context has all interactions; its size is the product of the sizes, so use few components.

    Attributes:
        maps: one for each column.
        columns: which column each map reads; see :class:`Additive`.

    >>> from goalbound.adapters.covariates import Categories, Hats
    >>> patients = Tensor([Hats([20, 80]), Categories(["A", "B"], other=False)], ["age", "type"])
    >>> patients({"age": 35, "type": "B"})
    array([0.  , 0.75, 0.  , 0.25])
    >>> patients.names[1]
    'age: at 20, type: B'
    """

    maps: tuple[CovariateMap, ...]
    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        maps = _checked_maps(self.maps)
        object.__setattr__(self, "maps", maps)
        object.__setattr__(self, "columns", checked_columns(self.columns, len(maps)))
        checked_size(self.context_size, "Tensor")

    @property
    def context_size(self) -> int:
        """d, the product of the sizes."""
        return prod(one.context_size for one in self.maps)

    @property
    def names(self) -> tuple[str, ...]:
        """One name of each map, with its column."""
        return tuple(", ".join(names) for names in product(*_component_names(self.maps, self.columns)))

    @property
    def column_names(self) -> tuple[str, ...]:
        """The raw columns."""
        return _all_columns(self.maps, self.columns)

    def apply(self, table: Any) -> MapResult:
        """The result of each of K rows."""
        results = _apply_all(self.maps, self.columns, table)
        rows = results[0].contexts
        for one in results[1:]:
            rows = (rows[:, :, None] * one.contexts[:, None, :]).reshape(
                len(rows), rows.shape[1] * one.contexts.shape[1]
            )
        return _combined(results, rows, self.columns)

    many = map_rows
    __call__ = map_row


def _checked_maps(maps: Sequence[CovariateMap]) -> tuple[CovariateMap, ...]:
    found = tuple(check_list(maps, "maps", "a list of maps of covariates"))
    if not found:
        raise ArgumentError("maps is empty; it needs at least one map")
    for place, one in enumerate(found):
        check_map(one, f"maps[{place}]")
    return found


def _label(column: Column) -> str:
    return ", ".join(column_label(one) for one in (column if isinstance(column, tuple) else (column,)))


def _component_names(maps: Sequence[CovariateMap], columns: Sequence[Column]) -> list[list[str]]:
    """The names of each map's components; maps that read the same column are numbered."""
    names = []
    for place, (one, column) in enumerate(zip(maps, columns, strict=True)):
        number = f" ({columns[:place].count(column) + 1})" if columns.count(column) > 1 else ""
        names.append([f"{_label(column)}{number}: {name}" for name in one.names])
    return names


def _all_columns(maps: Sequence[CovariateMap], columns: Sequence[Column]) -> tuple[str, ...]:
    pairs = zip(maps, columns, strict=True)
    return tuple(label for one, column in pairs for label in column_labels(column, one.column_names))


def _apply_all(maps: Sequence[CovariateMap], columns: Sequence[Column], table: Any) -> list[MapResult]:
    results: list[MapResult] = []
    for one, column in zip(maps, columns, strict=True):
        values = column_of(table, column)
        try:
            results.append(one.apply(values))
        except InputError as error:
            raise ArgumentError(f"{_label(column)}: {error}") from None
    lengths = [len(one.contexts) for one in results]
    if len(set(lengths)) > 1:
        raise ArgumentError(f"the columns have {lengths} rows; all need the same number")
    return results


def _combined(results: Sequence[MapResult], rows: Floats, columns: Sequence[Column]) -> MapResult:
    rejections = [
        Rejection(one.rejection.row, f"{_label(column)}: {one.rejection.message}")
        for one, column in zip(results, columns, strict=True)
        if one.rejection is not None
    ]
    return MapResult(
        rows / rows.sum(axis=1, keepdims=True),
        np.concatenate([one.outside for one in results], axis=1),
        np.concatenate([one.missing for one in results], axis=1),
        min(rejections, key=lambda one: one.row, default=None),
    )
