"""Loops of kernels end whatever the numbers are: those of a forged file may be anything, and nobody can end compiled
code. Every kernel below hung, or could hang, on some of these numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.learners.explore.posterior import to_simplex
from goalbound.planning.kernels.robust_evaluation import optimistic_backups, pessimistic_backups
from goalbound.planning.kernels.value_iteration import (
    INTERVAL_SET,
    L1_BALL,
    L2_BALL,
    doubled_beyond,
    inner_minimum,
    new_uncertainty_set,
)
from tests.support.strategies import examples

pytestmark = pytest.mark.timeout(60)

ODD = st.sampled_from([math.nan, math.inf, -math.inf, 1e308, -1e308, -1.0, 0.0, 5e-324, 0.25, 0.5, 1.0, 2.0])
FOUR = st.lists(ODD, min_size=4, max_size=4).map(np.array)


@examples(300)
@given(st.sampled_from([INTERVAL_SET, L1_BALL, L2_BALL]), FOUR, FOUR, FOUR, FOUR, ODD, ODD, ODD, ODD)
def test_inner_problems_end(shape, values, centre, low, high, ball, mass, dual, cutoff):
    sets = new_uncertainty_set(np.array([0, 1]), np.array([0, 4]), shape=shape, ceiling=math.inf)
    sets.used[:], sets.state[:], sets.centre[:] = 4, range(4), centre
    sets.ball[:], sets.mass[:] = ball, mass
    with np.errstate(all="ignore"):
        if shape == INTERVAL_SET:
            sets.low[:], sets.high[:] = low, high
            for kernel in (pessimistic_backups.python, optimistic_backups.python):
                kernel(sets, values, np.array([dual]), np.zeros(1), np.zeros(4))
        try:
            inner_minimum.python(sets, 0, values, dual, cutoff)
        except (ValueError, ZeroDivisionError):  # of Python's own numbers; compiled code goes on
            assert shape == L2_BALL


@examples(300)
@given(FOUR, st.booleans())
def test_projections_on_the_simplex_end(row, stochastic):
    with np.errstate(all="ignore"):
        to_simplex.python(row, stochastic)


@given(ODD, ODD)
def test_doubling_ends(bound, value):
    assert not doubled_beyond.python(bound, value) < value or not bound > 0.0
