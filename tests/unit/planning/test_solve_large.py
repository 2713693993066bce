"""Problems too large to be run as Python: the compiled planner against checks written here, in NumPy alone."""

import numpy as np
import pytest
from numpy.typing import NDArray

from goalbound import SSP, evaluate, solve
from goalbound.errors import NoProperPolicy
from goalbound.planning import Solution, Status, is_proper
from tests.support.large_problems import corridor, grid, mostly_zero, problem, random_exits, uniform


def backups(ssp: SSP, values: NDArray) -> NDArray:
    """[N] loss + P v, in extended precision, rows divided by their sums."""
    support = ssp.support
    p = ssp.probabilities.astype(np.longdouble)
    starts = support.next_start[:-1]
    mean = np.add.reduceat(p * values[support.next_state], starts) / np.add.reduceat(p, starts)
    return ssp.losses + mean


def assert_certificate(ssp: SSP, found: Solution, *, slack: float) -> None:
    """lower is below all its backups, upper above the policy's: so they bound v*, up to ``slack`` of the values."""
    support = ssp.support
    lower, upper = found.lower.astype(np.longdouble), found.upper.astype(np.longdouble)
    states = support.pair_state
    assert (lower[states] <= backups(ssp, lower) + slack * upper[states]).all()
    played = found.policy[states] == support.pair_action
    assert (upper[states[played]] >= backups(ssp, upper)[played] - slack * upper[states[played]]).all()
    assert is_proper(ssp, found.policy)
    assert (found.lower <= found.values).all()
    assert (found.values <= found.upper).all()


LARGE = {
    "a grid with drift": lambda: grid(75, 0.2, uniform),
    "a grid that wanders": lambda: grid(75, 1.0, uniform),
    "a grid of equal losses": lambda: grid(75, 0.2, np.ones),
    "a grid where half of the pairs are free": lambda: grid(75, 0.3, mostly_zero),
    "a grid of losses from 1e-8 to 1": lambda: grid(
        75, 0.3, lambda n: 10.0 ** -np.random.default_rng(1).uniform(0, 8, n)
    ),
    "random exits": lambda: random_exits(6000, 0.02),
    "random exits of 1e-7": lambda: random_exits(6000, 1e-7),
    "a corridor that drifts": lambda: corridor(40_000, 0.7),
    "a corridor that wanders for a billion steps": lambda: corridor(31_000, 0.5),
}


@pytest.mark.parametrize("make", LARGE.values(), ids=LARGE)
def test_bounds_of_large_problems_are_narrow_and_hold(make: object) -> None:
    ssp = make()  # type: ignore[operator]
    found = solve(ssp)
    assert found.status == Status.CONVERGED
    assert ((found.upper - found.lower) <= 1e-9 * found.upper).all()
    # The bounds may use all of the width that they were given: steps * slack must stay below it.
    assert_certificate(ssp, found, slack=1e-15)
    worth = evaluate(ssp, found.policy)
    assert worth.status == Status.CONVERGED
    np.testing.assert_allclose(worth.values, found.values, rtol=2e-9)


@pytest.mark.parametrize("length", [100, 150])
def test_values_that_differ_by_hundreds_of_orders_are_all_right(length: int) -> None:
    # Only place 0 has a loss, 1, and sends ahead; elsewhere 0.9 ahead and 0.1 back, or a decoy with 0.8 and 0.2, all
    # free. Best: v(0) - v(1) = 1 and v(i) = 0.9 v(i + 1) + 0.1 v(i - 1), so v(i) = (r^i - r^n) / (1 - r), r = 1/9.
    place = np.arange(length)
    inner = place[1:]
    edges = [(place[:1], 0, np.array([1]), 1.0)]
    for action, ahead in ((0, 0.8), (1, 0.9)):
        edges += [(inner, action, inner + 1, ahead), (inner, action, inner - 1, 1 - ahead)]
    copies = 300  # side by side, to be too many for elimination
    many = [
        (np.concatenate([s + k * length for k in range(copies)]), a,
         np.concatenate([np.where(t == length, copies * length, t + k * length) for k in range(copies)]), p)
        for s, a, t, p in edges
    ]  # fmt: skip
    ssp = problem(copies * length, *many, losses=lambda n: np.tile(np.arange(n // copies) == 0, copies).astype(float))
    found = solve(ssp)
    assert found.status == Status.CONVERGED
    r = (1 - 0.9) / 0.9
    expected = (r**place - r**length) / (1 - r)
    assert expected[-2] < 10.0 ** -(0.9 * length)
    np.testing.assert_allclose(found.values[:-1], np.tile(expected, copies), rtol=1e-8)


def test_lost_states_of_a_large_problem_are_named_and_left_out() -> None:
    rng = np.random.default_rng(0)
    states, trap = 30_000, 29_900
    place = np.arange(states)
    ahead = np.where(place < trap, rng.integers(0, trap, states), rng.integers(trap, states, states))
    edges = [
        (place, 0, ahead, 0.5), (place[:trap], 0, np.int64(states), 0.5), (place[trap:], 0, place[trap:], 0.5),
        (place[:trap], 1, np.full(trap, trap), 1.0),
    ]  # fmt: skip
    ssp = problem(states, *edges, losses=lambda n: np.full(n, 0.5))
    with pytest.raises(NoProperPolicy) as caught:
        solve(ssp)
    assert caught.value.states == tuple(range(trap, states))
    found = solve(ssp, unreachable="exclude")
    # Everyone else plays action 0: half a chance to end each step, so 0.5 / 0.5 = 1.
    np.testing.assert_allclose(found.values[:trap], 1.0, rtol=1e-9)
    assert np.isinf(found.values[trap:-1]).all()
    assert (found.policy[trap:] == -1).all()
