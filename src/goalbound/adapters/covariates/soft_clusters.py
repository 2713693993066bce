"""Maps of several numbers at once: nearness to centres. Also what such maps share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from goalbound.adapters.covariates.checks import (
    LARGEST,
    Flags,
    Floats,
    MapResult,
    RejectionRule,
    all_finite,
    any_of,
    build_result,
    checked_missing,
    checked_positive,
    checked_size,
    map_row,
    map_rows,
    number_rows,
)
from goalbound.errors import ArgumentError
from goalbound.models.validation import check_array, readonly_copy, restore_readonly

_MOST = np.finfo(np.float64).max

FURTHEST = 1e300
"""Beyond it, rows count as being there: sums and products with them stay numbers."""


@dataclass(frozen=True, eq=False)
class SoftClusters:
    """Weights by nearness to centres: in proportion to exp(-distance^2 / temperature).

    Far from all centres the nearest takes all; nothing is ever 0 / 0.

    Attributes:
        centres: [d, n] one row for each component.
        temperature: how soft: the larger, the more is shared. In squared units of the scales.
        scales: [n] what counts as one unit in each column; None: 1.
        missing: [d] the context of a row in which something is missing; None: it is rejected.

    >>> SoftClusters([[0, 0], [10, 0]], temperature=20)([4, 3]).round(3)  # exp(-25/20) against exp(-45/20)
    array([0.731, 0.269])
    """

    centres: Floats
    temperature: float
    scales: Floats | None = None
    missing: Floats | None = None

    __setstate__ = restore_readonly

    def __post_init__(self) -> None:
        centres = checked_points(self.centres, "centres")
        object.__setattr__(self, "centres", centres)
        object.__setattr__(self, "temperature", checked_positive(self.temperature, "temperature", "a squared distance"))
        if self.scales is not None:
            scales = check_array(
                self.scales, "scales", (centres.shape[1],), f"{centres.shape[1]} numbers, one per column"
            )
            bad = np.flatnonzero(~((scales >= 1.0 / LARGEST) & (scales <= LARGEST)))
            if len(bad):
                raise ArgumentError(f"scales[{bad[0]}] is {scales[bad[0]]}; it needs a positive number")
            object.__setattr__(self, "scales", readonly_copy(scales, np.float64))
        object.__setattr__(self, "missing", checked_missing(self.missing, self.context_size))

    @property
    def context_size(self) -> int:
        """d, one component for each centre."""
        return checked_size(len(self.centres), "SoftClusters")

    @property
    def names(self) -> tuple[str, ...]:
        """The centres."""
        return point_names(self.centres, "near")

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns by their places."""
        return tuple(f"column {place}" for place in range(self.centres.shape[1]))

    def apply(self, table: Any) -> MapResult:
        """The result of each of K rows [K, n]. Nothing finite is out of range."""
        rows = number_rows(table, self.centres.shape[1])
        plain = all_finite(rows)
        weights = self._weights(np.where(plain[:, None], rows, self.centres[0]))
        return build_point_result(rows, weights, np.zeros(len(rows), dtype=np.bool_), self.missing, [])

    many = map_rows
    __call__ = map_row

    def _weights(self, rows: Floats) -> Floats:
        scales = np.ones(rows.shape[1]) if self.scales is None else self.scales
        middle = self.centres.mean(axis=0)
        centres = (self.centres - middle) / scales
        with np.errstate(over="ignore"):
            seen = np.clip((rows - middle) / scales, -FURTHEST, FURTHEST)
            # What rows differ in is |c|^2 - 2 x c, without the |x|^2 that would overflow; in units of the row's size.
            size = np.maximum(np.abs(seen).max(axis=1, keepdims=True), 1.0)
            nearness = (centres**2).sum(axis=1) / size - 2.0 * products(seen / size, centres)
            nearness -= nearness.min(axis=1, keepdims=True)
            return np.exp(-nearness * np.minimum(size / self.temperature, _MOST))  # 0 * inf would be NaN


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
