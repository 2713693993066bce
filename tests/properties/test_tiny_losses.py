"""Losses near the smallest floats, where rounding is absolute: what is said of an answer is true all the same.

Every answer is held against exact fractions. Problems are drawn anew from a seed: losses from 5e-324 to 1e-305, alone
or beside ordinary ones, and exits with probabilities down to 1e-320.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from goalbound.errors import InputError
from goalbound.models import SSP, BallSet, LinearCSSP, Support
from goalbound.planning import (
    BoundStatus,
    Status,
    context_bounds,
    evaluate,
    extended_value_iteration,
    hitting_times,
    optimal_values,
    solve,
)
from tests.reference import exact
from tests.reference.certified import assert_bounds
from tests.reference.rows import Row
from tests.support.strategies import EXAMPLES_FACTOR

SMALLEST = 5e-324
Seeds = range(25 * EXAMPLES_FACTOR)


def tiny_losses(rng: np.random.Generator, shape: tuple[int, ...], *, zero: bool = True) -> np.ndarray:
    odd = np.array([SMALLEST, 2 * SMALLEST, 1e-320, 1e-300, 1e-200, 0.0 if zero else 1e-310])
    tiny = np.where(rng.random(shape) < 0.7, 10.0 ** rng.uniform(-323.3, -305.0, shape), rng.choice(odd, shape))
    kind = rng.integers(4)
    if kind == 0:
        return tiny
    if kind == 1:
        return np.where(rng.random(shape) < 0.5, tiny, rng.random(shape))
    if kind == 2:
        return rng.integers(0 if zero else 1, 5, shape) * SMALLEST
    return 10.0 ** rng.uniform(-323.0, 0.0, shape)


def drawn_rows(rng: np.random.Generator, shape: tuple[int, ...], states: int) -> np.ndarray:
    rows = rng.dirichlet(np.full(states + 1, 0.5), shape)
    if rng.random() < 0.3:
        rows[..., -1] *= 10.0 ** rng.uniform(-320.0, -3.0, shape)
        rows[..., :-1] *= ((1.0 - rows[..., -1]) / rows[..., :-1].sum(axis=-1))[..., None]
    return rows


def drawn_problem(rng: np.random.Generator, *, zero: bool = True) -> SSP:
    states, actions = (int(n) for n in rng.integers((1, 1), (5, 3)))
    return SSP.dense(
        tiny_losses(rng, (states, actions), zero=zero), drawn_rows(rng, (states, actions), states)
    )  # fmt: skip


def relative_errors(found: np.ndarray, wanted: list[exact.Value]) -> list[float]:
    """Of every number that is told; NaN tells nothing, and infinity must be right."""
    errors = []
    for one, other in zip(found.tolist(), wanted, strict=True):
        if math.isnan(one):
            continue
        if other in (0, math.inf):
            errors.append(0.0 if one == other else math.inf)
        else:
            errors.append(math.inf if math.isinf(one) else float(abs(Fraction(one) - other) / other))
    return errors


def test_a_mean_of_the_smallest_losses_is_not_called_converged_where_no_float_is_near_it() -> None:
    # state 0 leads to state 1 (loss 5e-324) or to the goal with 1/2 each at no loss: its value is 2.5e-324, and the
    # nearest floats are 0 and 5e-324
    ssp = SSP.from_transitions([(0, 0, 1, 0.5, 0.0), (0, 0, 2, 0.5, 0.0), (1, 0, 2, 1.0, SMALLEST)])
    found = evaluate(ssp, [0, 0])
    assert found.status is Status.ROUNDING
    assert found.error >= 1.0
    assert math.isnan(found.values[0])
    assert found.values[1] == SMALLEST


def test_tiny_losses_that_leave_digits_converge() -> None:
    # 100 steps of 1e-310 each: 1e-308 has 52 - 6 binary digits left, so a relative error of 1e-13 can be kept
    ssp = SSP.from_transitions((s, 0, s + 1, 1.0, 1e-310) for s in range(100))
    found = evaluate(ssp, np.zeros(100, dtype=np.int64))
    assert found.status is Status.CONVERGED
    assert found.values[0] == float(100 * Fraction(1e-310))


@pytest.mark.parametrize("seed", Seeds)
def test_an_evaluation_is_as_near_as_its_error_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(4):
        ssp = drawn_problem(rng)
        policy = rng.integers(ssp.support.actions, size=ssp.support.states).tolist()
        found = evaluate(ssp, policy)
        losses, steps = exact.policy_losses(ssp, policy), exact.policy_steps(ssp, policy)
        assert max(relative_errors(found.values, losses)) <= found.error
        assert max(relative_errors(found.hitting_times, steps)) <= found.error
        if found.status is Status.CONVERGED:
            assert found.error <= 1e-10
            assert not np.isnan(found.values).any()
        assert found.proper == (math.inf not in steps)
        assert max(relative_errors(hitting_times(ssp, policy), steps)) <= 1e-10


@pytest.mark.parametrize("seed", Seeds)
def test_solutions_bound_the_optimal_values_and_converged_ones_are_near(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    for _ in range(2):
        ssp = drawn_problem(rng)
        wanted = exact.optimal_values(ssp)
        found = solve(ssp, unreachable="exclude")
        assert_bounds(found, wanted)
        if found.status is Status.CONVERGED:
            assert max(relative_errors(found.values, wanted)) <= 1e-9 * (1.0 + 1e-9)


@pytest.mark.parametrize("seed", Seeds)
def test_values_under_contexts_are_near_or_refused_and_bounds_over_contexts_hold(seed: int) -> None:
    rng = np.random.default_rng(2000 + seed)
    size, states, actions = (int(n) for n in rng.integers((1, 1, 1), (3, 3, 3)))
    losses, rows = tiny_losses(rng, (size, states, actions)), drawn_rows(rng, (size, states, actions), states)
    problem = LinearCSSP.dense(losses, rows)
    points = np.vstack((np.eye(size), rng.dirichlet(np.ones(size), 2)))
    wanted = [exact.optimal_values(problem.at(point)) for point in points]
    with contextlib.suppress(ValuesUnknown):
        for values, true in zip(reported_values(problem, points), wanted, strict=True):
            assert max(relative_errors(values, true)) <= 1e-9 * (1.0 + 1e-9)
    bounds = context_bounds(problem, most_regions=20)
    assert max(max(values) for values in wanted) <= bounds.loss_bound.upper
    assert bounds.loss_bound.lower <= max(exact.optimal_values(problem.at(bounds.loss_bound.context)))
    for bound in (bounds.loss_bound, bounds.time_bound):
        if bound.status is BoundStatus.CONVERGED:
            assert bound.upper <= (1.0 + 0.01) * bound.lower
    for point, values in zip(points, wanted, strict=True):
        assert longest_optimal_time(problem.at(point), values) <= bounds.time_bound.upper


class ValuesUnknown(Exception):
    """No float is near enough to the values."""


def reported_values(problem: LinearCSSP, points: np.ndarray) -> np.ndarray:
    try:
        return optimal_values(problem, points)
    except InputError as error:
        if "ask for a larger tolerance" in str(error):
            raise ValuesUnknown from error
        raise


def longest_optimal_time(ssp: SSP, values: list[exact.Value]) -> exact.Value:
    """The most steps of a proper deterministic policy with the optimal values, by trying every policy."""
    longest: exact.Value = Fraction(0)
    for policy in itertools.product(range(ssp.support.actions), repeat=ssp.support.states):
        steps = max(exact.policy_steps(ssp, list(policy)))
        if steps < math.inf and exact.policy_losses(ssp, list(policy)) == values:
            longest = max(longest, steps)
    return longest


def test_optimistic_values_of_tiny_losses_are_those_of_larger_ones_scaled() -> None:
    # 0.2 / (1 - (0.5 - 0.1)) = 1/3 of the doctest, times 2^-700: the squares of such values are no floats
    tiny = 2.0**-700
    plain = BallSet(Support.full(1, 1), [0.2], [0.4], [0.5, 0.5], [0.1])
    small = BallSet(Support.full(1, 1), [0.2 * tiny], [0.4 * tiny], [0.5, 0.5], [0.1])
    one, other = extended_value_iteration(plain), extended_value_iteration(small)
    assert other.status is Status.CONVERGED
    np.testing.assert_allclose(other.values / tiny, one.values, rtol=1e-6)
    np.testing.assert_allclose(other.upper / tiny, one.upper, rtol=1e-6)


def test_optimistic_values_far_above_the_least_loss_are_not_called_converged() -> None:
    # the loop of state 0 is worth about 1 / 0.5; beside a least loss of 1e-13 the rounding of its backup is not small
    ssp = SSP.dense([[1.0], [1e-13]], [[[0.5, 0.0, 0.5]], [[0.0, 0.0, 1.0]]])
    rows = np.where(ssp.support.next_state < 2, ssp.probabilities, 0.0)
    found = extended_value_iteration(BallSet(ssp.support, ssp.losses, np.ones(2), rows, np.zeros(2)))
    assert found.status is Status.ROUNDING
    assert np.isinf(found.upper[:-1]).all()
    assert (found.values <= [2.0, 1e-13, 0.0]).all()


@pytest.mark.parametrize("seed", Seeds)
def test_optimistic_values_in_a_plain_model_bound_its_exact_ones(seed: int) -> None:
    rng = np.random.default_rng(3000 + seed)
    ssp = drawn_problem(rng, zero=False)
    support = ssp.support
    centres = np.where(support.next_state < support.states, ssp.probabilities * (1.0 - 1e-9), 0.0)
    plausible = BallSet(support, ssp.losses, np.ones(support.pairs), centres, np.zeros(support.pairs))
    found = extended_value_iteration(plausible, tolerance=1e-3, sweeps=5000)
    wanted = least_values(support, ssp.losses, centres)
    for lower, value, upper in zip(found.values.tolist(), wanted, found.upper.tolist(), strict=True):
        assert lower <= value <= upper
        if found.status is Status.CONVERGED:
            assert upper - lower <= 4e-3 * upper


def least_values(support: Support, losses: np.ndarray, centres: np.ndarray) -> list[exact.Value]:
    """[S + 1] over all policies, where what a row lacks to 1 goes to the goal."""
    choices: list[list[Row]] = [[] for _ in range(support.states)]
    for pair in range(support.pairs):
        where = range(int(support.next_start[pair]), int(support.next_start[pair + 1]))
        to = {int(support.next_state[k]): Fraction(float(centres[k])) for k in where if centres[k] > 0.0}
        to[support.states] = 1 - sum(to.values())
        state = int(support.pair_state[pair])
        choices[state].append(Row(int(support.pair_action[pair]), Fraction(float(losses[pair])), to))
    totals = [exact.total_losses(list(chain)) for chain in itertools.product(*choices)]
    return [min(values) for values in zip(*totals, strict=True)]
