"""Maps of several numbers: nearness to centres, and whatever a function or another library computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from goalbound.adapters.covariates.columns import number_rows
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
from goalbound.errors import ArgumentError
from goalbound.models.validation import (
    check_array,
    check_list,
    check_names,
    readonly_copy,
    restore_readonly,
    short_repr,
)

FURTHEST = 1e300
"""Beyond it, rows count as being there: sums and products with them stay numbers."""

TOLERANCE = 1e-6
"""How far a row of a function may sum from 1: what single precision needs. It is divided by its sum then."""

_MOST = np.finfo(np.float64).max


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
        short = [", ".join(f"{value:.4g}" for value in row) for row in self.centres]
        if len(set(short)) < len(short):
            short = [", ".join(map(repr, row)) for row in self.centres.tolist()]
        return tuple(f"near ({text})" for text in short)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns by their places."""
        return tuple(f"column {place}" for place in range(self.centres.shape[1]))

    def apply(self, table: Any) -> MapResult:
        """The result of each of K rows [K, n]. Nothing finite is out of range."""
        rows = number_rows(table, self.centres.shape[1])
        missing, infinite = np.isnan(rows), np.isinf(rows)

        def message(row: int) -> str:
            return f"column {int(np.argmax(infinite[row]))} is {rows[row][infinite[row]][0]}; it needs a finite number"

        weights = self._weights(np.where(np.isfinite(rows).all(axis=1, keepdims=True), rows, self.centres[0]))
        nowhere = np.asarray(infinite.any(axis=1) & ~missing.any(axis=1))
        rules: list[RejectionRule] = [(nowhere, message)]
        return build_result(weights, outside=infinite, missing=missing, fill=self.missing, rules=rules)

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


@dataclass(frozen=True, eq=False)
class FromTransformer:
    """A fitted transformer whose rows are points of the simplex: not negative, sum 1.

    Examples: ``SplineTransformer(extrapolation="constant").transform`` of one column, ``predict_proba`` of a classifier
    or of a Gaussian mixture, and the membership of any soft clustering. Every row is checked. Not examples are splines
    with ``include_bias=False`` or of several columns, linear extrapolation, and one-hot encoders that give zeros to
    what they do not know.

    What a Python object will do cannot be written to a file and read back without executing it. So such a map is
    not saved; a learner that uses it is, with the map's ``identity``, and gets the map again when it is loaded.

    Attributes:
        transform: the function: a table of K rows to [K, d], dense or sparse. Fitted, and never fitted again.
        names: d names of the components.
        identity: words that change whenever the transformer does, such as the SHA-256 of its file. They identify it
            in the digest; without them there is none, and a learner that uses the map cannot be saved.

    >>> halves = FromTransformer(lambda rows: [[1 - x, x] for x in rows], ["low", "high"], identity="halves 1")
    >>> halves(0.25)
    array([0.75, 0.25])
    """

    transform: Callable[[Any], Any]
    names: tuple[str, ...]
    identity: str | None = None

    def __post_init__(self) -> None:
        if not callable(self.transform):
            raise ArgumentError(
                f"transform is a {type(self.transform).__name__}; give its method, such as splines.transform or "
                "mixture.predict_proba"
            )
        given = check_list(self.names, "names", "a list of names")
        names = check_names(given, len(given), "names", None)
        if not names:
            raise ArgumentError("names is empty; it needs one name for each column that the transformer gives")
        object.__setattr__(self, "names", names)
        if self.identity is not None and not (isinstance(self.identity, str) and self.identity):
            raise ArgumentError(
                f"identity is {short_repr(self.identity)}; it needs words, such as the SHA-256 of the model's file"
            )

    @property
    def context_size(self) -> int:
        """d, the columns that the transformer gives."""
        return checked_size(len(self.names), "FromTransformer")

    @property
    def column_names(self) -> tuple[str, ...]:
        """None: what is missing or out of range only the transformer knows."""
        return ()

    def apply(self, table: Any) -> MapResult:
        """The result of each of K rows."""
        given = self.transform(table)
        dense = given.toarray() if hasattr(given, "toarray") else given
        wanted = f"[K, d] = (K, {self.context_size}), a column for each of the names"
        rows = check_array(dense, "what the transformer gave", (None, self.context_size), wanted)
        sums = rows.sum(axis=1)
        negative = ~(rows >= -TOLERANCE).all(axis=1)  # true for NaN
        wrong = negative | ~(np.abs(sums - 1.0) <= TOLERANCE)
        rules: list[RejectionRule] = [(wrong, lambda row: _what_is_wrong(rows[row]))]
        nothing = np.zeros((len(rows), 0), dtype=np.bool_)
        fine = np.where(wrong[:, None], 1.0, np.maximum(rows, 0.0))
        return build_result(fine, outside=nothing, missing=nothing, fill=None, rules=rules)

    many = map_rows
    __call__ = map_row


def _what_is_wrong(row: Floats) -> str:
    bad = np.flatnonzero(~(row >= -TOLERANCE))
    what = f"{row[bad[0]]:g} in column {bad[0]}" if len(bad) else f"a row that sums to {row.sum():.9g}"
    return (
        f"the transformer gave {what}; a context is not negative and sums to 1. Use constant extrapolation, "
        "include_bias=True, one column at a time (and join them with Additive), and a column for unknown categories"
    )


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


def products(rows: Floats, others: Floats) -> Floats:
    """[K, m] ``rows @ others.T``, added up column by column: a row gives the same bits alone and among others."""
    total = np.zeros((len(rows), len(others)))
    for column in range(rows.shape[1]):
        total += rows[:, column, None] * others[:, column]
    return total
