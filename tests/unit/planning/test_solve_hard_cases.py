"""Problems on which a planner went wrong before, or easily might."""

import numpy as np
import pytest

from goalbound import SSP, context_bounds, solve
from goalbound.errors import NoProperPolicy
from goalbound.models import LinearCSSP
from goalbound.planning import Status, blocking_states, is_proper
from tests.reference import exact
from tests.reference.certified import assert_bounds


def nearly_free_loop(first: float, back: float) -> SSP:
    """Place 0 ends for ``first`` or steps to place 1 for nothing; place 1 steps back for ``back`` or ends for 0.5."""
    return SSP.from_transitions([(0, 0, 2, 1.0, first), (0, 1, 1, 1.0, 0.0), (1, 0, 0, 1.0, back), (1, 1, 2, 1.0, 0.5)])


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-4, 1e-9, 1e-12])
@pytest.mark.parametrize(("first", "back"), [(1e-9, 1e-12), (1e-14, 1e-17), (0.4, 1e-9)])
def test_a_loop_at_next_to_no_loss_does_not_tempt(first: float, back: float, tolerance: float) -> None:
    ssp = nearly_free_loop(first, back)
    found = solve(ssp, tolerance=tolerance)
    assert_bounds(found, exact.optimal_values(ssp))
    assert is_proper(ssp, found.policy)
    # The way back costs less than half a loss: place 1 goes back and place 0 ends.
    assert found.policy.tolist() == [0, 0]


def test_a_difference_that_underflows_is_not_taken_for_none() -> None:
    # From a, action 1 leads with probability 1e-170 to b and else stays: v(a) = v(b) = 2e-161, below the 1e-160 of
    # action 0, though 1e-170 (v(b) - v(a)) is zero in floats.
    ssp = SSP.from_transitions([
        ("a", "end", "goal", 1.0, 1e-160), ("a", "wait", "b", 1e-170, 0.0), ("a", "wait", "a", 1.0, 0.0),
        ("b", "far", "d", 1.0, 1e-162), ("b", "end", "goal", 1.0, 2e-161), ("d", "end", "goal", 1.0, 1e-159),
    ])  # fmt: skip
    assert_bounds(solve(ssp), exact.optimal_values(ssp))


@pytest.mark.parametrize("losses", [[0.0, 0.1, 0.5, 1.0], [1e-6, 1e-3, 0.1, 1.0]])
@pytest.mark.parametrize("seed", [4, 5, 29])
def test_losses_of_very_different_size_do_not_make_policy_iteration_go_round(losses: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    states, actions, successors = 310, 3, 3
    rows = []
    for state in range(states):
        for action in range(actions):
            to = rng.integers(0, states + 1, successors)
            share = rng.dirichlet(np.ones(successors))
            loss = float(rng.choice(losses))
            rows += [(state, action, int(t), float(p), loss) for t, p in zip(to, share, strict=True)]
        rows.append((state, actions, states, 0.01, 1.0))
        rows.append((state, actions, state, 0.99, 1.0))
    ssp = SSP.from_transitions(rows)
    found = solve(ssp)
    assert found.status == Status.CONVERGED
    assert found.iterations < 100
    assert is_proper(ssp, found.policy)


def test_a_pit_at_the_end_of_a_corridor_loses_every_state_in_one_go() -> None:
    # Each state leads one step down or to the goal; the bottom never moves. 60,000 states would take hours, were they
    # lost one round at a time.
    states = 60_000
    rows = [(0, 0, 0, 1.0, 0.5)]
    rows += [(s, 0, t, 0.5, 0.5) for s in range(1, states) for t in (s - 1, states)]
    ssp = SSP.from_transitions(rows)
    assert len(blocking_states(ssp)) == states
    with pytest.raises(NoProperPolicy, match="and 59992 more"):
        solve(ssp)
    found = solve(ssp, unreachable="exclude")
    assert found.status == Status.CONVERGED
    assert np.isinf(found.values[:-1]).all()


def test_tiny_losses_do_not_hide_where_two_policies_cross() -> None:
    # Two ways to the goal, 1 or 0.2 and 0.2 or 1 by component: the best of both is largest in the middle, 0.6.
    tiny = 1e-200
    losses = np.array([[[1.0, 0.2]], [[0.2, 1.0]]]) * tiny
    problem = LinearCSSP.dense(losses, np.tile([0.0, 1.0], (2, 1, 2, 1)))
    bound = context_bounds(problem).loss_bound
    assert bound.lower <= 0.6 * tiny * (1 + 1e-12)
    assert bound.upper >= 0.6 * tiny * (1 - 1e-12)
