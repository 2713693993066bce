"""Triangulations of points, and the nearest point of their hull."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.adapters.covariates.checks import Floats
from goalbound.adapters.covariates.soft_clusters import FURTHEST, products
from goalbound.errors import ArgumentError
from goalbound.models.validation import check_array, check_int_array, readonly_copy

INSIDE = 1e-9
"""How negative a barycentric coordinate may be for a point to be inside: rounding only."""


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
