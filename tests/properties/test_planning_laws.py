"""Laws that optimal values obey, whatever the problem."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from goalbound.models import SSP, LinearCSSP
from goalbound.planning import Solution, evaluate, solve
from tests.support.strategies import Table, action_sets, linear_cssps, losses, ssp_from, ssps, tables, weights

NARROW = 1e-9


def proper_tables() -> st.SearchStrategy[Table]:
    return action_sets(most_states=6, most_actions=3).flatmap(lambda actions: tables(actions, proper=True))


def with_losses(ssp: SSP, values: np.ndarray) -> SSP:
    return SSP(ssp.support, values, ssp.probabilities, ssp.start)


def assert_overlap(one: Solution, other: Solution) -> None:
    """Two certified answers to one question share a value."""
    assert (one.lower <= other.upper).all()
    assert (other.lower <= one.upper).all()


@given(ssps(proper=True, most_states=6), st.data())
def test_larger_losses_never_give_smaller_values(ssp: SSP, data: st.DataObject) -> None:
    shares = data.draw(st.lists(st.floats(0.0, 1.0), min_size=ssp.support.pairs, max_size=ssp.support.pairs))
    larger = solve(with_losses(ssp, ssp.losses + (1.0 - ssp.losses) * np.array(shares)))
    assert (solve(ssp).lower <= larger.upper).all()


@given(ssps(proper=True, most_states=6), st.integers(1, 30))
def test_losses_halved_halve_the_values(ssp: SSP, halvings: int) -> None:
    small = solve(with_losses(ssp, ssp.losses * 0.5**halvings))
    np.testing.assert_allclose(small.values * 2.0**halvings, solve(ssp).values, rtol=2 * NARROW)


@given(ssps(proper=True, most_states=6))
def test_one_component_is_no_context_at_all(ssp: SSP) -> None:
    alone = solve(LinearCSSP.mix([ssp]).at([1.0]))
    np.testing.assert_array_equal(alone.values, solve(ssp).values)
    np.testing.assert_array_equal(alone.policy, solve(ssp).policy)


@given(linear_cssps(proper=True))
def test_a_context_on_one_component_is_that_component(problem: LinearCSSP) -> None:
    for k, corner in enumerate(np.eye(problem.context_size)):
        np.testing.assert_array_equal(solve(problem.at(corner)).values, solve(problem.component(k)).values)


@given(proper_tables(), st.data())
def test_one_more_action_never_raises_a_value(table: Table, data: st.DataObject) -> None:
    state = data.draw(st.integers(0, len(table) - 1))
    row = data.draw(weights(list(range(len(table) + 1))))
    richer = [dict(actions) for actions in table]
    richer[state][3] = (data.draw(losses), row)
    assert (solve(ssp_from(richer)).lower <= solve(ssp_from(table)).upper).all()


@given(proper_tables())
def test_actions_given_twice_change_no_value_and_the_lower_number_is_played(table: Table) -> None:
    doubled = [{**actions, **{a + 3: row for a, row in actions.items()}} for actions in table]
    once, twice = solve(ssp_from(table)), solve(ssp_from(doubled))
    assert (twice.policy < 3).all()
    np.testing.assert_allclose(once.values, twice.values, rtol=2 * NARROW)


@given(proper_tables(), st.data())
def test_the_numbers_of_the_states_do_not_matter(table: Table, data: st.DataObject) -> None:
    size = len(table)
    new = [*data.draw(st.permutations(range(size))), size]
    moved: Table = [{} for _ in range(size)]
    for state, actions in enumerate(table):
        moved[new[state]] = {a: (loss, {new[t]: w for t, w in row.items()}) for a, (loss, row) in actions.items()}
    found = solve(ssp_from(table))
    again = solve(ssp_from(moved))
    np.testing.assert_allclose(again.values[new], found.values, rtol=2 * NARROW)
    assert (again.lower[new] <= found.upper).all()
    assert (found.lower <= again.upper[new]).all()


@given(proper_tables(), st.integers(0, 5))
def test_the_numbers_of_the_actions_do_not_matter(table: Table, shift: int) -> None:
    moved = [{2 * a + shift: row for a, row in actions.items()} for actions in table]
    found, again = solve(ssp_from(table)), solve(ssp_from(moved))
    np.testing.assert_array_equal(again.values, found.values)
    np.testing.assert_array_equal(again.policy, 2 * found.policy + shift)


@given(ssps(proper=True, most_states=6))
def test_the_policy_found_is_worth_the_value_found(ssp: SSP) -> None:
    found = solve(ssp)
    worth = evaluate(ssp, found.policy)
    np.testing.assert_allclose(worth.values, found.values, rtol=2 * NARROW)
    np.testing.assert_allclose(worth.hitting_times, found.hitting_times, rtol=1e-8)


@given(ssps(proper=True, most_states=6))
def test_the_values_solve_the_optimality_equations(ssp: SSP) -> None:
    found = solve(ssp)
    support = ssp.support
    after = np.add.reduceat(ssp.probabilities * found.values[support.next_state], support.next_start[:-1])
    best = np.minimum.reduceat(ssp.losses + after, support.pair_start[:-1])
    np.testing.assert_allclose(best, found.values[:-1], rtol=1e-8, atol=1e-12)


@given(ssps(proper=True, most_states=6))
def test_two_tolerances_give_bounds_that_share_a_value(ssp: SSP) -> None:
    assert_overlap(solve(ssp), solve(ssp, tolerance=1e-4))


@given(ssps(proper=True, most_states=6))
def test_solving_twice_gives_the_same_bits(ssp: SSP) -> None:
    one, two = solve(ssp), solve(ssp)
    for name in ("values", "policy", "lower", "upper", "hitting_times"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()
