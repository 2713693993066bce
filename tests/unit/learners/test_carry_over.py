"""Sums that begin with something else, and supports that lack something."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.errors import ArgumentError
from goalbound.learners.carry_over import _rebased
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.models import Support
from tests.support.seen_steps import RAGGED

terms = st.lists(st.floats(0.0, 1.0), max_size=30)
ridges = st.sampled_from([1e-9, 0.01, 0.1, 1.0, 3.7, 1e9])


@given(terms, ridges, ridges)
def test_sums_that_begin_with_another_number_are_the_exact_ones_rounded_once(
    given: list[float], old: float, new: float
) -> None:
    """The witness adds fractions."""
    exact = sum(map(Fraction, given), Fraction(old))
    high = float(exact)
    low = float(exact - Fraction(high))
    found, rest = _rebased(np.array([high]), np.array([low]), np.array([old]), np.array([new]))
    wanted = exact - Fraction(old) + Fraction(new)
    error = abs(Fraction(float(found[0])) + Fraction(float(rest[0])) - wanted)
    assert error <= Fraction(2.0**-100) * (exact + Fraction(old) + wanted)
    assert abs(Fraction(float(found[0])) - wanted) <= Fraction(2.0**-52) * wanted + error


@given(terms)
def test_sums_that_begin_with_the_same_number_stay_as_they_are(given: list[float]) -> None:
    high, low = np.array([sum(given)]), np.array([1e-17])
    found, rest = _rebased(high, low, np.array([0.1]), np.array([0.1]))
    assert (found[0], rest[0]) == (high[0], low[0])


@pytest.mark.parametrize(
    ("support", "said"),
    [
        (
            Support.from_pairs([{0: [1]}], state_names=["a"], action_names=["x"]),
            'the learner: state "b" is not in the support',
        ),
        (
            Support.from_pairs([{0: [3]}, {0: [3]}, {0: [3]}], state_names=["a", "b", "c"], action_names=["x"]),
            'the learner: action "y" is not in the support',
        ),
        (Support.full(2, 3), "the learner: state 2 is not in the support, whose last is 1"),
        (Support.full(3, 2), "the learner: action 2 is not in the support, whose last is 1"),
        (Support.from_pairs([{0: [1, 3], 2: [3]}, {1: [3]}, {0: [3]}]), "which the support does not allow"),
        (
            Support.from_pairs([{0: [1, 3]}, {1: [3], 2: [3]}, {0: [3]}]),
            'the learner: state 0 ("a"), action 2 ("z") is not in the support',
        ),
    ],
)
def test_a_support_that_lacks_something_is_refused(support: Support, said: str) -> None:
    with pytest.raises(ArgumentError) as error:
        LRCSSP(RAGGED, 2, loss_floor=0.1).extended(support)
    assert said in str(error.value)
