"""Sweeps, clusters, coarse factors and the Krylov method against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.planning.kernels import chain as kernels
from tests.reference import kernels as twin
from tests.support import drawn
from tests.support.strategies import examples


def with_vectors(count: int) -> st.SearchStrategy[tuple]:
    """A chain and some positive vectors."""
    return drawn.chains().flatmap(
        lambda chain: st.tuples(st.just(chain), *[drawn.vectors(len(chain.stop), 0.1, 10.0)] * count)
    )


@given(with_vectors(3), st.booleans())
@examples(40)
def test_a_sweep_solves_the_triangle_behind_it(case: tuple, backwards: bool) -> None:
    chain, rhs, unit, x = case
    expected = twin.swept(twin.dense(chain), rhs, x, backwards=backwards)
    found = x.copy()
    largest = kernels.gauss_seidel.python(chain, rhs, unit, backwards, found)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    np.testing.assert_allclose(largest, np.max(np.abs(found - x) / unit), rtol=1e-14)


def with_clusters() -> st.SearchStrategy[tuple]:
    return drawn.chains().flatmap(lambda chain: st.tuples(st.just(chain), drawn.cluster_numbers(len(chain.stop))))


def room(states: int) -> np.ndarray:
    """Work arrays of the Krylov method, with what it must not read."""
    return np.full((kernels.KRYLOV_VECTORS, states), np.nan)


@given(with_clusters(), st.data())
@examples(35)
def test_the_krylov_method_finds_the_solution_of_the_dense_system(case: tuple, data: st.DataObject) -> None:
    chain, cluster = case
    states = len(cluster)
    rhs, start = data.draw(drawn.vectors(states, 0.0, 1.0)), data.draw(drawn.vectors(states, 0.0, 10.0))
    unit = data.draw(drawn.vectors(states, 0.5, 2.0))
    coarse = drawn.room_for(chain, cluster)
    kernels.factor_coarse.python(chain, coarse)
    system = np.eye(states) - twin.dense(chain)
    most = data.draw(st.sampled_from([1, 2, 60, 60]))
    x = start.copy()
    with np.errstate(all="ignore"):
        reached, steps = kernels.bicgstab.python(chain, coarse, rhs, unit, 1e-10, most, room(states), x)
    left = np.max(np.abs(rhs - system @ x) / unit)
    before = np.max(np.abs(rhs - system @ start) / unit)
    scale = np.abs(np.linalg.inv(system)).sum(axis=1).max()  # how much a residual may move the solution
    rounding = 1e-12 * (1.0 + np.abs(x).max() + before) * scale
    assert left == pytest.approx(reached, abs=rounding)
    assert left <= before + rounding  # never worse than what it was given
    assert 0 <= steps <= most
    if most == 60:
        assert reached <= 1e-10 + rounding
    np.testing.assert_allclose(x, np.linalg.solve(system, rhs), atol=scale * (2.0 * reached + 3e-10 + rounding))
