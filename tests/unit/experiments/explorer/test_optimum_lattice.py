"""Lattices of the simplex."""

import numpy as np
import pytest

from goalbound.experiments.explorer.optimum import lattice_steps, simplex_lattice


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
