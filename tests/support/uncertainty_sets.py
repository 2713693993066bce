"""Sets of plausible rows as value iteration takes them: one row, or small problems; and their backups one by one."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.models import SSP
from goalbound.models.arrays import Rows
from goalbound.planning.kernels.sparse_policy_iteration import SparseWorkspace, new_sparse_workspace
from goalbound.planning.kernels.value_iteration import (
    L2_BALL,
    UncertaintySet,
    ValueIterationState,
    new_value_iteration_state,
)
from tests.reference.optimism import inner_minimum
from tests.support.kernel_forms import python

Floats = NDArray[np.float64]
LEAST_LOSS = 0.1
"""Losses of plain models are raised to it."""


def plausible_row(centre: Floats, ball: float, loss: float = 0.1) -> UncertaintySet:
    """One pair of one state whose next states are 0, 1, ...; ``ball`` is the squared radius."""
    count = len(centre)
    return UncertaintySet(
        L2_BALL, np.inf,
        np.array([0, 1]), np.array([0, count]), np.array([count]), np.arange(count, dtype=np.int32),
        np.asarray(centre, dtype=np.float64), np.array([ball]), np.array([float(np.square(centre).sum())]),
        np.array([loss]), np.empty(0), np.empty(0), np.empty(0, dtype=np.int64),
    )  # fmt: skip


@st.composite
def plausible_problems(draw: st.DrawFn) -> UncertaintySet:
    """A few states with up to three pairs each; rows lack mass, some have no next state but the goal."""
    states = draw(st.integers(1, 4))
    pair_start, rows = [0], []
    for _ in range(states):
        for _ in range(draw(st.integers(1, 3))):
            shares = np.array(draw(st.lists(st.integers(0, 4), min_size=states + 1, max_size=states + 1)), dtype=float)
            shares[-1] += 1.0  # something is left for the goal, so that all values are moderate
            rows.append({s: share / shares.sum() for s, share in enumerate(shares[:-1]) if share > 0.0})
        pair_start.append(len(rows))
    pairs = len(rows)
    tenths = st.lists(st.integers(1, 10), min_size=pairs, max_size=pairs)
    centre = np.array([q for row in rows for q in row.values()])
    ball = np.square(np.array(draw(tenths)) / 20.0 - 0.05)
    return UncertaintySet(
        L2_BALL, np.inf,
        np.array(pair_start), np.cumsum([0, *map(len, rows)]), np.array([len(row) for row in rows]),
        np.array([s for row in rows for s in row], dtype=np.int32), centre, ball,
        np.array([sum(q * q for q in row.values()) for row in rows]), np.array(draw(tenths)) / 10.0, np.empty(0),
        np.empty(0), np.empty(0, dtype=np.int64),
    )  # fmt: skip


def backups(sets: UncertaintySet, values: Floats, state: int) -> list[float]:
    """The backup of each pair of a state, none skipped, by the bisection."""
    found = []
    for pair in range(sets.pair_start[state], sets.pair_start[state + 1]):
        first = sets.next_start[pair]
        row = slice(first, first + sets.used[pair])
        worth, _ = inner_minimum(sets.centre[row], math.sqrt(sets.ball[pair]), values[sets.state[row]], number=float)
        found.append(float(sets.losses[pair]) + worth)
    return found


def iteration_from(sets: UncertaintySet, values: Floats) -> ValueIterationState:
    iteration = new_value_iteration_state(len(values) - 1, len(sets.losses))
    iteration.policy[:] = sets.pair_start[:-1]
    iteration.values[:] = values
    return iteration


def plain_model(ssp: SSP) -> UncertaintySet:
    """A problem as kernels know it, its losses raised to the floor: a ball of radius 0 around each row."""
    support = ssp.support
    used = np.array([int((support.next_state[support.row(i)] != support.states).sum()) for i in range(support.pairs)])
    squares = [float(np.square(ssp.probabilities[support.row(i)][: used[i]]).sum()) for i in range(support.pairs)]
    return UncertaintySet(
        L2_BALL, np.inf, np.array(support.pair_start), np.array(support.next_start), used, np.array(support.next_state),
        np.array(ssp.probabilities), np.zeros(support.pairs), np.array(squares), np.maximum(ssp.losses, LEAST_LOSS),
        np.empty(0), np.empty(0), np.empty(0, dtype=np.int64),
    )  # fmt: skip


def sparse_workspace(sets: UncertaintySet) -> SparseWorkspace:
    """Room to evaluate policies by the Krylov method."""
    pair_state = np.repeat(np.arange(len(sets.pair_start) - 1, dtype=np.int32), np.diff(sets.pair_start))
    rows = Rows(sets.pair_start, sets.next_start, sets.state, np.empty(0), np.ones(len(sets.state)))
    return new_sparse_workspace(rows, pair_state, python)
