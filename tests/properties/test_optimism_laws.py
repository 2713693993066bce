"""Laws of optimistic planning: below the truth, monotone, the same from everywhere and compiled or not."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.models import SSP, BallSet, LinearCSSP
from goalbound.planning import Status, is_proper, solve
from goalbound.planning.extended_value_iteration import OptimisticSolution, extended_value_iteration
from tests.reference.optimism import optimistic_values
from tests.support.kernel_forms import COMPILED, PYTHON, kernels
from tests.support.strategies import contexts, examples, linear_cssps, ssps

Floats = NDArray[np.float64]


def with_positive_losses(ssp: SSP) -> SSP:
    """The same problem with losses in [0.25, 1]."""
    return SSP(ssp.support, 0.25 + 0.75 * ssp.losses, ssp.probabilities)


@st.composite
def sets_around(draw: st.DrawFn, truth: SSP) -> BallSet:
    """A set that holds the truth: its rows are moved, and the radii are what they were moved by, or more."""
    support = truth.support
    eighths = st.lists(st.integers(0, 8), min_size=support.pairs, max_size=support.pairs)
    seed = draw(st.integers(0, 2**32 - 1))
    share = np.repeat(np.array(draw(eighths)) / 16.0, np.diff(support.next_start))
    noise = np.random.default_rng(seed).random(support.triples)
    others = noise / np.repeat(np.add.reduceat(noise, support.next_start[:-1]), np.diff(support.next_start))
    rows = (1.0 - share) * truth.probabilities + share * others  # a mixture of distributions is one
    apart = np.where(support.next_state < support.states, rows - truth.probabilities, 0.0)
    radii = np.sqrt(np.add.reduceat(apart * apart, support.next_start[:-1])) + np.array(draw(eighths)) / 80.0
    low = truth.losses * (1.0 - np.array(draw(eighths)) / 10.0)
    return BallSet(support, low, np.minimum(truth.losses + 0.1, 1.0), np.clip(rows, 0.0, 1.0), radii)


@st.composite
def truths(draw: st.DrawFn) -> SSP:
    """A linear contextual problem under one of its contexts, all losses positive, some rows with zeros."""
    problem: LinearCSSP = draw(linear_cssps(proper=True))
    return with_positive_losses(problem.at(draw(contexts(problem.context_size))))


def centres_of(plausible: BallSet) -> list[Floats]:
    support = plausible.support
    rows = [support.row(pair) for pair in range(support.pairs)]
    return [plausible.rows[row][plausible.to_state[row]] for row in rows]


def grown(plausible: BallSet, extra: float) -> BallSet:
    return BallSet(plausible.support, plausible.loss_low, plausible.loss_high, plausible.rows, plausible.radii + extra)


def moderate(ssp: SSP) -> bool:
    """Whether plain value iteration gets there in a test's time."""
    return bool(solve(ssp).values.max() < 100.0)


@examples(40)
@given(truths(), st.data())
def test_optimistic_values_never_exceed_the_true_ones(truth: SSP, data: st.DataObject) -> None:
    plausible = data.draw(sets_around(truth))
    assert plausible.contains(truth)
    optimal = solve(truth)
    found = extended_value_iteration(plausible, tolerance=1e-3, sweeps=2_000)
    # whatever the status: the values are lower bounds of the optimistic ones, which are below the truth
    assert (found.values <= optimal.upper * (1.0 + 1e-12)).all()


@examples(25)
@given(truths(), st.data())
def test_values_and_upper_enclose_the_witness_from_any_start(truth: SSP, data: st.DataObject) -> None:
    plausible = data.draw(sets_around(truth))
    if moderate(truth):
        exact = optimistic_values(plausible.support, plausible.loss_low, centres_of(plausible), plausible.radii)
        factor = data.draw(st.sampled_from([0.0, 0.5, 1.0, 3.0, 1e5]))
        for start in (None, factor * exact, factor * solve(truth).values):
            found = extended_value_iteration(plausible, tolerance=1e-4, start=start)
            assert found.status is Status.CONVERGED
            # the witness is below the fixed point by a factor of at most 1 - 2e-10
            assert (found.values <= exact * (1.0 + 3e-10)).all()
            assert (found.upper >= exact * (1.0 - 1e-12)).all()
            assert (found.upper <= found.values * (1.0 + 3e-4)).all()


@examples(25)
@given(truths(), st.data())
def test_larger_radii_give_values_no_larger(truth: SSP, data: st.DataObject) -> None:
    plausible = data.draw(sets_around(truth))
    if moderate(truth):
        values = [
            extended_value_iteration(grown(plausible, extra), tolerance=1e-8).values for extra in (0.0, 0.01, 0.2, 2.0)
        ]
        for smaller, larger in pairwise(values):
            assert (larger <= smaller * (1.0 + 3e-8)).all()
        np.testing.assert_allclose(values[-1], shortest_ways(plausible), rtol=1e-7)


def shortest_ways(plausible: BallSet) -> Floats:
    """[S + 1] the least losses where every pair leads to whichever of its next states it likes: Bellman and Ford."""
    support = plausible.support
    values = np.append(np.full(support.states, np.inf), 0.0)
    for _ in range(support.states):
        for pair, state in enumerate(support.pair_state):
            best = plausible.loss_low[pair] + values[support.next_state[support.row(pair)]].min()
            values[state] = min(values[state], best)
    return values


@examples(40)
@given(ssps(proper=True))
def test_without_radii_the_values_are_those_of_the_exact_planner(ssp: SSP) -> None:
    truth = with_positive_losses(ssp)
    if moderate(truth):
        certain = BallSet(truth.support, truth.losses, truth.losses, truth.probabilities, np.zeros(truth.support.pairs))
        found, exact = extended_value_iteration(certain, tolerance=1e-8), solve(truth)
        np.testing.assert_allclose(found.values, exact.values, rtol=3e-8)
        assert (found.values <= exact.upper).all()
        assert (found.upper >= exact.lower).all()


@examples(25)
@given(truths(), st.data())
def test_the_policy_is_proper_in_the_optimistic_model_and_best_there(truth: SSP, data: st.DataObject) -> None:
    plausible = data.draw(sets_around(truth))
    if moderate(truth):
        found = extended_value_iteration(plausible, tolerance=1e-8)
        model = found.model()
        assert is_proper(model, found.policy)
        np.testing.assert_allclose(solve(model).values, found.values, rtol=1e-6)


@examples(20)
@given(truths(), st.data())
def test_a_neighbours_values_are_a_start_that_is_not_seen_in_the_answer(truth: SSP, data: st.DataObject) -> None:
    plausible, other = data.draw(sets_around(truth)), data.draw(sets_around(truth))
    if moderate(truth):
        begin = extended_value_iteration(other).values
        warm, cold = (extended_value_iteration(plausible, tolerance=1e-7, start=start) for start in (begin, None))
        np.testing.assert_allclose(warm.values, cold.values, rtol=3e-7)


def planned(plausible: BallSet, start: Floats | None, way: dict[str, object]) -> OptimisticSolution:
    with kernels(way):
        return extended_value_iteration(plausible, start=start, sweeps=300)


@examples(30)
@given(truths(), st.data())
def test_python_and_compiled_give_the_same_bits(truth: SSP, data: st.DataObject) -> None:
    plausible = data.draw(sets_around(truth))
    for start in (None, np.full(truth.support.states + 1, 7.0)):
        one, other = planned(plausible, start, PYTHON), planned(plausible, start, COMPILED)
        assert (one.status, one.sweeps) == (other.status, other.sweeps)
        for name in ("values", "upper", "policy", "rows", "losses"):
            assert getattr(one, name).tobytes() == getattr(other, name).tobytes()


@given(truths(), st.data())
def test_a_floor_of_zero_is_an_error(truth: SSP, data: st.DataObject) -> None:
    plausible = data.draw(sets_around(truth))
    low = plausible.loss_low.copy()
    low[data.draw(st.integers(0, len(low) - 1))] = 0.0
    free = BallSet(plausible.support, low, plausible.loss_high, plausible.rows, plausible.radii)
    with pytest.raises(ValueError, match="may have loss 0"):
        extended_value_iteration(free)
