"""Value iteration that evaluates policies in between, and the ceiling of values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.models import SSP
from goalbound.planning.extended_value_iteration import value_bounds
from goalbound.planning.kernels import value_iteration as kernels
from goalbound.planning.kernels.elimination import new_evaluation_workspace
from goalbound.planning.kernels.sparse_policy_iteration import sparse_policy_iteration
from goalbound.planning.kernels.value_iteration import L1_BALL, L2_BALL, UncertaintySet, ValueIterationState
from tests.reference.optimism import l1_minimum_by_sorting
from tests.reference.ridge_baselines import best_of_all_policies
from tests.support.strategies import examples, ssps
from tests.support.uncertainty_sets import (
    LEAST_LOSS as FLOOR,
)
from tests.support.uncertainty_sets import backups, iteration_from, plain_model, plausible_problems, sparse_workspace

Floats = NDArray[np.float64]

TOLERANCE = 1e-7
WAYS = ["sweeps", "elimination", "krylov"]
"""How policies are evaluated between sweeps: not at all, by elimination, or by the Krylov method."""


class Settled(NamedTuple):
    iteration: ValueIterationState
    sweeps: int
    lower: Floats
    upper: Floats


def settled(sets: UncertaintySet, *, way: str, start: float = FLOOR, tolerance: float = TOLERANCE) -> Settled:
    """Values from a start, with the bounds that their residual certifies."""
    states = len(sets.pair_start) - 1
    iteration = iteration_from(sets, np.array([*np.full(states, start), 0.0]))
    if way == "elimination":
        sweeps = kernels.policy_iteration.python(sets, iteration, tolerance, 100_000, new_evaluation_workspace(states))
    elif way == "krylov":
        with np.errstate(all="ignore"):  # of policies that never arrive
            sweeps = sparse_policy_iteration.python(sets, iteration, tolerance, 100_000, sparse_workspace(sets))
    else:
        sweeps = kernels.value_iteration.python(sets, iteration, tolerance, 100_000)
    assert iteration.progress["residual"] <= tolerance
    floor = float(sets.losses.min())
    return Settled(iteration, sweeps, *value_bounds(iteration.values, float(iteration.progress["residual"]), floor))


def rows_of(sets: UncertaintySet) -> list[dict[int, float]]:
    """Each row of a model as {next state: probability}."""
    rows = []
    for pair, first in enumerate(sets.next_start[:-1]):
        places = slice(first, first + sets.used[pair])
        rows.append(dict(zip(sets.state[places].tolist(), sets.centre[places].tolist(), strict=True)))
    return rows


def as_taking(sets: UncertaintySet) -> UncertaintySet:
    """The same rows; as much mass may be taken as the ball was wide."""
    sums = np.array([sum(row.values()) for row in rows_of(sets)])
    return sets._replace(shape=L1_BALL, ball=np.sqrt(sets.ball), mass=sums)


def best_backups(sets: UncertaintySet, values: Floats) -> Floats:
    """[S] one backup of every state, by the witnesses of the inner minimum."""
    best = []
    for s in range(len(sets.pair_start) - 1):
        if sets.shape == L2_BALL:
            worth = backups(sets, values, s)
        else:
            worth = [
                float(sets.losses[pair]) + l1_minimum_by_sorting(
                    np.array([*row.values()]), float(sets.ball[pair]), values[[*row]]
                )
                for pair, row in enumerate(rows_of(sets))
                if sets.pair_start[s] <= pair < sets.pair_start[s + 1]
            ]  # fmt: skip
        best.append(min(*worth, sets.ceiling))
    return np.array(best)


@examples(25)
@given(plausible_problems(), st.booleans(), st.sampled_from([FLOOR, 3.0, 100.0]))
def test_in_both_shapes_all_ways_end_within_their_certificates(
    sets: UncertaintySet, taking: bool, start: float
) -> None:
    sets = as_taking(sets) if taking else sets
    sure, *quick = (settled(sets, way=way, start=start) for way in WAYS)
    for found in quick:
        assert (found.lower <= sure.upper).all()
        assert (sure.lower <= found.upper).all()
    for found in (sure, *quick):
        again = best_backups(sets, found.iteration.values)
        room = found.iteration.progress["residual"] + 1e-11 * found.iteration.values.max()
        assert np.abs(again - found.iteration.values[:-1]).max() <= room


@examples(25)
@given(ssps(proper=False, most_states=3), st.sampled_from([1.0, 2.5, 7.0]), st.sampled_from(WAYS))
def test_no_value_is_above_the_ceiling_and_below_it_all_is_as_it_was(ssp: SSP, ceiling: float, way: str) -> None:
    # The witness: a ceiling is one more choice in every state, to pay it and be at the goal.
    model = plain_model(ssp)._replace(ceiling=ceiling)
    found = settled(model, way=way)
    exact = best_of_all_policies(model.pair_start, model.losses.tolist(), rows_of(model), ceiling=ceiling)
    assert found.iteration.values.max() <= ceiling
    np.testing.assert_allclose(found.iteration.values, exact, rtol=3.0 * TOLERANCE / FLOOR)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("start", [0.1, 50.0])
def test_what_never_arrives_ends_at_the_ceiling(way: str, start: float) -> None:
    # States 0 and 1 lead to one another for ever; state 2 leads to the goal, or to them.
    ssp = SSP.dense(
        [[0.3, 1.0], [0.7, 1.0], [0.2, 0.1]],
        [[[0, 1, 0, 0], [1, 0, 0, 0]], [[1, 0, 0, 0], [0, 1, 0, 0]], [[0, 0, 0, 1], [1, 0, 0, 0]]],
    )
    model = plain_model(ssp)._replace(ceiling=20.0)
    found = settled(model, way=way, start=start)
    assert found.iteration.values.tolist() == [20.0, 20.0, 0.2, 0.0]
    assert found.iteration.policy[2] == 4
