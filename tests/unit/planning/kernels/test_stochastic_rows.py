"""Rows that sum to 1: their projection, and the best of a ball of them, against solvers, naive twins and arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.planning.kernels import value_iteration
from goalbound.planning.kernels.stochastic_rows import NO_GOAL
from goalbound.planning.kernels.value_iteration import UncertaintySet
from tests.reference.optimism import inner_minimum_by_cone, stochastic_minimum
from tests.reference.projection import by_descent, kkt_violation, projected, v_norm
from tests.support.estimates import (
    any_rows,
    balls,
    drawn_rows,
    feasible_starts,
    project_rows,
    ridge_estimates,
    ridge_rows,
)
from tests.support.strategies import examples
from tests.support.uncertainty_sets import plausible_row

Floats = NDArray[np.float64]


@examples(60)
@given(ridge_estimates())
def test_ridge_estimates_are_projected_as_the_quadratic_program_does(drawn: tuple[Floats, Floats]) -> None:
    rows, gram = drawn
    guesses, answer = project_rows(rows, gram, stochastic=True)
    assert guesses >= 0
    np.testing.assert_allclose(answer, projected(rows, gram, stochastic=True), rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(answer.sum(axis=0), 1.0, rtol=0.0, atol=1e-14)


@examples(60)
@given(any_rows())
def test_any_rows_are_projected_as_the_quadratic_program_and_the_naive_twin_do(
    drawn: tuple[Floats, Floats, Floats],
) -> None:
    rows, others, gram = drawn
    wanted = projected(rows, gram, stochastic=True)
    for begin in (None, projected(others, gram, stochastic=True), wanted):
        guesses, answer = project_rows(rows, gram, begin, stochastic=True)
        assert guesses >= 0
        np.testing.assert_allclose(answer, wanted, rtol=0.0, atol=1e-10)
    if np.linalg.cond(gram) <= 1e3:  # descent needs as many sweeps as the condition number says
        np.testing.assert_allclose(answer, by_descent(rows, gram, stochastic=True), rtol=0.0, atol=1e-10)


HUNT = 500


@pytest.mark.parametrize(("spread", "most"), [(1.0, 30), (1.0, 100_000), (0.01, 100_000)])
def test_of_many_hard_cases_none_is_without_an_answer_and_all_answers_are_optimal(spread: float, most: int) -> None:
    rng = np.random.default_rng(18)
    for _ in range(HUNT):
        rows, gram = drawn_rows(rng, int(rng.integers(1, 41)), int(rng.integers(1, 9)), spread, most)
        size = max(1.0, float(np.abs(rows).max()))
        start = feasible_starts(rng, rows.shape)[rng.integers(0, 4)]
        guesses, answer = project_rows(rows, gram, start, form="compiled", stochastic=True)
        assert guesses >= 0, (rows.tolist(), gram.tolist(), start.tolist())
        violation = kkt_violation(rows, gram, answer, stochastic=True)
        assert violation <= 1e-10 * size, (rows.tolist(), gram.tolist(), start.tolist())


@pytest.mark.parametrize("visits", [1_000, 1_000_000])
def test_a_million_equal_contexts_and_a_few_others_against_the_quadratic_program(visits: int) -> None:
    # As in the tests of the sub-stochastic projection, with the goal's third left out: two next states, and one unseen.
    contexts = np.array([[0.4, 0.3, 0.2, 0.1], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
    counts = np.array([[visits // 2, visits // 2, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0]])
    rows, gram = ridge_rows(contexts, np.array([visits, 1, 1, 1]), counts)
    wanted = projected(rows, gram, stochastic=True)
    for start in feasible_starts(np.random.default_rng(1), rows.shape):
        guesses, answer = project_rows(rows, gram, start, stochastic=True)
        assert guesses >= 0
        np.testing.assert_allclose(answer, wanted, rtol=0.0, atol=1e-10)


@examples(40)
@given(ridge_estimates(), st.integers(0, 2**32 - 1))
def test_the_distance_to_any_truth_does_not_grow(drawn: tuple[Floats, Floats], seed: int) -> None:
    rows, gram = drawn
    answer = project_rows(rows, gram, stochastic=True).rows
    truths = np.random.default_rng(seed).dirichlet(np.ones(len(rows)), size=(5, rows.shape[1]))
    for truth in truths.transpose(0, 2, 1):
        assert v_norm(answer - truth, gram) <= v_norm(rows - truth, gram) * (1.0 + 1e-12) + 1e-12


@examples(40)
@given(any_rows())
def test_python_and_compiled_project_to_the_same_bits(drawn: tuple[Floats, Floats, Floats]) -> None:
    rows, others, gram = drawn
    start = projected(others, gram, stochastic=True)
    one = project_rows(rows, gram, start, stochastic=True)
    other = project_rows(rows, gram, start, form="compiled", stochastic=True)
    assert one.guesses == other.guesses
    assert one.rows.tobytes() == other.rows.tobytes()


def stochastic_row(centre: Floats, ball: float) -> UncertaintySet:
    return plausible_row(centre, ball)._replace(mass=np.array([NO_GOAL]))


def least(row: UncertaintySet, values: Floats, enough: float = np.inf) -> float:
    value, dual = value_iteration.inner_minimum.python(row, 0, values, 0.25, enough)
    assert dual == 0.25  # there is no use for it here
    return float(value)


@st.composite
def wild_rows(draw: st.DrawFn) -> tuple[Floats, float, Floats]:
    """(centre of sum 1, squared radius, values): values differ by factors of up to 1e12 or by the last bits, some
    entries are 0, and the ball is nothing, tiny, everything, or anything between."""
    size = draw(st.integers(1, 8))
    shares = np.array(draw(st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any)), dtype=float)
    base = draw(st.sampled_from([0.0, 1.0, 1000.0]))
    value = st.builds(lambda x, e: base + x * 10.0**e, st.floats(1.0, 9.0), st.integers(-12, 3))
    values = np.array(draw(st.lists(st.one_of(value, st.just(base)), min_size=size, max_size=size)))
    share = draw(st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 1e-15, 1e-6, 0.01, 1.0 - 2.0**-53, 2.5])))
    return shares / shares.sum(), share, values


@examples(200)
@given(wild_rows())
def test_the_minimum_is_that_of_the_bisection(drawn: tuple[Floats, float, Floats]) -> None:
    centre, ball, values = drawn
    exact, _ = stochastic_minimum(centre, math.sqrt(ball), values)
    room = 1e-14 * float(values.max())
    assert least(stochastic_row(centre, ball), values) == pytest.approx(exact, rel=0.0, abs=room)


@examples(100)
@given(balls())
def test_the_minimum_is_that_of_the_cone_program(drawn: tuple[Floats, float, Floats]) -> None:
    shares, radius, values = drawn
    if not shares.any():
        return
    centre = shares / shares.sum()
    by_cone, _ = inner_minimum_by_cone(centre, radius, values, stochastic=True)
    found = least(stochastic_row(centre, radius * radius), values)
    assert found == pytest.approx(by_cone, rel=1e-8, abs=1e-8 * float(values.max()))
    assert stochastic_minimum(centre, radius, values)[0] == pytest.approx(found, rel=1e-12, abs=1e-14)


@examples(150)
@given(wild_rows(), st.floats(0.0, 1.2))
def test_where_it_stops_early_it_returns_a_lower_bound_that_is_enough(
    drawn: tuple[Floats, float, Floats], share: float
) -> None:
    centre, ball, values = drawn
    exact, _ = stochastic_minimum(centre, math.sqrt(ball), values)
    room = 1e-14 * float(values.max())
    for enough in (share * exact, share * float(centre @ values), exact):
        found = least(stochastic_row(centre, ball), values, enough)
        assert found <= exact + room
        assert found >= enough or found == pytest.approx(exact, rel=0.0, abs=room)


@examples(150)
@given(wild_rows())
def test_the_most_optimistic_row_sums_to_one_is_plausible_and_worth_the_minimum(
    drawn: tuple[Floats, float, Floats],
) -> None:
    centre, ball, values = drawn
    row = np.full(len(centre) + 1, np.nan)
    worth = value_iteration.optimistic_row.python(stochastic_row(centre, ball), 0, values, 0.5, row)
    assert worth == least(stochastic_row(centre, ball), values)
    assert row[:-1].min() >= 0.0
    assert row[:-1].sum() == pytest.approx(1.0, abs=1e-14)
    assert np.square(row[:-1] - centre).sum() <= ball + 1e-14
    assert float(row[:-1] @ values) == pytest.approx(worth, rel=0.0, abs=1e-13 * float(values.max()))
    assert np.isnan(row[-1])  # room that is not the pair's


def test_large_rows_of_near_ties_keep_their_digits() -> None:
    # 200 next states, values 1000 and 1000 + up to 1e-6, one at 999: the naive twin has 40 digits.
    rng = np.random.default_rng(4)
    for ball in (1e-6, 1e-3, 0.1):
        values = 1000.0 + 1e-6 * rng.random(200)
        values[17] = 999.0
        centre = rng.dirichlet(np.full(200, 0.3))
        exact, _ = stochastic_minimum(centre, math.sqrt(ball), values)
        assert least(stochastic_row(centre, ball), values) == pytest.approx(exact, rel=1e-14)
