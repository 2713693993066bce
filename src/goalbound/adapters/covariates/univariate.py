"""Maps of one number: hat functions, splines, and hat functions around a circle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goalbound.adapters.covariates.columns import number_column
from goalbound.adapters.covariates.covariate_map import (
    LARGEST,
    ONE_COLUMN,
    Floats,
    MapResult,
    build_result,
    checked_grid,
    checked_missing,
    checked_positive,
    checked_size,
    labels,
    map_column,
    map_row,
    map_rows,
)
from goalbound.errors import ArgumentError
from goalbound.models.validation import (
    check_bool,
    check_float,
    check_int,
    restore_readonly,
    short_repr,
)

MAX_DEGREE = 10
PERIOD = "such as 24 for hours"


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
        return map_column(table, self.knots, clamp=self.clamp, missing_context=self.missing, weights=self._weights)

    many = map_rows
    __call__ = map_row

    def _weights(self, numbers: Floats) -> Floats:
        left = np.clip(np.searchsorted(self.knots, numbers, side="right") - 1, 0, self.context_size - 2)
        share = (numbers - self.knots[left]) / (self.knots[left + 1] - self.knots[left])
        return _between(left, left + 1, share, self.context_size)


@dataclass(frozen=True, eq=False)
class Splines:
    """B-splines with clamped ends: smooth where hat functions have corners.

    There are ``len(knots) + degree - 1`` components. Degree 1 gives the hat functions, degree 0 steps.

    Attributes:
        knots: ascending break points with both ends, at least two.
        degree: of the polynomials between them, 0 to 10.
        clamp: whether numbers beyond the end knots count as the end; else they are rejected.
        missing: [d] the context of a missing number; None: it is rejected.

    >>> Splines([0, 1], degree=2)(0.5)  # (1 - x)^2, 2 x (1 - x), x^2
    array([0.25, 0.5 , 0.25])
    """

    knots: Floats
    degree: int = 3
    clamp: bool = False
    missing: Floats | None = None

    __setstate__ = restore_readonly

    def __post_init__(self) -> None:
        object.__setattr__(self, "knots", checked_grid(self.knots, "knots", 2))
        if not 0 <= check_int(self.degree, "degree") <= MAX_DEGREE:
            raise ArgumentError(f"degree is {short_repr(self.degree)}; it is 0 (steps) to {MAX_DEGREE}, mostly 3")
        object.__setattr__(self, "degree", int(self.degree))
        object.__setattr__(self, "clamp", check_bool(self.clamp, "clamp"))
        object.__setattr__(self, "missing", checked_missing(self.missing, self.context_size))

    @property
    def context_size(self) -> int:
        """d, the splines."""
        return checked_size(len(self.knots) + self.degree - 1, "Splines")

    @property
    def names(self) -> tuple[str, ...]:
        """Where each spline has its weight: the mean of the knots inside it (Greville's abscissa)."""
        grid, degree = self._grid(), self.degree
        if degree == 0:
            return labels(self.knots[:-1].tolist(), "from")
        means = [float(np.mean(grid[i + 1 : i + degree + 1])) for i in range(self.context_size)]
        return labels(means, "near")

    column_names = ONE_COLUMN

    def apply(self, table: Any) -> MapResult:
        """The result of each of K numbers."""
        return map_column(table, self.knots, clamp=self.clamp, missing_context=self.missing, weights=self._weights)

    many = map_rows
    __call__ = map_row

    def _grid(self) -> Floats:
        return np.concatenate(
            (np.repeat(self.knots[0], self.degree), self.knots, np.repeat(self.knots[-1], self.degree))
        )

    def _weights(self, numbers: Floats) -> Floats:
        """Cox and de Boor, from degree 0 up. Shares are divided out first, so that nothing can overflow.

        SciPy's ``BSpline.design_matrix`` gives other bits, and NaN for knots closer than the smallest normal number.
        """
        grid, degree = self._grid(), self.degree
        cell = np.clip(np.searchsorted(self.knots, numbers, side="right") - 1, 0, len(self.knots) - 2)
        span = cell + degree
        values = np.zeros((degree + 1, len(numbers)))  # the degree + 1 splines that are not 0 in the cell
        values[0] = 1.0
        for order in range(1, degree + 1):
            carried = np.zeros(len(numbers))
            for r in range(order):
                after, before = grid[span + r + 1], grid[span + r + 1 - order]
                share = (numbers - before) / (after - before)
                old = values[r].copy()
                values[r] = carried + old * (1.0 - share)
                carried = old * share
            values[order] = carried
        weights = np.zeros((len(numbers), self.context_size))
        rows = np.arange(len(numbers))
        for r in range(degree + 1):
            weights[rows, cell + r] = values[r]
        return weights


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
        return build_result(
            self._weights(place), outside=infinite[:, None], missing=missing[:, None], missing_context=self.missing,
            rules=[(infinite, lambda row: f"{numbers[row]} has no place on a circle; give a finite number")],
        )  # fmt: skip

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
