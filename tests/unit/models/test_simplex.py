"""Landmarks and lattices of the simplex."""

import numpy as np
import pytest

from goalbound.models.simplex import lattice_steps, simplex_landmarks, simplex_lattice


@pytest.mark.parametrize(("size", "points"), [(1, 1), (3, 3 + 1 + 3), (4, 4 + 1 + 6), (20, 100)])
def test_landmarks_are_different_points_of_the_simplex(size, points):
    found = simplex_landmarks(size)
    assert found.shape == (points, size)
    assert found.sum(axis=1) == pytest.approx(1.0)
    assert len(np.unique(found, axis=0)) == points
    assert np.array_equal(found[:size], np.eye(size))


@pytest.mark.parametrize(
    ("size", "most", "points"), [(1, 10, 1), (2, 21, 21), (3, 36, 36), (3, 40, 36), (5, 70, 70), (9, 3, 9)]
)
def test_a_lattice_has_all_points_of_its_spacing_and_no_others(size, most, points):
    found = simplex_lattice(size, most=most)
    steps = lattice_steps(size, most=most)
    assert found.shape == (points, size)
    assert found.sum(axis=1) == pytest.approx(1.0)
    assert len(np.unique(found, axis=0)) == points
    assert np.allclose(found * steps, np.round(found * steps))
    assert found.min() >= 0.0


def test_a_lattice_is_no_finer_than_asked_for():
    assert len(simplex_lattice(2, most=1000, finest=20)) == 21
