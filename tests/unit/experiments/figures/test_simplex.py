"""The geometry of the triangle of contexts."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.experiments.figures import simplex


def area(corners):
    x, y = simplex.to_plane(corners).T
    return 0.5 * abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))


def test_cells_and_lattice_cells_cover_the_triangle_exactly_once():
    whole = np.sqrt(3.0) / 4.0
    cells = [area(simplex.cell(row, column, 12)) for row in range(12) for column in range(12 - row)]
    assert sum(cells) == pytest.approx(whole)
    lattice = [(i / 10, j / 10, (10 - i - j) / 10) for i in range(11) for j in range(11 - i)]
    assert sum(area(simplex.lattice_cell(point, 0.1)) for point in lattice) == pytest.approx(whole)
    assert area(simplex.lattice_cell((0.3, 0.3, 0.4), 0.1)) == pytest.approx(whole / 50)  # two of 100 small triangles
