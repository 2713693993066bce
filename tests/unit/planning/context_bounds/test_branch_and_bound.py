"""Bounds over all contexts on problems whose answers are arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.models import LinearCSSP
from goalbound.planning.context_bounds import Bound, context_bounds
from goalbound.planning.context_bounds.branch_and_bound import BoundStatus
from tests.reference import context_grid


def assert_bounds(bound: Bound, value: float, tolerance: float = 0.01) -> None:
    """The interval holds the value and is as narrow as promised."""
    assert bound.status is BoundStatus.CONVERGED
    assert bound.lower <= value * (1 + 1e-12)
    assert value <= bound.upper * (1 + 1e-12)
    assert bound.upper <= (1.0 + tolerance) * bound.lower


def exits(losses: list[list[float]], chances: list[list[float]]) -> LinearCSSP:
    """One state; ``losses[component][action]`` and the chance to reach the goal, else the state stays."""
    rows = [[[[1.0 - p, p] for p in part]] for part in chances]
    return LinearCSSP.dense([[part] for part in losses], rows)


def test_the_largest_loss_may_be_attained_where_two_actions_tie() -> None:
    # v*(x) = min(0.2 + 0.8 x, 1 - 0.8 x) for the context (x, 1 - x): largest at x = 1/2, where it is 0.6
    found = context_bounds(exits([[1.0, 0.2], [0.2, 1.0]], [[1.0, 1.0], [1.0, 1.0]]))
    assert_bounds(found.loss_bound, 0.6)
    assert found.loss_bound.context == pytest.approx([0.5, 0.5], abs=0.01)
    assert_bounds(found.time_bound, 1.0)


def test_the_largest_loss_may_be_attained_inside_where_no_policy_changes() -> None:
    # One policy. State 0 pays 1 and moves to state 1 with probability x, which pays 1 - x: v(0) = 1 + x (1 - x).
    losses = [[[1.0], [0.0]], [[1.0], [1.0]]]
    moves = [[[[0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]]], [[[0.0, 0.0, 1.0]], [[0.0, 0.0, 1.0]]]]
    found = context_bounds(LinearCSSP.dense(losses, moves), tolerance=1e-3)
    assert_bounds(found.loss_bound, 1.25, 1e-3)
    assert found.loss_bound.context == pytest.approx([0.5, 0.5], abs=0.05)
    assert found.loss_bound.state == 0
    assert_bounds(found.time_bound, 2.0, 1e-3)  # 1 + x steps


def test_the_loss_floor_is_the_smallest_loss_of_any_component() -> None:
    assert context_bounds(exits([[0.4, 0.3], [0.07, 0.9]], [[1.0, 1.0], [0.5, 0.5]])).loss_floor == 0.07


def test_a_component_without_a_proper_policy_makes_everything_infinite() -> None:
    # Under component 1 state 1 never leaves; every mixture with component 0 is proper.
    losses = [[[0.5], [0.5]], [[0.5], [0.5]]]
    moves = [[[[0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]]], [[[0.0, 1.0, 0.0]], [[0.0, 1.0, 0.0]]]]
    found = context_bounds(LinearCSSP.dense(losses, moves, component_names=["day", "night"]))
    assert not found.proper
    assert found.blocking_states == (0, 1)
    assert found.blocking_context is not None
    assert found.blocking_context.tolist() == [0.0, 1.0]
    assert found.loss_bound.lower == found.time_bound.lower == np.inf
    assert found.status is BoundStatus.NO_PROPER_POLICY
    assert "no proper policy at context (1 night) from state 0, state 1" in str(found)


def test_policies_that_end_only_under_their_own_component_still_give_finite_bounds() -> None:
    # Action k exits only under component k: the best of a context has chance max(x, 1 - x), so v* and time reach 2
    # (loss 1 a step) at x = 1/2.
    found = context_bounds(exits([[1.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]))
    assert found.proper
    assert_bounds(found.loss_bound, 2.0)
    assert_bounds(found.time_bound, 2.0)


def random_problem(seed: int, states: int = 3, actions: int = 2, size: int = 3) -> LinearCSSP:
    rng = np.random.default_rng(seed)
    rows = rng.standard_exponential((size, states, actions, states + 1)) ** 2
    return LinearCSSP.dense(rng.uniform(0.05, 1.0, (size, states, actions)), rows / rows.sum(axis=-1, keepdims=True))


@pytest.mark.parametrize("seed", range(4))
def test_a_fine_grid_of_contexts_lies_inside_and_comes_close(seed: int) -> None:
    problem = random_problem(seed)
    found = context_bounds(problem)
    seen = context_grid.largest_on_grid(problem, 30)
    assert found.status is BoundStatus.CONVERGED
    assert seen.loss <= found.loss_bound.upper
    assert seen.time <= found.time_bound.upper
    assert seen.loss >= 0.97 * found.loss_bound.lower
    assert seen.time >= 0.9 * found.time_bound.lower


@pytest.mark.parametrize("seed", range(4))
def test_the_witness_attains_the_lower_ends(seed: int) -> None:
    problem = random_problem(seed)
    found = context_bounds(problem)
    at_loss = context_grid.largest_at(problem.at(found.loss_bound.context))
    at_time = context_grid.largest_at(problem.at(found.time_bound.context))
    assert at_loss.loss == pytest.approx(found.loss_bound.lower, rel=1e-7)
    assert at_time.time >= found.time_bound.lower * (1 - 1e-9)


@pytest.mark.parametrize("most_regions", [1, 2, 5, 12])
def test_a_search_that_is_cut_short_still_gives_a_valid_interval(most_regions: int) -> None:
    problem = random_problem(7)
    short, full = context_bounds(problem, most_regions=most_regions), context_bounds(problem, tolerance=1e-3)
    for one, other in ((short.loss_bound, full.loss_bound), (short.time_bound, full.time_bound)):
        assert one.lower <= other.upper
        assert one.upper >= other.lower
    assert short.status in (BoundStatus.REGION_LIMIT, BoundStatus.CONVERGED)


def test_a_time_limit_is_reported() -> None:
    found = context_bounds(random_problem(7), tolerance=1e-6, time_limit=1e-6)
    assert found.status is BoundStatus.TIME_LIMIT
    assert found.loss_bound.lower <= found.loss_bound.upper


def test_the_same_problem_gives_the_same_bits() -> None:
    one, two = context_bounds(random_problem(3)), context_bounds(random_problem(3))
    assert (one.loss_bound.lower, one.loss_bound.upper) == (two.loss_bound.lower, two.loss_bound.upper)
    assert (one.time_bound.lower, one.time_bound.upper) == (two.time_bound.lower, two.time_bound.upper)
    assert one.regions == two.regions


def test_the_summary_names_states_and_components() -> None:
    problem = LinearCSSP.dense(
        [[[0.5]], [[0.5]]], [[[[0.5, 0.5]]], [[[0.0, 1.0]]]], state_names=["sick"], component_names=["old", "young"]
    )
    text = str(context_bounds(problem))
    assert 'largest optimal loss B* in [1, 1], lower end at state 0 ("sick"), context (1 old); converged' in text
    assert "every context has a proper policy" in text
