"""Maps of several numbers at once: nearness to centres, and barycentric coordinates in a triangulation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.adapters.covariates.columns import number_rows
from goalbound.adapters.covariates.covariate_map import (
    FURTHEST,
    LARGEST,
    Flags,
    Floats,
    MapResult,
    all_finite,
    build_point_result,
    checked_missing,
    checked_points,
    checked_positive,
    checked_size,
    map_row,
    map_rows,
    place_names,
    point_names,
    products,
)
from goalbound.errors import ArgumentError
from goalbound.models.validation import check_array, check_bool, check_int_array, readonly_copy, restore_readonly

_MOST = np.finfo(np.float64).max
MAX_COLUMNS = 4
"""The most columns: triangulations of more are too large."""

_CHUNK = 2**20
INSIDE = 1e-9
"""How negative a barycentric coordinate may be for a point to be inside: rounding only."""


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
        return place_names(self.centres.shape[1])

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
        object.__setattr__(self, "clamp", check_bool(self.clamp, "clamp"))
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
        return place_names(self.points.shape[1])

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


class Face(NamedTuple):
    """A corner, an edge, ... of the hull."""

    corners: NDArray[np.int64]
    """[m] the points of the face"""
    solver: Floats
    """[m - 1, n] takes a row, less the first corner, to the coordinates of its nearest point in the face's plane"""


def hull_faces(simplices: NDArray[np.int64], points: Floats) -> list[Face]:
    """Sides of only one simplex lie on the hull; with them all their own sides."""
    seen: dict[tuple[int, ...], int] = {}
    for simplex in np.sort(simplices, axis=1).tolist():
        for side in combinations(simplex, len(simplex) - 1):
            seen[side] = seen.get(side, 0) + 1
    outer = [side for side, count in seen.items() if count == 1]
    faces = {face for side in outer for size in range(1, len(side) + 1) for face in combinations(side, size)}
    return [Face(np.array(face), _solver(points[list(face)])) for face in sorted(faces)]


def _solver(corners: Floats) -> Floats:
    if len(corners) == 1:
        return np.empty((0, corners.shape[1]))
    return np.linalg.pinv((corners[1:] - corners[0]).T)


def nearest_weights(faces: list[Face], points: Floats, rows: Floats) -> Floats:
    """[K, d] the weights of the nearest point of the hull. It is nearest in the plane of one of the faces, inside."""
    middle = points.mean(axis=0)
    weights = np.zeros((len(rows), len(points)))
    best = np.full(len(rows), np.inf)
    far = np.clip(rows - middle, -FURTHEST, FURTHEST)
    size = np.maximum(np.abs(far).max(axis=1), 1.0)
    for corners, solver in faces:
        with np.errstate(over="ignore", invalid="ignore"):
            last = products(rows - points[corners[0]], solver)
            shares = np.concatenate((1.0 - last.sum(axis=1, keepdims=True), last), axis=1)
            inside = np.asarray((shares >= -INSIDE).all(axis=1))  # false for NaN
        shares = np.where(inside[:, None], np.maximum(shares, 0.0), 1.0)
        shares /= shares.sum(axis=1, keepdims=True)
        y = shares @ (points[corners] - middle)
        # |x - y|^2 without the |x|^2 that all have, in units of the row's size: nothing overflows.
        distance = (y**2).sum(axis=1) / size - 2.0 * (y * (far / size[:, None])).sum(axis=1)
        better = inside & (distance < best)
        best[better] = distance[better]
        weights[better] = 0.0
        weights[np.flatnonzero(better)[:, None], corners] = shares[better]
    return weights


def delaunay(points: Floats) -> NDArray[np.int64]:
    """[T, n + 1] Delaunay's triangulation; SciPy is needed for this only."""
    from scipy.spatial import Delaunay, QhullError

    try:
        found = Delaunay(points)
    except (QhullError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise ArgumentError(
            f"the {len(points)} points cannot be triangulated ({reason}); give at least {points.shape[1] + 1}, not all "
            "in one line or plane"
        ) from None
    if len(found.coplanar):
        raise ArgumentError(f"points[{found.coplanar[0, 0]}] is too near to another to be a corner; leave it out")
    return np.asarray(found.simplices, dtype=np.int64)


def checked_simplices(simplices: ArrayLike, points: Floats) -> NDArray[np.int64]:
    """[T, n + 1] corners of simplices that have a volume, and every point is a corner."""
    width = points.shape[1] + 1
    given = check_array(simplices, "simplices", (None, width), f"[T, n + 1] = (T, {width}), corners by number")
    flat = check_int_array(given.ravel(), "simplices", np.int64).astype(np.int64)
    array = flat.reshape(-1, width)
    nowhere = flat[(flat < 0) | (flat >= len(points))]
    if len(nowhere):
        raise ArgumentError(f"simplices holds {nowhere[0]}; points are 0 to {len(points) - 1}")
    unused = np.setdiff1d(np.arange(len(points)), flat)
    if len(unused):
        raise ArgumentError(f"points[{unused[0]}] is the corner of no simplex; leave it out")
    corners = points[array]
    volumes = np.abs(np.linalg.det(corners[:, :-1] - corners[:, -1:]))
    kept = array[volumes > 1e-14 * volumes.max()]  # flat ones at the rim, which Delaunay's rounding leaves
    if volumes.max() == 0.0 or len(np.unique(kept)) < len(points):
        raise ArgumentError("a point is the corner of flat simplices only; leave it out, or scale the columns alike")
    return readonly_copy(kept, np.int64)
