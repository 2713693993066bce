"""The sums of a pair against exact arithmetic: after a million steps the inverse is still the inverse."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.confidence.regression import (
    EPS,
    RENEW_EVERY,
    RegressionSums,
    add,
    add_to_gram,
    invert,
    new_regression_sums,
    projection_gap,
    record,
    ridge,
    ridge_error,
    solve_context,
)
from goalbound.jit.compile import kernel
from tests.support.strategies import contexts, examples

Whole = NDArray[np.int64]
UNIT = 2**20
"""Contexts are whole multiples of 1 / UNIT, so that a million products c c^T sum without rounding in 64-bit integers:
1e6 * 2^40 < 2^60."""
STEPS = 999_999
"""One step before the inverse is computed anew: as far as the updates ever drift."""
SIZE = 4


@kernel
def add_all(gram, low, inverse, contexts, visits, regularization, direction, work):
    """Add the contexts [n, d] one after the other, over and over, as the visits 1, 2, ... of a pair."""
    for visit in range(visits):
        context = contexts[visit % len(contexts)]
        add_to_gram(gram, low, inverse, context, visit + 1, regularization, direction, work)


@kernel
def record_all(regression, next_start, next_state, goal, pair, places, losses, contexts, direction, work):
    """Record n steps of one pair."""
    for n in range(len(places)):
        record(regression, next_start, next_state, goal, pair, places[n], losses[n], contexts[n], 1.0, direction, work)


@kernel
def add_over_and_over(sums, low, value, times):
    """Add the same number so often."""
    for _ in range(times):
        add(sums, low, 0, value)


def added(contexts: NDArray[np.float64], visits: int, regularization: float = 1.0) -> tuple[NDArray[np.float64], ...]:
    """The Gram matrix and its inverse after so many visits."""
    size = contexts.shape[1]
    gram, inverse, low = np.eye(size) * regularization, np.eye(size) / regularization, np.zeros((size, size))
    add_all.compiled(
        gram, low, inverse, contexts, visits, regularization, np.zeros(size), np.zeros((size, size))
    )  # fmt: skip
    return gram, inverse


def whole_contexts(shares: NDArray[np.float64]) -> Whole:
    """Contexts [n, d] in units of 1 / UNIT; the last entry takes the rounding, so that each sums to UNIT."""
    whole = np.floor(shares * UNIT).astype(np.int64)
    whole[:, -1] += UNIT - whole.sum(axis=1)
    return whole


def spread_out(rng: np.random.Generator) -> Whole:
    return whole_contexts(rng.dirichlet(np.ones(SIZE), size=STEPS))


def nearly_collinear(rng: np.random.Generator) -> Whole:
    """All within 1e-4 of one context: the Gram matrix has condition number 1e5 or so."""
    shares = np.array([0.4, 0.3, 0.2, 0.1]) + 1e-4 * rng.uniform(-1.0, 1.0, size=(STEPS, SIZE))
    return whole_contexts(shares / shares.sum(axis=1, keepdims=True))


def all_equal(rng: np.random.Generator) -> Whole:
    return whole_contexts(np.repeat(rng.dirichlet(np.ones(SIZE), size=1), STEPS, axis=0))


def one_hot(rng: np.random.Generator) -> Whole:
    return whole_contexts(np.eye(SIZE)[rng.integers(0, SIZE, size=STEPS)])


def rarely_elsewhere(rng: np.random.Generator) -> Whole:
    """One corner nearly always, another once in ten thousand visits, the other two never."""
    return whole_contexts(np.eye(SIZE)[(rng.random(STEPS) < 1e-4).astype(int)])


def exact_inverse(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
    """By Gauss and Jordan on fractions; the matrix is positive definite, so no pivot is 0."""
    size = len(matrix)
    rows = [row + [Fraction(int(r == c)) for c in range(size)] for r, row in enumerate(matrix)]
    for p in range(size):
        rows[p] = [x / rows[p][p] for x in rows[p]]
        for r in range(size):
            if r != p:
                rows[r] = [x - rows[r][p] * y for x, y in zip(rows[r], rows[p], strict=True)]
    return [row[size:] for row in rows]


def exact_gram(whole: Whole) -> list[list[Fraction]]:
    """I + sum of c c^T, without rounding."""
    products = whole.T @ whole
    return [[Fraction(int(r == c)) + Fraction(int(products[r, c]), UNIT**2) for c in range(SIZE)] for r in range(SIZE)]


def as_fractions(matrix: NDArray[np.float64]) -> list[list[Fraction]]:
    return [[Fraction(float(x)) for x in row] for row in matrix]


def distance(inverse: NDArray[np.float64], exact: list[list[Fraction]]) -> float:
    """The largest error, relative to the largest entry."""
    wanted = np.array(exact, dtype=np.float64)
    return float(np.abs(inverse - wanted).max() / np.abs(wanted).max())


@pytest.mark.parametrize("draw", [spread_out, nearly_collinear, all_equal, one_hot, rarely_elsewhere])
def test_after_a_million_visits_the_inverse_is_within_1e_9_of_the_inverse_of_the_sums(draw: Any) -> None:
    whole = draw(np.random.default_rng(7))
    gram, inverse = added(whole / UNIT, STEPS)
    assert distance(inverse, exact_inverse(as_fractions(gram))) <= 1e-9
    np.testing.assert_array_equal(inverse, inverse.T)

    # The sums themselves round to the last digit, after a million additions; so does the product of two contexts.
    exact = exact_gram(whole)
    np.testing.assert_allclose(gram, np.array(exact, dtype=np.float64), rtol=2.0 * EPS)
    exact = exact_inverse(exact)
    assert distance(inverse, exact) <= 1e-9

    # What is certified of the norm of a context is an upper bound of the exact one, and hardly above it.
    for n in range(3):
        context = [Fraction(int(x), UNIT) for x in whole[n]]
        norm = sum(context[r] * exact[r][c] * context[c] for r in range(SIZE) for c in range(SIZE))
        found, slack, _ = solved(gram, inverse, whole[n] / UNIT)
        assert Fraction(found) ** 2 >= norm
        assert found**2 == pytest.approx(float(norm), rel=1e-8)
        assert slack < 1e-10


def test_the_million_steps_end_just_before_the_inverse_is_computed_anew() -> None:
    assert (STEPS + 1) % RENEW_EVERY == 0


@examples(30)
@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_the_inverse_of_a_matrix_by_fractions(size: int, seed: int) -> None:
    factor = np.random.default_rng(seed).integers(-4, 5, size=(size, size))
    matrix = np.eye(size) + factor @ factor.T
    room = np.full((size + 1, size + 1), np.nan)  # larger than asked for: the rest is not to be touched
    invert.python(matrix, size, room)
    exact = exact_inverse([[Fraction(int(x)) for x in row] for row in matrix])
    wanted = np.array(exact, dtype=np.float64)
    np.testing.assert_allclose(room[:size, :size], wanted, atol=1e-13 * np.abs(wanted).max())
    assert np.isnan(room[size]).all()
    assert np.isnan(room[:, size]).all()


@st.composite
def quarter_steps(draw: st.DrawFn) -> tuple[Whole, Whole, Whole]:
    """(place, quarters of a loss, quarters of a context of size 2) of a few steps; sums of products are exact."""
    steps = draw(st.lists(st.tuples(st.integers(2, 6), st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40))
    place, loss, share = np.array(steps).T
    return place, loss, np.column_stack((share, 4 - share))


NEXT_START = np.array([0, 2, 7])
NEXT_STATE = np.array([1, 8, 0, 3, 4, 6, 8], dtype=np.int32)
"""Two pairs; the steps are those of the second, whose next states are 0, 3, 4, 6 and the goal, 8."""


def recorded(place: Whole, loss: Whole, shares: Whole, *, form: str) -> RegressionSums:
    regression = new_regression_sums(2, 7, 2, 1.0)
    getattr(record_all, form)(
        regression, NEXT_START, NEXT_STATE, 8, 1, place, loss / 4.0, shares / 4.0, np.zeros(2), np.zeros((2, 2))
    )  # fmt: skip
    return regression


@examples(50)
@given(quarter_steps())
def test_sums_are_the_naive_sums_and_slots_are_given_in_the_order_of_first_sight(
    steps: tuple[Whole, Whole, Whole],
) -> None:
    place, loss, shares = steps
    regression = recorded(place, loss, shares, form="python")
    assert regression.visits.tolist() == [0, len(place)]
    np.testing.assert_array_equal(regression.gram[1], np.eye(2) + shares.T @ shares / 16.0)
    np.testing.assert_array_equal(regression.loss_sums[1], loss @ shares / 16.0)
    np.testing.assert_array_equal(regression.goal_sums[1], shares[place == 6].sum(axis=0) / 4.0)

    first_seen = list(dict.fromkeys(p for p in place.tolist() if p != 6))
    assert regression.seen.tolist() == [0, len(first_seen)]
    assert regression.seen_state[2 : 2 + len(first_seen)].tolist() == NEXT_STATE[first_seen].tolist()
    for index, p in enumerate(first_seen):
        assert regression.seen_index[p] == index
        np.testing.assert_array_equal(regression.next_sums[2 + index], shares[place == p].sum(axis=0) / 4.0)
    never = [p for p in range(7) if p not in first_seen]
    assert (regression.seen_index[never] == -1).all()
    assert not regression.next_sums[2 + len(first_seen) :].any()


@given(quarter_steps())
def test_the_other_pair_is_as_if_nothing_had_happened(steps: tuple[Whole, Whole, Whole]) -> None:
    regression, fresh = recorded(*steps, form="python"), new_regression_sums(2, 7, 2, 1.0)
    for name in ("gram", "inverse", "loss_sums", "goal_sums", "visits", "seen"):
        np.testing.assert_array_equal(getattr(regression, name)[0], getattr(fresh, name)[0])
    assert not regression.next_sums[:2].any()


@given(quarter_steps())
def test_steps_recorded_by_python_and_compiled_are_the_same_to_the_bit(steps: tuple[Whole, Whole, Whole]) -> None:
    for one, other in zip(recorded(*steps, form="python"), recorded(*steps, form="compiled"), strict=True):
        assert one.tobytes() == other.tobytes()


@given(contexts(3), st.integers(0, 2**32 - 1))
def test_ridge_coefficients_are_those_of_numpy(context: NDArray[np.float64], seed: int) -> None:
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(3, 3))
    inverse, sums = np.linalg.inv(np.eye(3) + factor @ factor.T), rng.normal(size=(5, 3))
    inverse = 0.5 * (inverse + inverse.T)
    out = np.full((6, 3), np.nan)
    ridge.python(sums, inverse, 5, out)
    np.testing.assert_allclose(out[:5], sums @ inverse, rtol=1e-12, atol=1e-14)
    assert np.isnan(out[5]).all()  # only the rows asked for


def solved(
    gram: NDArray[np.float64], inverse: NDArray[np.float64], context: NDArray[np.float64], regularization: float = 1.0
) -> tuple[float, float, NDArray[np.float64]]:
    """(norm, slack, x)"""
    x = np.zeros(len(context))
    norm, slack, _ = solve_context.python(gram, inverse, context, regularization, x, np.zeros(len(context)))
    return norm, slack, x


CONSTANT = np.array([0.3, 0.7])


@pytest.mark.parametrize("regularization", [1e-6, 1e-3, 1.0])
def test_ten_million_equal_contexts_against_exact_sums(regularization: float) -> None:
    """V = lambda I + n c c^T has the inverse (I - n c c^T / (lambda + n c^2)) / lambda, in fractions."""
    visits = 10_000_000
    gram, inverse = added(CONSTANT[None], visits, regularization)
    c = [Fraction(float(x)) for x in CONSTANT]
    penalty, square = Fraction(regularization), c[0] ** 2 + c[1] ** 2
    exact = [[penalty * (r == k) + visits * c[r] * c[k] for k in range(2)] for r in range(2)]
    for r in range(2):
        for k in range(2):
            # one rounding of the product, one of the sum
            assert abs(Fraction(float(gram[r, k])) - exact[r][k]) <= Fraction(EPS) * exact[r][k]
    norm, slack, x = solved(gram, inverse, CONSTANT, regularization)
    exact_norm = square / (penalty + visits * square)
    assert Fraction(norm) ** 2 >= exact_norm
    assert norm**2 == pytest.approx(float(exact_norm), rel=1e-4)
    assert slack < 1e-3 * norm
    residual = [c[r] - sum(exact[r][k] * Fraction(float(x[k])) for k in range(2)) for r in range(2)]
    assert sum(abs(one) for one in residual) <= Fraction(slack)


@pytest.mark.parametrize("visits", [10**9, 10**11, 10**13])
def test_what_is_certified_holds_where_the_matrix_lost_its_definiteness(visits: int) -> None:
    """lambda = 1e-6 vanishes beside 10^13 visits. The norm of the context played stays an upper bound of the exact one,
    and nothing is claimed of others."""
    c = [Fraction(float(x)) for x in CONSTANT]
    square = c[0] ** 2 + c[1] ** 2
    exact = [[Fraction(1e-6) * (r == k) + visits * c[r] * c[k] for k in range(2)] for r in range(2)]
    gram = np.array(exact, dtype=np.float64)
    inverse = np.eye(2) * 1e6
    invert.python(gram, 2, inverse)
    for context in (CONSTANT, np.array([1.0, 0.0])):
        norm, slack, x = solved(gram, inverse, context, 1e-6)
        wanted = [Fraction(float(v)) for v in context]
        across = (wanted[0] * c[1] - wanted[1] * c[0]) ** 2 / square  # the part that was never played
        along = (wanted[0] * c[0] + wanted[1] * c[1]) ** 2 / square
        exact_norm = across / Fraction(1e-6) + along / (Fraction(1e-6) + visits * square)
        assert Fraction(norm) ** 2 >= exact_norm
        residual = [wanted[r] - sum(exact[r][k] * Fraction(float(x[k])) for k in range(2)) for r in range(2)]
        assert sum(abs(one) for one in residual) <= Fraction(slack)


@examples(60)
@given(st.integers(1, 4), st.integers(0, 2**32 - 1), st.floats(1e-6, 10.0), st.floats(0.0, 1.0))
def test_the_certificate_of_a_context_does_not_trust_the_inverse(
    size: int, seed: int, regularization: float, wrong: float
) -> None:
    """Whatever the inverse is, the norm is an upper bound and the residual is within the slack, in exact fractions."""
    rng = np.random.default_rng(seed)
    data = rng.dirichlet(np.ones(size), size=20)
    gram = regularization * np.eye(size) + data.T @ data
    inverse = np.linalg.inv(gram) * (1.0 + wrong * rng.normal(size=(size, size)))
    context = rng.dirichlet(np.ones(size))
    norm, slack, x = solved(gram, 0.5 * (inverse + inverse.T), context, regularization)
    exact = as_fractions(gram)
    inverted = exact_inverse(exact)
    c = [Fraction(float(v)) for v in context]
    square = sum(c[r] * inverted[r][k] * c[k] for r in range(size) for k in range(size))
    assert Fraction(norm) ** 2 * (1 + Fraction(1, 10**14)) >= square
    residual = [c[r] - sum(exact[r][k] * Fraction(float(x[k])) for k in range(size)) for r in range(size)]
    assert sum(abs(one) for one in residual) <= Fraction(slack)


def test_an_inverse_that_is_no_number_claims_nothing() -> None:
    norm, slack, x = solved(np.eye(2), np.full((2, 2), np.nan), np.array([0.5, 0.5]))
    assert not x.any()
    assert norm >= np.sqrt(0.5)
    assert 1.0 <= slack < 1.0 + 1e-12


def test_a_matrix_that_is_not_definite_is_not_inverted() -> None:
    assert not invert.python(np.array([[1.0, 2.0], [2.0, 1.0]]), 2, np.zeros((2, 2)))
    assert not invert.python(np.array([[np.nan]]), 1, np.zeros((1, 1)))
    assert invert.python(np.array([[2.0]]), 1, np.zeros((1, 1)))


@given(st.floats(1e-3, 1.0))
def test_sums_are_exact_to_the_last_digit_after_a_hundred_thousand_additions(value: float) -> None:
    sums, low = np.zeros(1), np.zeros(1)
    add_over_and_over.compiled(sums, low, value, 100_000)
    assert abs(Fraction(float(sums[0])) - 100_000 * Fraction(value)) <= Fraction(EPS) / 2 * 100_000 * Fraction(value)


@examples(40)
@given(st.integers(1, 3), st.integers(1, 4), st.integers(0, 2**32 - 1), st.floats(1e-4, 1.0), st.booleans())
def test_the_gap_bounds_the_distance_to_every_stochastic_matrix_whatever_the_rows_are(
    size: int, count: int, seed: int, regularization: float, stochastic: bool
) -> None:
    """|p - q|_V^2 <= |V^-1 b - q|_V^2 + 2 g in exact fractions, for drawn rows p (projected or not) and truths q."""
    rng = np.random.default_rng(seed)
    data = rng.dirichlet(np.ones(size), size=15)
    gram = regularization * np.eye(size) + data.T @ data
    hits = rng.integers(0, count + 1 - stochastic, size=15)  # the last is the goal, where it can follow
    sums = np.array([data[hits == r].sum(axis=0) for r in range(count)])
    rows = rng.dirichlet(np.ones(count + 1 - stochastic), size=size).T[:count]
    gap = Fraction(projection_gap.python(gram, sums, rows, count, stochastic))
    exact = as_fractions(gram)
    inverted = exact_inverse(exact)
    for _ in range(5):
        truth = rng.dirichlet(np.ones(count + 1 - stochastic), size=size).T[:count]
        before = after = Fraction(0)
        for r in range(count):
            b, p, q = ([Fraction(float(v)) for v in one[r]] for one in (sums, rows, truth))
            ridge_row = [sum(inverted[j][k] * b[k] for k in range(size)) for j in range(size)]
            before += norm_of(exact, [x - y for x, y in zip(ridge_row, q, strict=True)])
            after += norm_of(exact, [x - y for x, y in zip(p, q, strict=True)])
        assert after <= before + 2 * gap


def norm_of(matrix: list[list[Fraction]], vector: list[Fraction]) -> Fraction:
    size = len(vector)
    return sum((vector[r] * matrix[r][k] * vector[k] for r in range(size) for k in range(size)), Fraction(0))


def test_the_gap_of_rows_that_are_no_numbers_is_infinite() -> None:
    assert projection_gap.python(np.eye(2), np.zeros((1, 2)), np.full((1, 2), np.nan), 1, False) == np.inf


@examples(40)
@given(st.integers(1, 4), st.integers(0, 2**32 - 1), st.floats(0.0, 1e-3))
def test_the_error_of_ridge_coefficients_is_bounded(size: int, seed: int, wrong: float) -> None:
    rng = np.random.default_rng(seed)
    data = rng.dirichlet(np.ones(size), size=15)
    gram = 0.1 * np.eye(size) + data.T @ data
    sums = rng.random(15) @ data
    found = np.linalg.solve(gram, sums) + wrong * rng.normal(size=size)
    exact = as_fractions(gram)
    inverted = exact_inverse(exact)
    b = [Fraction(float(v)) for v in sums]
    off = [Fraction(float(found[j])) - sum(inverted[j][k] * b[k] for k in range(size)) for j in range(size)]
    assert norm_of(exact, off) <= Fraction(ridge_error.python(gram, sums, found, 0.1)) ** 2 * (1 + Fraction(1, 10**12))
