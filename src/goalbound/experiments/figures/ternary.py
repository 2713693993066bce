"""The triangle of contexts with three components: corners, cells, lattice cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
"""Where the three components stand: lower left, lower right, top."""


def to_plane(contexts: Any) -> Floats:
    """Contexts [..., 3] as points [..., 2] of the triangle."""
    return np.asarray(contexts, dtype=np.float64) @ CORNERS


def cell(row: int, column: int, bins: int) -> Floats:
    """The corners [n, 3] of the contexts whose first component is in part ``row``, the second in ``column``.

    Four corners, or three where the third component ends at 0. ``row + column < bins``.
    """
    square = [(row, column), (row + 1, column), (row + 1, column + 1), (row, column + 1)]
    return np.array([(i, j, bins - i - j) for i, j in square if i + j <= bins]) / bins


def fold_edges(table: Floats) -> Floats:
    """A table [bins, bins] over the first two components, with what lies on the edge moved into the cell beside it.

    A context such as (1/2, 1/2, 0) is in parts 6 and 6 of 12, a cell that has only this point of the triangle.
    """
    moved = table.copy()
    bins = len(table)
    for row in range(1, bins):
        moved[row - 1, bins - row] += moved[row, bins - row]
        moved[row, bins - row] = 0.0
    return moved


def lattice_cell(context: Sequence[float], spacing: float) -> Floats:
    """The corners [n, 3] of the part of the triangle that is nearest to a point of a lattice: a hexagon, cut off."""
    turns = [(2, -1, -1), (1, 1, -2), (-1, 2, -1), (-2, 1, 1), (-1, -1, 2), (1, -2, 1)]
    corners = np.asarray(context, dtype=np.float64) + spacing / 3.0 * np.array(turns)
    for component in range(3):
        corners = _cut(corners, component)
    return corners


def _cut(corners: Floats, component: int) -> Floats:
    """The part of a convex polygon where a component is not negative."""
    kept = []
    for one, two in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        a, b = one[component], two[component]
        if a >= 0.0:
            kept.append(one)
        if (a > 0.0 > b) or (a < 0.0 < b):
            kept.append(one + a / (a - b) * (two - one))
    return np.array(kept)
