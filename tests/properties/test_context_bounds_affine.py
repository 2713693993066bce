"""Bounds that are affine in the context, against the exact values at contexts in between; the elimination kernel."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from goalbound.kernels import elimination
from goalbound.models import SSP, LinearCSSP
from goalbound.planning.context_bounds.affine_bounds import CornerModels, PairSubset, lower_values, upper_values
from goalbound.planning.context_bounds.context_point import ContextPoint
from goalbound.planning.context_bounds.region import affine_upper_bounds, max_upper_bound
from goalbound.planning.properness import is_proper
from goalbound.planning.reduction import rows_of
from tests.reference import exact
from tests.support.strategies import contexts, examples, linear_cssps, ssps

SLACK = Fraction(1, 10**13)  # mixing the context between the corners rounds it


def simplices(size: int) -> st.SearchStrategy[list[np.ndarray]]:
    """Corners of a sub-simplex of contexts, dyadic, so that they are exact."""
    dyadic = st.lists(st.integers(0, 4), min_size=size, max_size=size).filter(lambda w: sum(w) in (1, 2, 4, 8))
    return st.lists(dyadic.map(lambda w: np.array(w) / sum(w)), min_size=1, max_size=size)


@given(linear_cssps(proper=True), st.data())
def test_ceilings_are_above_the_optimal_values_at_every_mixture_of_the_corners(
    problem: LinearCSSP, data: st.DataObject
) -> None:
    corners = tuple(ContextPoint(problem, c) for c in data.draw(simplices(problem.context_size)))
    weights = data.draw(contexts(len(corners)))
    values = exact.optimal_values(problem.at(weights @ np.stack([corner.context for corner in corners])))
    upper_bounds = affine_upper_bounds(corners)
    for upper_bound in upper_bounds:
        for value, above in zip(values, weights @ upper_bound, strict=True):
            assert value <= above * (1 + SLACK)
    if upper_bounds:
        assert max(values) <= max_upper_bound(upper_bounds).value * (1 + SLACK)


@given(linear_cssps(proper=True), st.data())
def test_affine_lower_values_are_below_the_optimal_values_at_every_mixture(
    problem: LinearCSSP, data: st.DataObject
) -> None:
    corners = tuple(ContextPoint(problem, c) for c in data.draw(simplices(problem.context_size)))
    weights = data.draw(contexts(len(corners)))
    solved = np.stack([corner.solution.values for corner in corners])
    models = CornerModels.at(PairSubset.of(problem.support, np.arange(problem.support.pairs)), corners)
    found = lower_values(models, solved, solved)
    if found is not None:
        values = exact.optimal_values(problem.at(weights @ np.stack([corner.context for corner in corners])))
        for value, below in zip(values, weights @ found, strict=True):
            assert below <= value * (1 + SLACK)


def test_halving_a_sub_simplex_divides_the_error_of_its_ceiling_by_four() -> None:
    # one policy, v(0) = 1 + x (1 - x) on the context (x, 1 - x): the chord of a parabola is off by h^2 / 4
    losses = [[[1.0], [0.0]], [[1.0], [1.0]]]
    moves = [[[[0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]]], [[[0.0, 0.0, 1.0]], [[0.0, 0.0, 1.0]]]]
    problem = LinearCSSP.dense(losses, moves)
    errors = []
    for h in (0.5, 0.25, 0.125):
        corners = tuple(ContextPoint(problem, np.array([x, 1.0 - x])) for x in (0.5 - h / 2, 0.5 + h / 2))
        values, steps = (np.stack(part) for part in zip(*(c.evaluate(c.policy) for c in corners), strict=True))
        above = upper_values(CornerModels.at(PairSubset.of(problem.support, np.array([0, 1])), corners), values, steps)
        errors.append(above.max() - 1.25)
    assert errors[0] / errors[1] > 3.5
    assert errors[1] / errors[2] > 3.5


@examples(100)
@given(ssps(proper=False, most_states=5, tiny=True), st.data())
def test_elimination_gives_exact_values_and_steps_or_says_that_the_policy_is_not_proper(
    ssp: SSP, data: st.DataObject
) -> None:
    support = ssp.support
    n = support.states
    ranges = [(int(support.pair_start[s]), int(support.pair_start[s + 1]) - 1) for s in range(n)]
    policy = np.array([data.draw(st.integers(first, last)) for first, last in ranges])
    values, steps = np.empty(n + 1), np.empty(n + 1)
    room = np.empty((n, n)), np.empty(n), np.empty(n)
    proper = elimination.evaluate_policy.python(rows_of(ssp), policy, *room, values, steps)
    actions = support.pair_action[policy].astype(np.int64)
    assert proper == is_proper(ssp, actions)
    if proper:
        np.testing.assert_allclose(values, np.array(exact.policy_losses(ssp, actions.tolist()), float), rtol=1e-13)
        np.testing.assert_allclose(steps, np.array(exact.policy_steps(ssp, actions.tolist()), float), rtol=1e-13)


def test_elimination_has_the_same_bits_compiled() -> None:
    rng = np.random.default_rng(5)
    chances = rng.dirichlet(np.ones(6), size=(5, 2))
    ssp = SSP.dense(rng.uniform(size=(5, 2)), chances)
    answers = []
    for run in (elimination.evaluate_policy.python, elimination.evaluate_policy.compiled):
        values, steps = np.empty(6), np.empty(6)
        assert run(rows_of(ssp), np.arange(0, 10, 2), np.empty((5, 5)), np.empty(5), np.empty(5), values, steps)
        answers.append(values.tobytes() + steps.tobytes())
    assert answers[0] == answers[1]
