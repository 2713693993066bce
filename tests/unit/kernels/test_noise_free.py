"""Losses without noise: intervals held against a linear program, and when a loss contradicts those before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog

from goalbound.kernels.noise_free import (
    LOSS_TOLERANCE,
    NoiseFreeState,
    contradicts,
    learn_noise_free,
    merge_noise_free,
    new_noise_free_state,
    noise_free_interval,
)

Floats = NDArray[np.float64]


def seen(p: Floats, contexts: Floats) -> NoiseFreeState:
    state = new_noise_free_state(1, len(p))
    for context in contexts:
        learn_noise_free.python(state, 0, context, float(context @ p))
    return state


def interval(state: NoiseFreeState, context: Floats) -> tuple[float, float]:
    low, high, _ = noise_free_interval.python(state, 0, context)
    return float(low), float(high)


@given(st.integers(1, 5), st.integers(0, 6), st.integers(0, 2**32))
def test_the_interval_holds_all_losses_that_agree_with_what_was_seen(size: int, count: int, seed: int) -> None:
    """The exact interval is the solution of two linear programs: it is never wider than ours."""
    rng = np.random.default_rng(seed)
    p, contexts, at = rng.random(size), rng.dirichlet(np.ones(size), count), rng.dirichlet(np.ones(size))
    low, high = interval(seen(p, contexts), at)
    for sign, ours in ((1.0, low), (-1.0, -high)):
        found = linprog(
            sign * at,
            A_eq=contexts if count else None,
            b_eq=contexts @ p if count else None,
            bounds=[(0.0, 1.0)] * size,
        )
        if found.success:
            assert ours <= found.fun + 1e-7
    assert low <= at @ p + 1e-12 <= high + 2e-12


@given(st.integers(1, 6), st.integers(0, 2**32))
def test_a_loss_is_exact_after_as_many_independent_contexts_as_there_are_components(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, contexts = rng.random(size), 0.5 * np.eye(size) + 0.5 * rng.dirichlet(np.ones(size), size)
    state = seen(p, contexts)
    assert state.count[0] == size
    at = rng.dirichlet(np.ones(size))
    low, high = interval(state, at)
    assert high - low <= 1e-6
    assert low - 1e-9 <= at @ p <= high + 1e-9


def test_one_context_says_its_own_loss_and_little_of_others() -> None:
    state = seen(np.array([0.2, 0.6]), np.array([[0.5, 0.5]]))
    assert interval(state, np.array([0.5, 0.5])) == pytest.approx((0.4, 0.4))
    # p_1 = 0.8 - p_2, and p_2 is from 0 to 1: at the first corner 0.8 - p_2; at (0.6, 0.4) it is 0.48 - 0.2 p_2.
    assert interval(state, np.array([1.0, 0.0])) == pytest.approx((0.0, 0.8))
    assert interval(state, np.array([0.6, 0.4])) == pytest.approx((0.28, 0.48))


def test_losses_that_cannot_be_are_found_and_rounding_is_not_one() -> None:
    p, contexts = np.array([0.2, 0.6]), np.array([[1.0, 0.0], [0.3, 0.7]])
    state, at = seen(p, contexts), np.array([0.5, 0.5])
    assert not contradicts.python(state, 0, at, 0.4 + 0.5 * LOSS_TOLERANCE)
    assert contradicts.python(state, 0, at, 0.4 + 1e-6)
    assert contradicts.python(state, 0, at, 0.4 - 1e-6)


def test_equations_of_two_learners_are_those_of_one() -> None:
    p = np.array([0.2, 0.6, 0.9])
    one, other = seen(p, np.array([[1.0, 0.0, 0.0]])), seen(p, np.array([[0.2, 0.8, 0.0], [0.1, 0.1, 0.8]]))
    merge_noise_free.python(one, other, 0)
    assert one.count[0] == 3
    assert interval(one, np.array([0.2, 0.3, 0.5])) == pytest.approx([0.67] * 2, abs=1e-7)

    wrong = seen(p + 0.05, np.array([[1.0, 0.0, 0.0]]))
    merge_noise_free.python(one, wrong, 0)
    assert one.contradiction["found"] == 1
    assert one.contradiction["loss"] == pytest.approx(0.25)
