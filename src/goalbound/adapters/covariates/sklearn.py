"""Maps from other libraries: scikit-learn's transformers and classifiers, or any function, checked at every call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from goalbound.adapters.covariates.covariate_map import (
    Floats,
    MapResult,
    RejectionRule,
    build_result,
    checked_size,
    map_row,
    map_rows,
)
from goalbound.errors import ArgumentError
from goalbound.models.validation import check_array, check_list, check_names, short_repr

TOLERANCE = 1e-6
"""How far a row may sum from 1: what single precision needs. It is divided by its sum then."""


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
        return build_result(fine, outside=nothing, missing=nothing, missing_context=None, rules=rules)

    many = map_rows
    __call__ = map_row


def _what_is_wrong(row: Floats) -> str:
    bad = np.flatnonzero(~(row >= -TOLERANCE))
    what = f"{row[bad[0]]:g} in column {bad[0]}" if len(bad) else f"a row that sums to {row.sum():.9g}"
    return (
        f"the transformer gave {what}; a context is not negative and sums to 1. Use constant extrapolation, "
        "include_bias=True, one column at a time (and join them with Additive), and a column for unknown categories"
    )
