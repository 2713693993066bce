"""Lattices on the simplex of contexts: their vertices, and where a context lies among them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.confidence.likelihood.bounds import locate, nearest_vertex, new_lattice, new_located


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=7).filter(lambda w: sum(w) > 1e-3), st.integers(1, 60))
def test_a_context_is_the_mean_of_the_vertices_around_it(weights: list[float], most: int) -> None:
    context = np.array(weights) / sum(weights)
    lattice, at = new_lattice(len(context), most), new_located(len(context))
    locate.python(lattice, at, context)
    share, index = at.share, at.index

    assert (share >= 0.0).all()
    assert share.sum() == pytest.approx(1.0)
    used = share > 0.0
    assert (index[used] >= 0).all()
    np.testing.assert_allclose(share[used] @ lattice.vertices[index[used]] / lattice.steps, context, atol=1e-12)
    nearest = lattice.vertices[nearest_vertex.python(at)] / lattice.steps
    assert np.abs(nearest - context).max() <= 1.0 / lattice.steps + 1e-12


@pytest.mark.parametrize(
    ("size", "steps", "count"), [(1, 1, 1), (2, 12, 13), (3, 7, 36), (4, 4, 35), (12, 1, 12), (50, 1, 50)]
)
def test_lattices_are_as_fine_as_their_budget(size: int, steps: int, count: int) -> None:
    lattice = new_lattice(size, 36)
    vertices = lattice.vertices
    assert (lattice.steps, len(vertices)) == (steps, count)
    assert (vertices.sum(axis=1) == steps).all()
    assert len({tuple(vertex) for vertex in vertices.tolist()}) == count


def test_a_context_is_located_again_when_it_changes() -> None:
    lattice, at, again = new_lattice(3, 36), new_located(3), new_located(3)
    for context in np.random.default_rng(0).dirichlet(np.ones(3), 20):
        locate.python(lattice, at, context)
        locate.python(lattice, at, context)
        locate.python(lattice, again, np.roll(context, 1))
        locate.python(lattice, again, context)
        np.testing.assert_array_equal(at.index, again.index)
        np.testing.assert_array_equal(at.share, again.share)
