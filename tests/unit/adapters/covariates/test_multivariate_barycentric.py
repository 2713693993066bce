"""Barycentric coordinates, against arithmetic and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from goalbound.adapters.covariates import Barycentric, map_from_json
from goalbound.errors import InputError

SQUARE = [[0, 0], [1, 0], [0, 1], [1, 1]]


@given(x=st.floats(0.0, 1.0), y=st.floats(0.0, 1.0))
def test_inside_the_hull_barycentric_weights_give_the_point_back(x: float, y: float) -> None:
    points = np.array([*SQUARE, [0.3, 0.6]])
    weights = Barycentric(points)([x, y])
    np.testing.assert_allclose(weights @ points, [x, y], atol=1e-9)
    assert np.count_nonzero(weights) <= 3


@pytest.mark.parametrize("columns", [2, 3, 4])
def test_outside_the_hull_the_nearest_point_of_it_is_taken(columns: int) -> None:
    rng = np.random.default_rng(columns)
    points, rows = rng.normal(size=(8, columns)), 3.0 * rng.normal(size=(30, columns))
    map = Barycentric(points, clamp=True)
    for row, weights in zip(rows, map.many(rows), strict=True):
        # Witness: non-negative least squares with a heavy row that makes the weights sum to 1.
        witness, _ = nnls(np.vstack((points.T, np.full(len(points), 1e5))), np.append(row, 1e5))
        nearest = witness / witness.sum() @ points
        np.testing.assert_allclose(weights @ points, nearest, atol=1e-6)


def test_the_nearest_point_of_a_square_is_on_its_edge_or_corner() -> None:
    map = Barycentric(SQUARE, clamp=True)
    np.testing.assert_allclose(map([0.25, -3]), [0.75, 0.25, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(map([5, 0.5]), [0.0, 0.5, 0.0, 0.5], atol=1e-12)
    np.testing.assert_allclose(map([2, 2]), [0.0, 0.0, 0.0, 1.0], atol=1e-12)


def test_outside_the_hull_a_row_is_refused_if_the_map_is_not_set_to_clamp() -> None:
    with pytest.raises(InputError, match=r"^\(2.0, 2.0\) is outside the hull of the points; .* clamp=True"):
        Barycentric(SQUARE)([2, 2])


def test_the_triangulation_is_part_of_the_map() -> None:
    one = Barycentric(SQUARE, simplices=[[0, 1, 2], [1, 2, 3]])
    other = Barycentric(SQUARE, simplices=[[0, 1, 3], [0, 2, 3]])
    np.testing.assert_allclose(one([0.5, 0.5]), [0.0, 0.5, 0.5, 0.0])  # the other diagonal
    np.testing.assert_allclose(other([0.5, 0.5]), [0.5, 0.0, 0.0, 0.5])


def test_a_square_of_many_points_is_read_in_parts_without_a_seam() -> None:
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 12), np.linspace(0, 1, 12)), axis=-1).reshape(-1, 2)
    map = Barycentric(grid)
    rows = np.random.default_rng(0).random((3000, 2))  # 242 triangles, so more than one chunk
    np.testing.assert_allclose(map.many(rows) @ grid, rows, atol=1e-12)


def test_simplices_from_a_file_are_checked_like_typed_ones() -> None:
    bad = {"kind": "Barycentric", "points": SQUARE, "clamp": False, "missing": None, "simplices": [[0, 1, -2]]}
    with pytest.raises(InputError, match="simplices holds"):
        map_from_json(bad)
