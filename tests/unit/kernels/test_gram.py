"""The sums of a pair against exact arithmetic: after a million steps the inverse is still the inverse."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.kernels.gram import REFRESH, Memory, add_to_gram, invert, quadratic, record, ridge
from goalbound.kernels.jit import kernel
from goalbound.kernels.rooms import fresh_memory
from tests.strategies import contexts, examples

Whole = NDArray[np.int64]
UNIT = 2**20
"""Contexts are whole multiples of 1 / UNIT, so that a million products c c^T sum without rounding in 64-bit integers:
1e6 * 2^40 < 2^60."""
STEPS = 999_999
"""One step before the inverse is computed anew: as far as the updates ever drift."""
SIZE = 4


@kernel
def add_all(gram, inverse, contexts, direction):
    """Add the contexts [n, d] one after the other, as the visits 1, 2, ... of a pair."""
    for visit in range(len(contexts)):
        add_to_gram(gram, inverse, contexts[visit], visit + 1, direction)


@kernel
def record_all(memory, next_start, next_state, goal, pair, places, losses, contexts, direction):
    """Record n steps of one pair."""
    for n in range(len(places)):
        record(memory, next_start, next_state, goal, pair, places[n], losses[n], contexts[n], direction)


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
    gram, inverse = np.eye(SIZE), np.eye(SIZE)
    add_all.compiled(gram, inverse, whole / UNIT, np.zeros(SIZE))
    assert distance(inverse, exact_inverse(as_fractions(gram))) <= 1e-9
    np.testing.assert_array_equal(inverse, inverse.T)

    # The sums themselves round a million times: by 2^-53 * 1e6 = 1.1e-10 at worst, and by less than 2e-11 here. A
    # condition number of 1e5 makes 1e-6 of that in the inverse, in directions that were hardly ever seen.
    exact = exact_gram(whole)
    np.testing.assert_allclose(gram, np.array(exact, dtype=np.float64), rtol=2e-11)
    exact = exact_inverse(exact)
    assert distance(inverse, exact) <= 1e-6

    # It hardly touches the norm of the contexts that were seen, which is what the inverse is for.
    for n in range(3):
        context = [Fraction(int(x), UNIT) for x in whole[n]]
        norm = sum(context[r] * exact[r][c] * context[c] for r in range(SIZE) for c in range(SIZE))
        assert quadratic.python(inverse, whole[n] / UNIT) == pytest.approx(float(norm), rel=1e-8)


def test_the_million_steps_end_just_before_the_inverse_is_computed_anew() -> None:
    assert (STEPS + 1) % REFRESH == 0


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


def recorded(place: Whole, loss: Whole, shares: Whole, *, form: str) -> Memory:
    memory = fresh_memory(2, 7, 2, 1.0)
    getattr(record_all, form)(
        memory, NEXT_START, NEXT_STATE, 8, 1, place, loss / 4.0, shares / 4.0, np.zeros(2)
    )  # fmt: skip
    return memory


@examples(50)
@given(quarter_steps())
def test_sums_are_the_naive_sums_and_slots_are_given_in_the_order_of_first_sight(
    steps: tuple[Whole, Whole, Whole],
) -> None:
    place, loss, shares = steps
    memory = recorded(place, loss, shares, form="python")
    assert memory.visits.tolist() == [0, len(place)]
    np.testing.assert_array_equal(memory.gram[1], np.eye(2) + shares.T @ shares / 16.0)
    np.testing.assert_array_equal(memory.loss_sums[1], loss @ shares / 16.0)
    np.testing.assert_array_equal(memory.goal_sums[1], shares[place == 6].sum(axis=0) / 4.0)

    first_seen = list(dict.fromkeys(p for p in place.tolist() if p != 6))
    assert memory.seen.tolist() == [0, len(first_seen)]
    assert memory.slot_state[2 : 2 + len(first_seen)].tolist() == NEXT_STATE[first_seen].tolist()
    for slot, p in enumerate(first_seen):
        assert memory.slot[p] == slot
        np.testing.assert_array_equal(memory.next_sums[2 + slot], shares[place == p].sum(axis=0) / 4.0)
    never = [p for p in range(7) if p not in first_seen]
    assert (memory.slot[never] == -1).all()
    assert not memory.next_sums[2 + len(first_seen) :].any()


@given(quarter_steps())
def test_the_other_pair_is_as_if_nothing_had_happened(steps: tuple[Whole, Whole, Whole]) -> None:
    memory, fresh = recorded(*steps, form="python"), fresh_memory(2, 7, 2, 1.0)
    for name in ("gram", "inverse", "loss_sums", "goal_sums", "visits", "seen"):
        np.testing.assert_array_equal(getattr(memory, name)[0], getattr(fresh, name)[0])
    assert not memory.next_sums[:2].any()


@given(quarter_steps())
def test_steps_recorded_by_python_and_compiled_are_the_same_to_the_bit(steps: tuple[Whole, Whole, Whole]) -> None:
    for one, other in zip(recorded(*steps, form="python"), recorded(*steps, form="compiled"), strict=True):
        assert one.tobytes() == other.tobytes()


@given(contexts(3), st.integers(0, 2**32 - 1))
def test_norms_and_ridge_coefficients_are_those_of_numpy(context: NDArray[np.float64], seed: int) -> None:
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(3, 3))
    inverse, sums = np.linalg.inv(np.eye(3) + factor @ factor.T), rng.normal(size=(5, 3))
    inverse = 0.5 * (inverse + inverse.T)
    assert quadratic.python(inverse, context) == pytest.approx(context @ inverse @ context, rel=1e-13)
    out = np.full((6, 3), np.nan)
    ridge.python(sums, inverse, 5, out)
    np.testing.assert_allclose(out[:5], sums @ inverse, rtol=1e-12, atol=1e-14)
    assert np.isnan(out[5]).all()  # only the rows asked for


def test_a_norm_that_rounds_below_zero_is_zero() -> None:
    assert quadratic.python(np.array([[-1e-20]]), np.array([1.0])) == 0.0
