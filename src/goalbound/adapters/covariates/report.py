"""Summary of the contexts that a map makes of data: use of the simplex, values missing or out of range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goalbound.adapters.covariates.checks import CovariateMap, Floats, check_map
from goalbound.errors import ArgumentError
from goalbound.models.validation import set_readonly

RARE = 0.1
"""A component is rare if its mean weight is below this share of 1 / d."""


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
