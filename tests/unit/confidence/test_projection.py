"""The projection against a quadratic program, a naive twin and its own optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.reference.projection import by_descent, kkt_violation, projected, v_norm
from tests.support.estimates import any_rows, drawn_rows, feasible_starts, project_rows, ridge_estimates, ridge_rows
from tests.support.strategies import examples

Floats = NDArray[np.float64]


@examples(60)
@given(ridge_estimates())
def test_ridge_estimates_are_projected_as_the_quadratic_program_does(drawn: tuple[Floats, Floats]) -> None:
    rows, gram = drawn
    guesses, answer = project_rows(rows, gram)
    assert guesses >= 0
    np.testing.assert_allclose(answer, projected(rows, gram), rtol=0.0, atol=1e-10)


@examples(60)
@given(any_rows())
def test_any_rows_are_projected_as_the_quadratic_program_does(drawn: tuple[Floats, Floats, Floats]) -> None:
    rows, others, gram = drawn
    wanted = projected(rows, gram)
    start = projected(others, gram)  # the answer to another question
    for begin in (None, start, wanted):
        guesses, answer = project_rows(rows, gram, begin)
        assert guesses >= 0
        np.testing.assert_allclose(answer, wanted, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize(("count", "size"), [(1, 1), (1, 8), (5, 8), (12, 5), (40, 2), (25, 4)])
def test_sizes_from_one_to_forty_next_states_against_the_quadratic_program(count: int, size: int) -> None:
    rng = np.random.default_rng(count * size)
    rows, gram = drawn_rows(rng, count, size, spread=1.0, most=100)
    wanted = projected(rows, gram)
    for start in feasible_starts(rng, rows.shape):
        guesses, answer = project_rows(rows, gram, start, form="compiled")
        assert guesses >= 0
        np.testing.assert_allclose(answer, wanted, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("visits", [1_000, 1_000_000])
def test_a_million_equal_contexts_and_a_few_others_against_the_quadratic_program(visits: int) -> None:
    # The condition number is about visits / ridge. Of the common context's steps a third led to each next state, a
    # third to the goal; three steps under three other contexts all led to the first, and tear the estimate apart.
    contexts = np.array([[0.4, 0.3, 0.2, 0.1], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
    counts = np.array([[visits // 3, visits // 3], [1, 0], [1, 0], [1, 0]])
    rows, gram = ridge_rows(contexts, np.array([visits, 1, 1, 1]), counts)
    wanted = projected(rows, gram)
    for start in feasible_starts(np.random.default_rng(1), rows.shape):
        guesses, answer = project_rows(rows, gram, start)
        assert guesses >= 0
        np.testing.assert_allclose(answer, wanted, rtol=0.0, atol=1e-10)


@examples(30)
@given(any_rows())
def test_the_naive_twin_finds_the_same_rows(drawn: tuple[Floats, Floats, Floats]) -> None:
    rows, _, gram = drawn
    if np.linalg.cond(gram) <= 1e3:  # descent needs as many sweeps as the condition number says
        np.testing.assert_allclose(project_rows(rows, gram).rows, by_descent(rows, gram), rtol=0.0, atol=1e-10)


HUNT = 1500


@pytest.mark.parametrize(("spread", "most"), [(1.0, 30), (1.0, 100_000), (0.01, 100_000)])
def test_of_thousands_of_hard_cases_none_is_without_an_answer_and_all_answers_are_optimal(
    spread: float, most: int
) -> None:
    rng = np.random.default_rng(17)
    for _ in range(HUNT):
        rows, gram = drawn_rows(rng, int(rng.integers(1, 41)), int(rng.integers(1, 9)), spread, most)
        size = max(1.0, float(np.abs(rows).max()))
        start = feasible_starts(rng, rows.shape)[rng.integers(0, 4)]
        guesses, answer = project_rows(rows, gram, start, form="compiled")
        assert guesses >= 0, (rows.tolist(), gram.tolist(), start.tolist())
        assert kkt_violation(rows, gram, answer) <= 1e-10 * size, (rows.tolist(), gram.tolist(), start.tolist())


def test_one_next_state_and_five_contexts_that_made_guesses_go_in_circles() -> None:
    shares = [[1, 1, 7, 0], [3, 4, 6, 5], [2, 10, 9, 2], [0, 5, 2, 3], [3, 3, 9, 2]]
    contexts = np.array([np.array(parts) / sum(parts) for parts in shares])
    counts = np.array([[4], [5131], [1], [3300], [44]])
    rows, gram = ridge_rows(contexts, np.array([10, 10_000, 10, 10_000, 100]), counts)
    for start in feasible_starts(np.random.default_rng(1), rows.shape):
        guesses, answer = project_rows(rows, gram, start)
        assert guesses >= 0
        np.testing.assert_allclose(answer, projected(rows, gram), rtol=0.0, atol=1e-10)


@examples(40)
@given(any_rows())
def test_projecting_twice_changes_nothing_and_points_never_come_apart(drawn: tuple[Floats, Floats, Floats]) -> None:
    rows, others, gram = drawn
    one, other = project_rows(rows, gram).rows, project_rows(others, gram).rows
    np.testing.assert_allclose(project_rows(one, gram).rows, one, rtol=0.0, atol=1e-12)
    assert v_norm(one - other, gram) <= v_norm(rows - others, gram) * (1.0 + 1e-12)


@examples(40)
@given(ridge_estimates(), st.integers(0, 2**32 - 1))
def test_the_distance_to_any_truth_does_not_grow(drawn: tuple[Floats, Floats], seed: int) -> None:
    rows, gram = drawn
    rng = np.random.default_rng(seed)
    answer = project_rows(rows, gram).rows
    for truth in feasible_starts(rng, rows.shape):
        assert v_norm(answer - truth, gram) <= v_norm(rows - truth, gram) * (1.0 + 1e-12) + 1e-12


@examples(40)
@given(ridge_estimates())
def test_next_states_never_seen_stay_zero_and_change_nothing_to_the_bit(drawn: tuple[Floats, Floats]) -> None:
    rows, gram = drawn
    guesses, answer = project_rows(rows, gram)
    padded = np.vstack((np.zeros((2, rows.shape[1])), rows, np.zeros((3, rows.shape[1]))))
    same, longer = project_rows(padded, gram)
    assert same == guesses
    assert longer[2:-3].tobytes() == answer.tobytes()
    assert not longer[:2].any()
    assert not longer[-3:].any()


@given(ridge_estimates())
def test_rows_that_are_a_truth_already_are_taken_as_they_are(drawn: tuple[Floats, Floats]) -> None:
    rows, gram = drawn
    inside = projected(rows, gram) * (1.0 - 1e-12)
    guesses, answer = project_rows(inside, gram, np.ones_like(inside))
    assert guesses == 0
    assert answer.tobytes() == inside.tobytes()


def test_a_row_that_is_cut_off_pulls_its_other_entry_along() -> None:
    # The second entry is cut at 0. The slope of the first is 0: 2 (p - 0.5) + 1 (0 + 0.25) = 0, so p = 0.375.
    guesses, answer = project_rows(np.array([[0.5, -0.25]]), np.array([[2.0, 1.0], [1.0, 2.0]]))
    assert guesses >= 1
    np.testing.assert_allclose(answer, [[0.375, 0.0]], atol=1e-15)


def test_a_full_column_takes_the_same_from_each_row() -> None:
    # One component: 0.9 + 0.5 exceeds 1 by 0.4, and each row gives 0.2.
    np.testing.assert_allclose(project_rows(np.array([[0.9], [0.5]]), np.eye(1)).rows, [[0.7], [0.3]], atol=1e-15)


def test_the_answer_is_a_sub_stochastic_matrix_without_slack() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        rows, gram = drawn_rows(rng, int(rng.integers(1, 20)), int(rng.integers(1, 5)), 1.0, 50)
        answer = project_rows(rows, gram, form="compiled").rows
        assert answer.min() >= 0.0
        assert answer.sum(axis=0).max() <= 1.0 + 1e-15 * len(rows)


@examples(40)
@given(any_rows())
def test_python_and_compiled_give_the_same_bits(drawn: tuple[Floats, Floats, Floats]) -> None:
    rows, others, gram = drawn
    start = projected(others, gram)
    one, other = project_rows(rows, gram, start), project_rows(rows, gram, start, form="compiled")
    assert one.guesses == other.guesses
    assert one.rows.tobytes() == other.rows.tobytes()
