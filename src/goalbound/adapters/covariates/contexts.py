"""Contexts of a simulation that come from raw covariates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from goalbound.adapters.covariates.checks import CovariateMap, Floats
from goalbound.adapters.covariates.columns import column_keys, listed
from goalbound.adapters.covariates.univariate import Hats
from goalbound.errors import ArgumentError

Draw = Callable[[np.random.Generator, int, int], Any]
"""The raw covariates of episodes ``first .. first + count - 1``: ``draw(rng, first, count)``."""


@dataclass(frozen=True, eq=False)
class CovariateContexts:
    """Draws raw covariates and maps them: a source of contexts for :func:`goalbound.play`.

    Attributes:
        map: the map.
        draw_rows: ``draw_rows(rng, first, count)`` gives a table of ``count`` rows, the same ones however the
            episodes are cut into chunks; :func:`rows_in_order` and :func:`rows_at_random` make one from data.
        stateless: whether ``draw_rows`` has no state of its own, so that a run can be checkpointed and resumed.

    >>> from goalbound.adapters.covariates import Hats
    >>> contexts = CovariateContexts(Hats([0, 1, 2]), lambda rng, first, count: 2 * rng.random(count))
    >>> contexts.draw(np.random.default_rng(0), 0, 2).round(2)
    array([[0.  , 0.73, 0.27],
           [0.46, 0.54, 0.  ]])
    """

    map: CovariateMap
    draw_rows: Draw
    stateless: bool = False

    def __post_init__(self) -> None:
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
    """A number, uniform on [0, 1], seen through so many hat functions at equal distances.

    Such are the contexts of :func:`goalbound.problems.treatment_curve.treatment_curve`.
    """
    return CovariateContexts(Hats(np.linspace(0.0, 1.0, size)), lambda rng, first, count: rng.random(count), True)


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
    names = column_keys(table)
    rows = list(table) if names is None else [
        dict(zip(names, values, strict=True)) for values in zip(*(listed(table[name]) for name in names), strict=True)
    ]  # fmt: skip
    if not rows:
        raise ArgumentError("the table is empty; it needs at least one row")
    return rows
