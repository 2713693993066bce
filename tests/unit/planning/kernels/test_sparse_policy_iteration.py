"""Policies of many states, evaluated between sweeps by the Krylov method."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goalbound import GreedyRidge
from goalbound.models import SSP
from goalbound.planning import solve
from goalbound.planning.kernels import sparse_policy_iteration as kernels
from goalbound.planning.kernels.sparse_policy_iteration import SparseWorkspace
from goalbound.planning.kernels.value_iteration import value_iteration
from goalbound.problems import routing_grid
from goalbound.simulation import Dirichlet, play
from tests.support.uncertainty_sets import iteration_from, plain_model, sparse_workspace

SIDE = 12


def wandering(side: int = SIDE, *, exits: int = 1) -> SSP:
    """A square on which the only action leads to any neighbour alike, and so does the wall; the last ``exits`` states
    lead to the goal half the time."""
    states = side * side
    rows = np.zeros((states, 1, states + 1))
    for s in range(states):
        r, c = divmod(s, side)
        for near_r, near_c in ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)):
            inside = 0 <= near_r < side and 0 <= near_c < side
            rows[s, 0, near_r * side + near_c if inside else s] += 0.25
    rows[states - exits :] *= 0.5
    rows[states - exits :, :, states] = 0.5
    return SSP.dense(np.full((states, 1), 0.5), rows)


def values_by_linear_algebra(ssp: SSP) -> NDArray[np.float64]:
    """[S] of the only policy."""
    states = ssp.support.states
    matrix = np.zeros((states, states + 1))
    matrix[ssp.support.pair_state.repeat(np.diff(ssp.support.next_start)), ssp.support.next_state] = ssp.probabilities
    return np.linalg.solve(np.eye(states) - matrix[:, :states], ssp.losses)


def test_a_policy_that_wanders_is_evaluated_by_few_sweeps() -> None:
    model = plain_model(wandering())
    iteration = iteration_from(model, np.array([*np.full(SIDE**2, 0.5), 0.0]))
    assert kernels.sparse_policy_iteration.python(model, iteration, 1e-6, 1000, sparse_workspace(model)) <= 20
    np.testing.assert_allclose(iteration.values[:-1], values_by_linear_algebra(wandering()), rtol=1e-6)
    slow = iteration_from(model, np.array([*np.full(SIDE**2, 0.5), 0.0]))
    assert value_iteration.python(model, slow, 1e-6, 200) == 200
    assert slow.progress["residual"] > 0.1


def test_states_above_the_ceiling_are_as_good_as_a_goal_for_the_others() -> None:
    # The witness: a state that pays the ceiling and ends, wherever the backup is above it.
    ceiling = 120.0
    model = plain_model(wandering())._replace(ceiling=ceiling)
    assert values_by_linear_algebra(wandering()).max() > 2.0 * ceiling
    iteration = iteration_from(model, np.array([*np.full(SIDE**2, 0.5), 0.0]))
    made = kernels.sparse_policy_iteration.python(model, iteration, 1e-6, 1000, sparse_workspace(model))
    assert made <= 60
    assert iteration.values.max() == ceiling
    capped = np.flatnonzero(iteration.values[:-1] == ceiling)
    assert 0 < len(capped) < SIDE**2
    ssp = wandering()
    dense = np.zeros((SIDE**2, 1, SIDE**2 + 1))
    pair = np.repeat(ssp.support.pair_state, np.diff(ssp.support.next_start))
    dense[pair, 0, ssp.support.next_state] = ssp.probabilities
    losses = np.full((SIDE**2, 1), 0.5)
    backup = 0.5 + dense[:, 0] @ iteration.values
    assert (backup[capped] >= ceiling * (1.0 - 1e-9)).all()
    dense[capped], losses[capped] = 0.0, ceiling
    dense[capped, :, -1] = 1.0
    moves = dense[:, 0, :-1]
    np.testing.assert_allclose(iteration.values[:-1], np.linalg.solve(np.eye(SIDE**2) - moves, losses[:, 0]), rtol=1e-6)


def test_a_policy_that_never_arrives_changes_nothing() -> None:
    # Two states that lead to one another, and one that is never left.
    circle = plain_model(SSP.dense([[0.5], [0.5]], [[[0, 1, 0]], [[1, 0, 0]]]))
    still = plain_model(SSP.dense([[0.5]], [[[1, 0]]]))
    for model, values in ((circle, [3.0, 3.0, 0.0]), (still, [3.0, 0.0])):
        iteration = iteration_from(model, np.array(values))
        with np.errstate(all="ignore"):
            assert not kernels.evaluate_sparse.python(model, iteration, sparse_workspace(model), 1e-9)
        assert iteration.values.tolist() == values


def test_plans_of_a_learner_on_many_states_are_the_planners() -> None:
    problem = routing_grid(SIDE, SIDE)
    learner = GreedyRidge(problem.support, 3, loss_floor=0.125)
    assert isinstance(learner._workspace, SparseWorkspace)
    play(problem, learner, Dirichlet(np.ones(3)), episodes=2, step_limit=200)
    context = np.array([0.2, 0.5, 0.3])
    plan = learner.plan(context)
    model = learner.estimate.model().at(context)
    exact = solve(SSP(problem.support, np.maximum(model.losses, 0.125), model.probabilities))
    assert (plan.values <= exact.upper * (1.0 + 1e-9)).all()
    np.testing.assert_allclose(plan.values, exact.values, rtol=0.05)
