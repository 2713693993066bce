"""Contexts of a simulation that come from raw covariates, and a report of the contexts that a map makes of data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from goalbound.adapters.covariates.columns import check_rows, column_keys, listed
from goalbound.adapters.covariates.covariate_map import CovariateMap, Floats, check_map, checked_size
from goalbound.adapters.covariates.univariate import Hats
from goalbound.errors import ArgumentError
from goalbound.models.validation import check_int, set_readonly

Draw = Callable[[np.random.Generator, int, int], Any]
"""The raw covariates of episodes ``first .. first + count - 1``: ``draw(rng, first, count)``."""
RARE = 0.1
"""A component is rare if its mean weight is below this share of 1 / d."""


@dataclass(frozen=True, eq=False)
class CovariateContexts:
    """Draws raw covariates and maps them: a source of contexts for :func:`goalbound.play`.

    Attributes:
        map: the map.
        draw_rows: ``draw_rows(rng, first, count)`` gives a table of ``count`` rows, the same ones however the
            episodes are cut into chunks; :func:`rows_in_order` and :func:`rows_at_random` make one from data.

    >>> from goalbound.adapters.covariates import Hats
    >>> contexts = CovariateContexts(Hats([0, 1, 2]), lambda rng, first, count: 2 * rng.random(count))
    >>> contexts.draw(np.random.default_rng(0), 0, 2).round(2)
    array([[0.  , 0.73, 0.27],
           [0.46, 0.54, 0.  ]])
    """

    map: CovariateMap
    draw_rows: Draw

    def __post_init__(self) -> None:
        check_map(self.map)
        if not callable(self.draw_rows):
            raise ArgumentError(
                f"draw_rows is a {type(self.draw_rows).__name__}; it needs a function of (rng, first, count). From "
                "data: rows_in_order(table) or rows_at_random(table)"
            )

    @property
    def context_size(self) -> int:
        """d, the length of a context."""
        return self.map.context_size

    def draw(self, rng: np.random.Generator, first: int, count: int) -> Floats:
        """[count, d] the contexts of the rows drawn."""
        return self.map.many(self.draw_rows(rng, first, count))


def uniform_numbers(size: int) -> CovariateContexts:
    """A number, uniform on [0, 1], under ``size`` hat functions at equal distances.

    These are the contexts of :func:`goalbound.problems.treatment.treatment_curve`.
    """
    count = checked_size(check_int(size, "size", least=2), "by size, the hat functions")
    return CovariateContexts(Hats(np.linspace(0.0, 1.0, count)), lambda rng, first, count: rng.random(count))


def rows_in_order(table: Any) -> Draw:
    """The rows of a table, one for each episode; an error when they run out.

    >>> rows_in_order([5.0, 6.0, 7.0])(np.random.default_rng(0), 1, 2)
    [6.0, 7.0]
    """
    rows = _rows(table)

    def draw(rng: np.random.Generator, first: int, count: int) -> Any:
        if first + count > len(rows):
            raise ArgumentError(
                f"there is no row for episode {max(first, len(rows))}: the table has {len(rows)}; give more, or draw "
                "them again and again with rows_at_random"
            )
        return rows[first : first + count]

    return draw


def rows_at_random(table: Any) -> Draw:
    """Rows of a table, each drawn uniformly: the same people come again.

    >>> rows_at_random([5.0, 6.0, 7.0])(np.random.default_rng(0), 0, 4)
    [7.0, 6.0, 6.0, 5.0]
    """
    rows = _rows(table)

    def draw(rng: np.random.Generator, first: int, count: int) -> Any:
        return [rows[place] for place in rng.integers(len(rows), size=count)]

    return draw


def _rows(table: Any) -> list[Any]:
    """The rows of a table as a list; whole columns by name become records."""
    check_rows(table)
    names = column_keys(table)
    rows = list(table) if names is None else [
        dict(zip(names, values, strict=True)) for values in zip(*(listed(table[name]) for name in names), strict=True)
    ]  # fmt: skip
    if not rows:
        raise ArgumentError("the table is empty; it needs at least one row")
    return rows


@dataclass(frozen=True, eq=False)
class ContextReport:
    """Summary of K rows of covariates under a map. ``print`` it.

    Attributes:
        rows: K.
        rejected: how many rows the map rejects; the numbers below are of the others.
        names: [d] the components.
        mean_weights: [d] how much weight each has on average.
        rare: the names of components with a mean weight below 1 / (10 d): they will be learned slowly or never.
        effective_dimension: (sum of eigenvalues)^2 / (sum of their squares) of the second moment E[c c^T], from 1 (all
            contexts alike) to d (all directions used alike).
        condition: largest over smallest of these eigenvalues; infinite if a direction is never used.
        column_names: [n] the raw columns.
        outside_share: [n] the share of rows whose value is out of the map's range, clamped or rejected.
        missing_share: [n] the share of rows whose value is missing, filled or rejected.
    """

    rows: int
    rejected: int
    names: tuple[str, ...]
    mean_weights: Floats
    rare: tuple[str, ...]
    effective_dimension: float
    condition: float
    column_names: tuple[str, ...]
    outside_share: Floats
    missing_share: Floats

    def __str__(self) -> str:
        lines = [
            f"{self.rows} rows, {self.rejected} rejected; {len(self.names)} components",
            f"effective dimension {self.effective_dimension:.2f}, condition number {self.condition:.3g}",
        ]
        for name, outside, missing in zip(self.column_names, self.outside_share, self.missing_share, strict=True):
            lines.append(f"  {name}: {outside:.1%} outside, {missing:.1%} missing")
        width = max(map(len, self.names))
        for name, weight in zip(self.names, self.mean_weights, strict=True):
            lines.append(f"  {name:<{width}}  {weight:.4f}{'  rare' if name in self.rare else ''}")
        return "\n".join(lines)


def context_report(map: CovariateMap, table: Any) -> ContextReport:
    """Summarises a table of covariates under a map. Rejected rows raise no error; they are counted.

    >>> from goalbound.adapters.covariates import Hats
    >>> print(context_report(Hats([0, 1, 2, 9]), [0, 0.5, 1, 1.5, 2, 10, None]))
    7 rows, 2 rejected; 4 components
    effective dimension 2.84, condition number inf
      value: 14.3% outside, 14.3% missing
      at 0  0.3000
      at 1  0.4000
      at 2  0.3000
      at 9  0.0000  rare
    """
    check_map(map)
    result = map.apply(table)
    kept = result.contexts[~np.isnan(result.contexts[:, 0])]
    if not len(kept):
        why = (
            "the table is empty"
            if result.rejection is None
            else f"row {result.rejection.row}: {result.rejection.message}"
        )
        raise ArgumentError(f"no row is accepted by the map, so there is nothing to report ({why})")
    size = map.context_size
    moments = np.linalg.eigvalsh(kept.T @ kept / len(kept))
    rounding = size * 2.0**-52 * float(moments[-1])
    means = kept.mean(axis=0)
    return ContextReport(
        rows=len(result.contexts),
        rejected=len(result.contexts) - len(kept),
        names=map.names,
        mean_weights=set_readonly(means),
        rare=tuple(name for name, weight in zip(map.names, means, strict=True) if weight < RARE / size),
        effective_dimension=float(moments.sum() ** 2 / (moments**2).sum()),
        condition=float(moments[-1] / moments[0]) if moments[0] > rounding else np.inf,
        column_names=map.column_names,
        outside_share=set_readonly(result.outside.mean(axis=0)),
        missing_share=set_readonly(result.missing.mean(axis=0)),
    )
