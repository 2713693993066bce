"""Barycentric coordinates: a map of two to four numbers at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.adapters.covariates.checks import (
    Flags,
    Floats,
    MapResult,
    all_finite,
    checked_flag,
    checked_missing,
    checked_size,
    map_row,
    map_rows,
    number_rows,
)
from goalbound.adapters.covariates.soft_clusters import build_point_result, checked_points, point_names
from goalbound.adapters.covariates.triangulation import (
    INSIDE,
    Face,
    checked_simplices,
    delaunay,
    hull_faces,
    nearest_weights,
)
from goalbound.errors import ArgumentError
from goalbound.models.validation import restore_readonly

MAX_COLUMNS = 4
"""The most columns: triangulations of more are too large."""

_CHUNK = 2**20


@dataclass(frozen=True, eq=False)
class Barycentric:
    """Barycentric coordinates in a triangulation of given points: piecewise-linear in several numbers.

    Each point is a component; inside a triangle (a tetrahedron, ...) the weights are on its corners.
    What is linear in this context interpolates: ``c @ f(points) = f(x)`` for every linear f.

    Attributes:
        points: [d, n] at least n + 1, not all in one plane; 2 to 4 columns (for one column use Hats). Columns
            should be of like size: what is near depends on their units.
        clamp: whether a row outside the hull of the points counts as the nearest point of it; else it is rejected.
        missing: [d] the context of a row in which something is missing; None: it is rejected.
        simplices: [T, n + 1] the triangulation. Left out, it is Delaunay's, by SciPy; it is part of the map, so
            that another version of SciPy cannot move it.

    >>> Barycentric([[0, 0], [1, 0], [0, 1]])([0.25, 0.5])
    array([0.25, 0.25, 0.5 ])
    """

    points: Floats
    clamp: bool = False
    missing: Floats | None = None
    simplices: NDArray[np.int64] | None = None

    __setstate__ = restore_readonly

    def __post_init__(self) -> None:
        points = checked_points(self.points, "points")
        if not 2 <= points.shape[1] <= MAX_COLUMNS:
            raise ArgumentError(
                f"points have {points.shape[1]} columns; 2 to {MAX_COLUMNS} can be triangulated (1: Hats)"
            )
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "clamp", checked_flag(self.clamp, "clamp"))
        object.__setattr__(self, "missing", checked_missing(self.missing, self.context_size))
        simplices = delaunay(points) if self.simplices is None else self.simplices
        object.__setattr__(self, "simplices", checked_simplices(simplices, points))

    @property
    def context_size(self) -> int:
        """d, one component for each point."""
        return checked_size(len(self.points), "Barycentric")

    @property
    def names(self) -> tuple[str, ...]:
        """The points."""
        return point_names(self.points, "at")

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns by their places."""
        return tuple(f"column {place}" for place in range(self.points.shape[1]))

    def apply(self, table: Any) -> MapResult:
        """The result of each of K rows [K, n]. A row outside the hull is outside in all its columns."""
        rows = number_rows(table, self.points.shape[1])
        plain = all_finite(rows)
        weights, inside = self._inside(np.where(plain[:, None], rows, self.points[0]))
        outside = np.where(plain, ~inside, False)
        if self.clamp and outside.any():
            weights[outside] = nearest_weights(self._faces, self.points, rows[outside])

        def message(row: int) -> str:
            return (
                f"{tuple(rows[row].tolist())} is outside the hull of the points; let such rows count as the nearest "
                "point of it with clamp=True, or add points further out"
            )

        return build_point_result(rows, weights, outside, self.missing, [] if self.clamp else [(outside, message)])

    many = map_rows
    __call__ = map_row

    @property
    def _corners(self) -> NDArray[np.int64]:
        assert self.simplices is not None  # __post_init__ has seen to it
        return self.simplices

    @cached_property
    def _transforms(self) -> Floats:
        """[T, n, n] take a row, less a simplex's last corner, to its first n coordinates."""
        corners = self.points[self._corners]
        return np.asarray(np.linalg.inv(np.swapaxes(corners[:, :-1] - corners[:, -1:], 1, 2)), dtype=np.float64)

    @cached_property
    def _faces(self) -> list[Face]:
        """The faces of the hull, of every dimension: corners, edges, ..."""
        return hull_faces(self._corners, self.points)

    def _inside(self, rows: Floats) -> tuple[Floats, Flags]:
        """The weights [K, d] in the simplex that fits each row best, and whether the row is inside it."""
        weights, inside = np.zeros((len(rows), self.context_size)), np.zeros(len(rows), dtype=np.bool_)
        step = max(1, _CHUNK // self._corners.size)
        for first in range(0, len(rows), step):
            part = slice(first, first + step)
            coordinates = self._coordinates(rows[part])
            least = np.nan_to_num(coordinates.min(axis=2), nan=-np.inf)
            best = np.argmax(least, axis=1)
            at = np.arange(len(best))
            inside[part] = least[at, best] >= -INSIDE
            fine = np.where(inside[part, None], coordinates[at, best], 1.0)
            weights[part][at[:, None], self._corners[best]] = np.maximum(fine, 0.0)
        return weights, inside

    def _coordinates(self, rows: Floats) -> Floats:
        """[K, T, n + 1] the barycentric coordinates of each row in each simplex; maybe NaN for rows far away."""
        with np.errstate(over="ignore", invalid="ignore"):
            away = rows[:, None, :] - self.points[self._corners[:, -1]]
            first = np.zeros(away.shape)
            for j in range(rows.shape[1]):  # not a matrix product: a row gives the same bits alone and among others
                first += away[:, :, None, j] * self._transforms[:, :, j]
            return np.concatenate((first, 1.0 - first.sum(axis=2, keepdims=True)), axis=2)
