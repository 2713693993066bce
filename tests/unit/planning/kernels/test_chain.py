"""Sweeps, clusters, coarse factors and the Krylov method against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.planning.kernels import chain as kernels
from goalbound.planning.kernels.chain import Chain
from tests.reference import kernels as twin
from tests.support import drawn
from tests.support.strategies import examples


def with_vectors(count: int) -> st.SearchStrategy[tuple]:
    """A chain and some positive vectors."""
    return drawn.chains().flatmap(
        lambda chain: st.tuples(st.just(chain), *[drawn.vectors(len(chain.stop), 0.1, 10.0)] * count)
    )


@given(with_vectors(1))
def test_a_scaled_chain_is_that_of_the_scaled_unknown(case: tuple) -> None:
    chain, scale = case
    weight, leave = np.full_like(chain.weight, np.nan), np.empty(len(scale))
    kernels.scale_chain.python(chain, scale, weight, leave)
    expected = twin.dense(chain) * scale[None, :] / scale[:, None]
    np.testing.assert_allclose(twin.dense(chain._replace(weight=weight)), expected, rtol=1e-14)
    np.testing.assert_allclose(leave, np.maximum(1.0 - expected.sum(axis=1), 0.0), atol=1e-13)
    assert (leave >= 0.0).all()


@given(with_vectors(3), st.booleans())
@examples(40)
def test_a_sweep_solves_the_triangle_behind_it(case: tuple, backwards: bool) -> None:
    chain, rhs, unit, x = case
    expected = twin.swept(twin.dense(chain), rhs, x, backwards=backwards)
    found = x.copy()
    largest = kernels.gauss_seidel.python(chain, rhs, unit, backwards, found)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    np.testing.assert_allclose(largest, np.max(np.abs(found - x) / unit), rtol=1e-14)


@given(with_vectors(2), st.booleans(), st.integers(3, 6), st.sampled_from([1e-1, 1e-4, 1e-9]))
@examples(40)
def test_sweeps_go_on_until_the_target_or_until_it_is_too_far(
    case: tuple, backwards: bool, patience: int, target: float
) -> None:
    chain, rhs, unit = case
    most = 4 * patience + 1
    x, changes, seen = np.zeros(len(rhs)), [], [np.zeros(len(rhs))]
    for _ in range(most):
        changes.append(kernels.gauss_seidel.python(chain, rhs, unit, backwards, x))
        seen.append(x.copy())
    with np.errstate(divide="ignore"):
        expected = twin.patient_sweeps(changes, target, most, patience)
    found = np.zeros(len(rhs))
    change, sweeps = kernels.sweep_until.python(chain, rhs, unit, target, most, patience, backwards, found)
    assert (sweeps, change) == (expected, changes[expected - 1])
    assert found.tobytes() == seen[expected].tobytes()


def test_sweeps_of_a_chain_that_lingers_are_given_up_early_and_of_one_that_ends_are_not() -> None:
    # Two states that send all but 1/1000 to each other: a sweep takes 2/1000 of the error, 1e-6 is 7000 sweeps off.
    start, stop = np.array([0, 1, 2]), np.array([1, 2])
    column = np.array([1, 0], dtype=np.int32)
    ones = np.ones(2)
    slow = Chain(start, stop, column, np.full(2, 0.999), np.full(2, 0.001))
    assert kernels.sweep_until.python(slow, ones, ones, 1e-6, 1000, 4, False, np.zeros(2))[1] == 4
    quick = slow._replace(weight=np.full(2, 0.5), exit=np.full(2, 0.5))
    x = np.zeros(2)
    change, sweeps = kernels.sweep_until.python(quick, ones, ones, 1e-6, 1000, 4, False, x)
    # The error falls by 1/4 a sweep: 4^-10 = 9.5e-7.
    assert change <= 1e-6
    assert sweeps <= 12
    np.testing.assert_allclose(x, 2.0, atol=1e-6)


@given(with_vectors(2))
def test_a_residual_is_what_is_left(case: tuple) -> None:
    chain, rhs, x = case
    out = np.empty(len(x))
    kernels.chain_residual.python(chain, rhs, x, out)
    np.testing.assert_allclose(out, rhs + twin.dense(chain) @ x - x, atol=1e-13)


@given(drawn.problems(most_states=8), st.integers(1, 4), st.data())
@examples(40)
def test_clusters_are_small_connected_and_grown_in_order_until_nothing_is_near(
    rows: drawn.Rows, limit: int, data: st.DataObject
) -> None:
    states = twin.states_of(rows)
    order = np.array(data.draw(st.permutations(range(states))), dtype=np.int32)
    cluster = np.full(states, -7, dtype=np.int32)
    count = kernels.grow_clusters.python(rows, order, limit, cluster)
    near: dict[int, set[int]] = {s: set() for s in range(states)}
    for pair in twin.pairs_of(rows):
        near[pair.state] |= {t for t, _ in pair.entries} - {states}
    seeds = [next(int(s) for s in order if cluster[s] == c) for c in range(count)]
    assert sorted(set(cluster)) == list(range(count))
    for c, seed in enumerate(seeds):
        members = set(np.flatnonzero(cluster == c))
        assert len(members) <= limit
        assert seed == next(s for s in order if cluster[s] >= c)  # the first state left
        grown, fresh = {seed}, [seed]
        while fresh:
            new = (near[fresh.pop()] & members) - grown
            grown |= new
            fresh += new
        assert grown == members
        if len(members) < limit:
            assert all(cluster[t] <= c for s in members for t in near[s])


def with_clusters() -> st.SearchStrategy[tuple]:
    return drawn.chains().flatmap(lambda chain: st.tuples(st.just(chain), drawn.cluster_numbers(len(chain.stop))))


@given(with_clusters())
@examples(40)
def test_the_envelope_reaches_from_the_first_entry_of_a_row_or_column(case: tuple) -> None:
    chain, cluster = case
    first = np.empty(cluster.max() + 1, dtype=np.int64)
    work = kernels.coarse_envelope.python(chain, cluster, first)
    weight = twin.dense(chain)
    pairs = {(cluster[s], cluster[t]) for s, t in zip(*np.nonzero(weight), strict=True)}
    both = pairs | {(e, c) for c, e in pairs}
    assert first.tolist() == [min([c, *(e for d, e in both if d == c)]) for c in range(len(first))]
    assert work == sum((c - f) ** 2 for c, f in enumerate(first))


@given(with_clusters())
@examples(40)
def test_coarse_factors_multiply_to_the_matrix_summed_over_clusters(case: tuple) -> None:
    chain, cluster = case
    coarse = drawn.room_for(chain, cluster)
    kernels.factor_coarse.python(chain, coarse)
    expected = twin.aggregated(twin.dense(chain), chain.exit, cluster)
    np.testing.assert_allclose(twin.unfactored(coarse), expected, atol=1e-13)
    assert (coarse.diagonal > 0.0).all()


@given(with_clusters(), st.integers(0, 5))
@examples(40)
def test_another_chain_is_factored_in_the_room_of_the_one_before(case: tuple, more: int) -> None:
    chain, cluster = case
    fresh = drawn.room_for(chain, cluster)
    kernels.factor_coarse.python(chain, fresh)
    room = len(fresh.lower) + more
    reused = fresh._replace(
        first=np.zeros_like(fresh.first), start=np.zeros_like(fresh.start), lower=np.full(room, np.nan),
        upper=np.full(room, np.nan), diagonal=np.full(len(fresh.first), np.nan),
    )  # fmt: skip
    assert kernels.refactor_coarse.python(chain, reused, 0.0, np.inf)
    for name in ("first", "start", "diagonal"):
        assert getattr(reused, name).tobytes() == getattr(fresh, name).tobytes()
    for name in ("lower", "upper"):
        assert getattr(reused, name)[: len(fresh.lower)].tobytes() == getattr(fresh, name).tobytes()


def test_a_chain_is_not_factored_without_clusters_or_room_or_if_it_is_too_much_work() -> None:
    chain = Chain(np.array([0, 1, 2]), np.array([1, 2]), np.array([1, 0], dtype=np.int32), np.ones(2), np.zeros(2))
    coarse = drawn.room_for(chain, np.array([0, 1], dtype=np.int32))  # work 1, two entries
    none = np.empty(0, dtype=np.int32)
    assert kernels.refactor_coarse.python(chain, coarse, 0.5, 0.0)
    assert not kernels.refactor_coarse.python(chain, coarse, 0.25, 0.0)
    assert kernels.refactor_coarse.python(chain, coarse, 0.25, 0.5)
    assert not kernels.refactor_coarse.python(chain, coarse._replace(lower=np.empty(0)), 1.0, 0.0)
    assert not kernels.refactor_coarse.python(chain, coarse._replace(cluster=none, first=np.empty(0)), 1.0, 0.0)


def test_a_coarse_matrix_without_exits_still_gives_positive_pivots() -> None:
    # Two states that only lead to each other: 1 - 1 * 1 = 0 in exact arithmetic.
    chain = Chain(np.array([0, 1, 2]), np.array([1, 2]), np.array([1, 0], dtype=np.int32), np.ones(2), np.zeros(2))
    for cluster in ([0, 1], [0, 0]):
        coarse = drawn.room_for(chain, np.array(cluster, dtype=np.int32))
        kernels.factor_coarse.python(chain, coarse)
        assert (coarse.diagonal > 0.0).all()


@given(with_clusters(), st.data())
@examples(40)
def test_the_preconditioner_is_a_coarse_solve_and_a_sweep(case: tuple, data: st.DataObject) -> None:
    chain, cluster = case
    rhs = data.draw(drawn.vectors(len(cluster), -5.0, 5.0))
    coarse = drawn.room_for(chain, cluster)
    kernels.factor_coarse.python(chain, coarse)
    out, work = np.empty(len(rhs)), np.empty(len(coarse.first))
    kernels.precondition.python(chain, coarse, rhs, work, out)
    weight = twin.dense(chain)
    summed = np.bincount(cluster, weights=rhs)
    start = np.linalg.solve(twin.aggregated(weight, chain.exit, cluster), summed)[cluster]
    expected = twin.swept(weight, rhs, start, backwards=False)
    np.testing.assert_allclose(out, expected, rtol=1e-8, atol=1e-8 * np.abs(start).max())


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


def test_the_krylov_method_leaves_a_solution_alone_and_stops_when_asked() -> None:
    chain = Chain(
        np.array([0, 0, 1]), np.array([0, 1]), np.array([0], dtype=np.int32), np.ones(1), np.array([1.0, 0.0])
    )
    coarse = drawn.room_for(chain, np.zeros(2, dtype=np.int32))
    kernels.factor_coarse.python(chain, coarse)
    ones, solution, other = np.ones(2), np.array([1.0, 2.0]), np.array([5.0, 5.0])
    assert kernels.bicgstab.python(chain, coarse, ones, ones, 0.0, 10, room(2), solution) == (0.0, 0)
    assert solution.tolist() == [1.0, 2.0]
    # Residuals of 5, 5 are 1 - 5 and 1 + 5 - 5.
    assert kernels.bicgstab.python(chain, coarse, ones, ones, 0.0, 0, room(2), other) == (4.0, 0)
    assert other.tolist() == [5.0, 5.0]
