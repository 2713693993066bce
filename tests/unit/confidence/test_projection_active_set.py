"""The projection for given sets of zeros and full columns, against the dense linear system of its conditions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.confidence import projection as kernels
from goalbound.confidence.projection import ProjectionWorkspace, new_projection_workspace
from tests.support.estimates import any_rows, drawn_rows
from tests.support.strategies import examples

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Guess(NamedTuple):
    """Rows [m, d], a Gram matrix [d, d], and what is taken to hold: entries [m, d] that are 0, columns [d] of sum 1."""

    rows: Floats
    gram: Floats
    fixed: Mask
    tight: Mask

    def workspace(self) -> ProjectionWorkspace:
        scratch = new_projection_workspace(*self.rows.shape)
        scratch.target[:] = self.rows
        scratch.fixed[:] = self.fixed
        scratch.tight[:] = self.tight
        scratch.scale[0] = max(1.0, float(np.abs(self.rows).max()))
        return scratch


def masks(size: int) -> st.SearchStrategy[Mask]:
    return st.lists(st.booleans(), min_size=size, max_size=size).map(lambda mask: np.array(mask, dtype=np.bool_))


@st.composite
def guesses(draw: st.DrawFn) -> Guess:
    rows, _, gram = draw(any_rows())
    return Guess(rows, gram, draw(masks(rows.size)).reshape(rows.shape), draw(masks(len(gram))))


class Solved(NamedTuple):
    """Whether there is an optimum, and where: rows [m, d], multipliers [d]."""

    found: bool
    rows: Floats
    multiplier: Floats


def by_kernel(guess: Guess, *, anew: bool, form: str = "python", inverse: Floats | None = None) -> Solved:
    scratch, rows = guess.workspace(), np.full_like(guess.rows, np.nan)
    inverse = np.linalg.inv(guess.gram) if inverse is None else inverse
    run = getattr(kernels.solve_active_set, form)
    return Solved(bool(run(guess.gram, inverse, len(rows), scratch, anew, rows)), rows, scratch.multiplier)


def by_linear_system(guess: Guess) -> Solved:
    """V (p_r - t_r) + mu = 0 at the free entries of each row r; 0 at the others; tight columns sum to 1, and the
    others have mu = 0. One dense system of m d + d unknowns."""
    m, d = guess.rows.shape
    matrix, right = np.zeros((m * d + d, m * d + d)), np.zeros(m * d + d)
    for r in range(m):
        for j in range(d):
            at = r * d + j
            if guess.fixed[r, j]:
                matrix[at, at] = 1.0
                continue
            matrix[at, r * d : (r + 1) * d] = guess.gram[j]
            matrix[at, m * d + j] = 1.0
            right[at] = guess.gram[j] @ guess.rows[r]
    for j in range(d):
        matrix[m * d + j, np.arange(m) * d + j if guess.tight[j] else m * d + j] = 1.0
        right[m * d + j] = float(guess.tight[j])
    if (guess.tight & guess.fixed.all(axis=0)).any():
        return Solved(False, guess.rows, right)
    answer = np.linalg.solve(matrix, right)
    return Solved(True, answer[: m * d].reshape(m, d), answer[m * d :])


@examples(150)
@given(guesses(), st.booleans())
def test_the_optimum_solves_the_linear_system_of_its_conditions(guess: Guess, anew: bool) -> None:
    wanted, got = by_linear_system(guess), by_kernel(guess, anew=anew)
    assert got.found == wanted.found
    if wanted.found:
        size = max(1.0, float(np.abs(guess.rows).max()))
        np.testing.assert_allclose(got.rows, wanted.rows, rtol=0.0, atol=1e-10 * size)
        np.testing.assert_allclose(
            got.multiplier, wanted.multiplier, rtol=0.0, atol=1e-9 * size * np.abs(guess.gram).max()
        )
        assert not got.rows[guess.fixed].any()


@examples(80)
@given(guesses())
def test_a_row_and_its_response_are_those_of_the_free_block_both_ways(guess: Guess) -> None:
    scratch, rows = guess.workspace(), np.empty_like(guess.rows)
    d = len(guess.gram)
    for r, zeros in enumerate(guess.fixed):
        free = ~zeros
        block = np.zeros((d, d))
        block[np.ix_(free, free)] = np.linalg.inv(guess.gram[np.ix_(free, free)])
        # as one conditions a Gaussian on the entries that are 0
        wanted = np.where(free, guess.rows[r] + block @ guess.gram[:, zeros] @ guess.rows[r, zeros], 0.0)
        kernels.solve_row.python(np.linalg.inv(guess.gram), scratch, r, d, True, rows)
        np.testing.assert_allclose(rows[r], wanted, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(scratch.parts[r], block, rtol=0.0, atol=1e-9)
        kernels.solve_row_anew.python(guess.gram, scratch, r, d, rows)
        np.testing.assert_allclose(rows[r], wanted, rtol=0.0, atol=1e-11)
        np.testing.assert_allclose(scratch.parts[r], block, rtol=0.0, atol=1e-11)


def test_an_entry_at_zero_pulls_the_other_along() -> None:
    # The slope of the first entry is 0: 2 (p - 0.5) + 1 (0 + 0.25) = 0, so p = 0.375.
    guess = Guess(
        np.array([[0.5, -0.25]]),
        np.array([[2.0, 1.0], [1.0, 2.0]]),
        np.array([[False, True]]),
        np.array([False, False]),
    )
    for anew in (False, True):
        assert by_kernel(guess, anew=anew).rows == pytest.approx(np.array([[0.375, 0.0]]), abs=1e-15)
    # and what is left at the second is 1 (0.375 - 0.5) + 2 (0 + 0.25) = 0.375: not negative, so it belongs there
    scratch = guess.workspace()
    slope, rounding = kernels.slope_at.python(guess.gram, scratch, np.array([[0.375, 0.0]]), 0, 1)
    assert slope == 0.375
    assert 0.0 < rounding < 1e-12


def test_a_full_column_takes_the_same_from_each_row_by_its_multiplier() -> None:
    # 0.9 - mu / 2 and 0.5 - mu / 2 sum to 1 for mu = 0.4.
    guess = Guess(np.array([[0.9], [0.5]]), np.array([[2.0]]), np.zeros((2, 1), dtype=bool), np.array([True]))
    solved = by_kernel(guess, anew=False)
    assert solved.rows == pytest.approx(np.array([[0.7], [0.3]]), abs=1e-15)
    assert solved.multiplier == pytest.approx([0.4], abs=1e-15)


def test_a_full_column_without_a_free_entry_has_no_optimum() -> None:
    guess = Guess(np.array([[0.9, 0.2]]), np.eye(2), np.array([[True, False]]), np.array([True, False]))
    assert not by_kernel(guess, anew=False).found
    assert not by_kernel(guess, anew=True).found


@pytest.mark.parametrize("error", [1e-9, 1e-6, 1e-4])
def test_refinement_makes_up_for_an_inverse_that_has_lost_digits(error: float) -> None:
    rng = np.random.default_rng(7)
    rows, gram = drawn_rows(rng, 6, 4, spread=1.0, most=50)
    guess = Guess(rows, gram, rows < 0.02, np.array([True, False, True, False]))
    inverse = np.linalg.inv(gram)
    noise = error * rng.uniform(-1.0, 1.0, inverse.shape) * np.abs(inverse)
    wanted = by_linear_system(guess)
    got = by_kernel(guess, anew=False, inverse=inverse + (noise + noise.T) / 2.0)
    assert got.found
    np.testing.assert_allclose(got.rows, wanted.rows, rtol=0.0, atol=1e-11)


def test_how_far_the_equations_are_from_holding_is_counted_in_roundings() -> None:
    guess = Guess(np.array([[0.5], [0.5]]), np.array([[4.0]]), np.zeros((2, 1), dtype=bool), np.array([True]))
    scratch = guess.workspace()
    assert kernels.largest_slope.python(guess.gram, 2, scratch, np.array([[0.5], [0.5]])) == 0.0
    # The first is off by 1e-6: a slope of 4e-6, where 1e-13 of 4 may be rounding; the sum is off by as much.
    found = kernels.largest_slope.python(guess.gram, 2, scratch, np.array([[0.5 + 1e-6], [0.5]]))
    assert found == pytest.approx(1e-6 / 1e-13, rel=1e-6)


@examples(40)
@given(guesses(), st.booleans())
def test_both_forms_give_the_same_bits(guess: Guess, anew: bool) -> None:
    one, other = by_kernel(guess, anew=anew), by_kernel(guess, anew=anew, form="compiled")
    assert one.found == other.found
    assert one.rows.tobytes() == other.rows.tobytes()
    assert one.multiplier.tobytes() == other.multiplier.tobytes()


def test_a_workspace_has_room_for_the_longest_row_and_for_none() -> None:
    for longest, room in ((5, 5), (1, 1), (0, 1)):
        scratch = new_projection_workspace(longest, 3)
        assert scratch.target.shape == scratch.fixed.shape == scratch.trial.shape == (room, 3)
        assert scratch.parts.shape == (room, 3, 3)
        assert scratch.scale.tolist() == [1.0]
