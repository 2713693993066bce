"""Landmarks of the simplex."""

import numpy as np
import pytest

from goalbound.planning.context_bounds.region import simplex_landmarks


@pytest.mark.parametrize(("size", "points"), [(1, 1), (3, 3 + 1 + 3), (4, 4 + 1 + 6), (20, 100)])
def test_landmarks_are_different_points_of_the_simplex(size, points):
    found = simplex_landmarks(size)
    assert found.shape == (points, size)
    assert found.sum(axis=1) == pytest.approx(1.0)
    assert len(np.unique(found, axis=0)) == points
    assert np.array_equal(found[:size], np.eye(size))
