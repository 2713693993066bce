"""Planning on problems whose answers are arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from goalbound.errors import InputError, NoProperPolicy
from goalbound.models import SSP
from goalbound.planning import Status, evaluate, is_proper, solve
from tests.reference import exact, graph
from tests.reference.certified import assert_bounds, assert_certified


def one_state(*actions: tuple[float, float]) -> SSP:
    """One state; each action has a loss and a probability of reaching the goal, else it stays."""
    return SSP.dense([[loss for loss, _ in actions]], [[[1.0 - p, p] for _, p in actions]])


def test_the_cheaper_drug_is_taken() -> None:
    # 0.5 once, or 0.25 a day for 4/3 days on average = 1/3
    found = solve(one_state((0.5, 1.0), (0.25, 0.75)))
    assert found.policy.tolist() == [1]
    assert found.values == pytest.approx([1 / 3, 0.0])
    assert found.hitting_times == pytest.approx([4 / 3, 0.0])


def test_equal_actions_go_to_the_lowest_number() -> None:
    # 0.5 once, or 0.25 twice on average
    assert solve(one_state((0.5, 1.0), (0.25, 0.5), (0.5, 1.0))).policy.tolist() == [0]
    assert solve(one_state((0.25, 0.5), (0.5, 1.0))).policy.tolist() == [0]
    assert solve(one_state((0.75, 1.0), (0.25, 0.5), (0.5, 1.0))).policy.tolist() == [1]


def test_all_losses_zero_still_means_reaching_the_goal() -> None:
    ssp = SSP.dense(np.zeros((2, 2)), [[[1, 0, 0], [0, 1, 0]], [[1, 0, 0], [0.5, 0, 0.5]]])
    found = solve(ssp)
    assert found.values.tolist() == found.lower.tolist() == found.upper.tolist() == [0.0, 0.0, 0.0]
    assert found.policy.tolist() == [1, 1]
    assert found.hitting_times == pytest.approx([4.0, 3.0, 0.0])  # h0 = 1 + h1, h1 = 1 + h0 / 2
    assert found.status == Status.CONVERGED


def test_a_free_loop_is_cheaper_than_the_goal_and_is_not_taken() -> None:
    # staying costs nothing for ever; leaving costs 1/2: the best policy of all is improper, the best proper one pays
    ssp = one_state((0.0, 0.0), (0.5, 1.0))
    assert_certified(ssp, solve(ssp), [Fraction(1, 2), Fraction(0)])


def test_a_free_cycle_shares_the_cheapest_way_out() -> None:
    # 0 <-> 1 <-> 2 are free to walk; the goal costs 1 from 0, 1/2 from 1, 1/4 from 2
    ssp = SSP.from_transitions(
        [(0, 0, 1, 1.0, 0.0), (0, 1, 3, 1.0, 1.0), (1, 0, 2, 1.0, 0.0), (1, 1, 0, 1.0, 0.0), (1, 2, 3, 1.0, 0.5),
         (2, 0, 1, 1.0, 0.0), (2, 1, 3, 1.0, 0.25)]
    )  # fmt: skip
    found = solve(ssp)
    assert found.policy.tolist() == [0, 0, 1]
    assert_certified(ssp, found, [Fraction(1, 4)] * 3 + [Fraction(0)])


def test_a_tie_with_a_free_loop_goes_to_the_action_that_ends() -> None:
    # 0: free into 0 or 1, or finish for 7/8. 1: finish for 1, or back to 0 for free. Both are worth 7/8, and the free
    # action of 0 ties with the one that finishes: v0 = v0 / 2 + v1 / 2. Together the free actions never end.
    ssp = SSP.from_transitions(
        [(0, 0, 0, 0.5, 0.0), (0, 0, 1, 0.5, 0.0), (0, 1, 2, 1.0, 0.875), (1, 0, 2, 1.0, 1.0), (1, 1, 0, 1.0, 0.0)]
    )
    found = solve(ssp)
    assert found.policy.tolist() == [1, 1]
    assert_certified(ssp, found, [Fraction(7, 8), Fraction(7, 8), Fraction(0)])


def test_a_free_action_on_the_way_to_a_cheap_end_is_taken() -> None:
    # as before, but 1 finishes for 1/2: 0 goes there for free, though it may stay a while
    ssp = SSP.from_transitions(
        [(0, 0, 0, 0.5, 0.0), (0, 0, 1, 0.5, 0.0), (0, 1, 2, 1.0, 0.875), (1, 0, 2, 1.0, 0.5), (1, 1, 0, 1.0, 0.0)]
    )
    found = solve(ssp)
    assert found.policy.tolist() == [0, 0]
    assert_certified(ssp, found, [Fraction(1, 2), Fraction(1, 2), Fraction(0)])


@pytest.mark.parametrize("leave", [1e-6, 1e-9, 1e-12])
def test_a_tiny_exit_is_waited_for_to_the_last_digit(leave: float) -> None:
    ssp = one_state((1.0, leave))
    found = solve(ssp)
    assert_certified(ssp, found, exact.optimal_values(ssp))
    assert found.values[0] == pytest.approx(1.0 / leave, rel=2e-16 / leave + 1e-9)


@pytest.mark.parametrize("leave", [1e-6, 1e-9, 1e-12])
def test_a_tiny_exit_is_compared_with_a_known_price(leave: float) -> None:
    # 0 pays 2^-20 a step until it leaves; 1 leads there for free or finishes for 1: the better of 1 and 2^-20 / leave
    ssp = SSP.from_transitions(
        [(0, 0, 0, 1.0 - leave, 2.0**-20), (0, 0, 2, leave, 2.0**-20), (1, 0, 0, 1.0, 0.0), (1, 1, 2, 1.0, 1.0)]
    )
    found = solve(ssp)
    assert_certified(ssp, found, exact.optimal_values(ssp))
    assert found.policy[1] == (0 if 2.0**-20 / leave < 1.0 else 1)


@pytest.mark.parametrize("leave", [1e-6, 1e-9, 1e-12])
def test_a_tiny_exit_from_a_cycle_of_two(leave: float) -> None:
    ssp = SSP.from_transitions(
        [(0, 0, 1, 1.0, 0.5), (1, 0, 0, 1.0 - leave, 0.5), (1, 0, 2, leave, 0.5), (1, 1, 0, 1.0, 0.0)]
    )
    found = solve(ssp)
    values = exact.optimal_values(ssp)
    assert_bounds(found, values)
    if leave >= 1e-9 or found.status == Status.CONVERGED:
        assert_certified(ssp, found, values)


def test_a_corridor_of_several_hundred_thousand_expected_steps() -> None:
    # a walk on 0..599 that steps on with 1/2 and back with 1/2 (staying at 0), the goal after the last: the expected
    # steps from k are (n - k)(n + k + 1), so n (n + 1) = 360 600 from the start
    n = 600
    rows = [(s, 0, max(s - 1, 0), 0.5, 0.25) for s in range(n)] + [(s, 0, s + 1, 0.5, 0.25) for s in range(n)]
    ssp = SSP.from_transitions(rows)
    found = solve(ssp)
    steps = [Fraction((n - k) * (n + k + 1)) for k in range(n + 1)]
    assert found.status == Status.CONVERGED
    for lower, value, upper in zip(found.lower.tolist(), [s / 4 for s in steps], found.upper.tolist(), strict=True):
        assert lower <= value <= upper
        assert upper - lower <= 1e-9 * upper
    assert found.hitting_times == pytest.approx([float(s) for s in steps], rel=1e-8)


def test_a_biased_corridor_takes_exponentially_many_steps() -> None:
    # forward with 1/3, back with 2/3: about 2^(n + 1) steps; n = 20 gives millions
    n = 20
    rows = [(s, 0, max(s - 1, 0), 2 / 3, 1.0) for s in range(n)] + [(s, 0, s + 1, 1 / 3, 1.0) for s in range(n)]
    ssp = SSP.from_transitions(rows)
    values = exact.optimal_values(ssp)
    assert values[0] > 10**6
    assert_certified(ssp, solve(ssp), values)


def test_states_without_a_proper_policy_are_refused_by_name() -> None:
    ssp = SSP.from_transitions(
        [("a", "go", "goal", 1.0, 0.1), ("a", "risk", "pit", 1.0, 0.0), ("pit", "wait", "pit", 1.0, 0.5),
         ("edge", "slip", "pit", 0.5, 0.1), ("edge", "slip", "goal", 0.5, 0.1)]
    )  # fmt: skip
    with pytest.raises(NoProperPolicy) as caught:
        solve(ssp)
    assert tuple(caught.value.states) == (1, 2)
    assert '"pit"' in str(caught.value)
    assert '"edge"' in str(caught.value)
    assert isinstance(caught.value, InputError)


def test_excluding_them_solves_the_rest() -> None:
    ssp = SSP.from_transitions(
        [("a", "risk", "pit", 1.0, 0.0), ("a", "go", "goal", 1.0, 0.25), ("pit", "wait", "pit", 1.0, 0.0)]
    )
    found = solve(ssp, unreachable="exclude")
    assert found.values.tolist() == [0.25, math.inf, 0.0]
    assert found.hitting_times.tolist() == [1.0, math.inf, 0.0]
    assert found.policy.tolist() == [1, -1]
    assert found.lower[1] == found.upper[1] == math.inf


def test_where_nothing_reaches_the_goal_everything_is_named() -> None:
    ssp = one_state((0.5, 0.0), (0.0, 0.0))
    with pytest.raises(NoProperPolicy) as caught:
        solve(ssp)
    assert tuple(caught.value.states) == (0,)
    assert solve(ssp, unreachable="exclude").values.tolist() == [math.inf, 0.0]


def test_actions_keep_their_numbers_where_states_have_different_ones() -> None:
    ssp = SSP.from_transitions([(0, 7, 1, 1.0, 0.5), (1, 2, 2, 1.0, 0.5), (1, 4, 2, 1.0, 0.25)])
    found = solve(ssp)
    assert found.policy.tolist() == [7, 4]
    assert found.values.tolist() == pytest.approx([0.75, 0.25, 0.0])


def test_the_solution_of_a_policy_is_its_evaluation() -> None:
    generator = np.random.default_rng(5)
    transitions = generator.dirichlet(np.ones(41), size=(40, 4))
    ssp = SSP.dense(generator.random((40, 4)), transitions)
    found = solve(ssp)
    again = evaluate(ssp, found.policy)
    assert is_proper(ssp, found.policy)
    np.testing.assert_allclose(again.values, found.values, rtol=1e-8)
    np.testing.assert_allclose(again.hitting_times, found.hitting_times, rtol=1e-8)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-6, 1e-9, 1e-12])
def test_the_bounds_are_as_narrow_as_asked_and_the_values_between(tolerance: float) -> None:
    generator = np.random.default_rng(7)
    ssp = SSP.dense(generator.random((30, 3)), generator.dirichlet(np.full(31, 0.3), size=(30, 3)))
    found = solve(ssp, tolerance=tolerance)
    values = exact.policy_losses(ssp, solve(ssp).policy.tolist())
    assert_bounds(found, values)
    if tolerance >= 1e-9 or found.status == Status.CONVERGED:
        assert found.status == Status.CONVERGED
        assert (found.upper - found.lower <= tolerance * found.upper).all()


def nested(leave: float) -> SSP:
    """Two exits, one behind the other, and each failure begins again: about leave^-2 steps."""
    return SSP.from_transitions(
        [(0, 0, 0, 1.0 - leave, 1.0), (0, 0, 1, leave, 1.0), (1, 0, 0, 1.0 - leave, 1.0), (1, 0, 2, leave, 1.0)]
    )


def biased(n: int) -> SSP:
    """A corridor that is walked forward with 1/3 and back with 2/3: about 2^(n + 1) steps."""
    return SSP.from_transitions(
        [(s, 0, max(s - 1, 0), 2 / 3, 1.0) for s in range(n)] + [(s, 0, s + 1, 1 / 3, 1.0) for s in range(n)]
    )


def nearly_free(loss: float) -> SSP:
    """0 and 1 lead to each other, nearly for free; the goal costs 1 from 1."""
    return SSP.from_transitions([(0, 0, 1, 1.0, 0.0), (1, 0, 0, 1.0, loss), (1, 1, 2, 1.0, 1.0)])


@pytest.mark.parametrize(
    "ssp",
    [nested(1e-7), nested(1e-9), biased(30), biased(50)],
    ids=["nested 1e-7", "nested 1e-9", "biased 30", "biased 50"],
)
def test_values_up_to_1e18_are_certified(ssp: SSP) -> None:
    assert_certified(ssp, solve(ssp), exact.optimal_values(ssp))


def nearly_free_with_ends(loss: float) -> SSP:
    """As before, and the goal costs 1 from 0 too."""
    return SSP.from_transitions([(0, 0, 1, 1.0, 0.0), (0, 1, 2, 1.0, 1.0), (1, 0, 0, 1.0, loss), (1, 1, 2, 1.0, 1.0)])


def half_of_a_loss(loss: float) -> SSP:
    """0 comes to 1 with 1/2, for free; 1 pays the loss."""
    return SSP.from_transitions([(0, 0, 1, 0.5, 0.0), (0, 0, 2, 0.5, 0.0), (1, 0, 2, 1.0, loss)])


EXTREMES = {
    "nested exits of 1e-12": nested(1e-12),
    "nested exits of 1e-200": nested(1e-200),
    "a loop that costs 1e-17": nearly_free(1e-17),
    "a loop that costs 1e-17 with two ends": nearly_free_with_ends(1e-17),
    "a loop that costs 1e-300": nearly_free(1e-300),
    "an exit of 1e-200": one_state((1.0, 1e-200)),
    "a loss of 5e-324": one_state((5e-324, 0.5)),
    "half of the smallest loss": half_of_a_loss(5e-324),
    "an exit of 5e-324": one_state((1.0, 5e-324)),
}


@pytest.mark.parametrize("ssp", [pytest.param(ssp, id=name) for name, ssp in EXTREMES.items()])
def test_at_the_end_of_the_floats_bounds_hold_and_nothing_unproved_is_called_converged(ssp: SSP) -> None:
    found, values = solve(ssp), exact.optimal_values(ssp)
    assert_bounds(found, values)
    assert graph.is_proper(ssp, found.policy.tolist())
    if found.status == Status.CONVERGED:
        assert_certified(ssp, found, values)


@pytest.mark.parametrize("tolerance", [0.0, -1e-9, math.nan, math.inf])
def test_a_tolerance_is_a_positive_number(tolerance: float) -> None:
    with pytest.raises(ValueError, match="tolerance"):
        solve(one_state((0.5, 0.5)), tolerance=tolerance)


def test_the_arrays_of_a_solution_are_the_callers_to_keep() -> None:
    ssp = one_state((0.5, 0.5))
    first, second = solve(ssp), solve(ssp)
    assert first.values is not second.values
    np.testing.assert_array_equal(first.values, second.values)
