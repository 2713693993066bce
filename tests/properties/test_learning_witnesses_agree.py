"""The witnesses of the learner against each other, and against arithmetic that fits on a page."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from goalbound.models import LinearCSSP, Step
from tests.reference import exact
from tests.reference.lr_cssp import NaiveLRCSSP
from tests.reference.optimism import inner_minimum, inner_minimum_by_cone, next_states
from tests.reference.projection import kkt_violation, projected, v_norm
from tests.support.estimates import any_rows, balls, ridge_estimates
from tests.support.strategies import examples

Floats = NDArray[np.float64]


@examples(100)
@given(ridge_estimates())
def test_the_quadratic_program_obeys_the_optimality_conditions_on_ridge_estimates(drawn: tuple[Floats, Floats]) -> None:
    rows, gram = drawn
    answer = projected(rows, gram)
    assert answer.min() >= 0.0
    assert kkt_violation(rows, gram, answer) <= 1e-10


@examples(100)
@given(any_rows())
def test_the_quadratic_program_obeys_the_optimality_conditions_on_any_rows(
    drawn: tuple[Floats, Floats, Floats],
) -> None:
    rows, _, gram = drawn
    assert kkt_violation(rows, gram, projected(rows, gram)) <= 1e-10


@examples(200)
@given(balls())
def test_the_cone_program_and_the_bisection_find_the_same_minimum(drawn: tuple[Floats, float, Floats]) -> None:
    centre, radius, values = drawn
    value, q = inner_minimum(centre, radius, values)
    by_cone, _ = inner_minimum_by_cone(centre, radius, values)
    assert value == pytest.approx(by_cone, rel=1e-8, abs=1e-8 * float(values.max()))
    assert inner_minimum(centre, radius, values, number=float)[0] == pytest.approx(value, rel=1e-12, abs=1e-14)
    assert q.min() >= 0.0
    assert np.linalg.norm(q - centre) <= radius + 1e-15
    assert (q <= centre).all()  # so it sums to at most 1


def test_the_learner_stays_below_the_true_values_and_its_sets_hold_the_truth() -> None:
    # delta = 0.01 and widths as proven: over an endless run a miss has probability below 0.01, let alone over 60 steps
    rng = np.random.default_rng(1)
    losses = rng.uniform(0.3, 1.0, size=(2, 2, 2))
    problem = LinearCSSP.dense(losses, rng.dirichlet([1.0, 1.0, 1.0], size=(2, 2, 2)))
    support = problem.support
    learner = NaiveLRCSSP(support, 2, delta=0.01, loss_floor=0.3)
    state = support.states
    for _ in range(60):
        if state == support.states:
            context = rng.dirichlet([1.0, 1.0])
            now = problem.at(context)
            truth = [float(v) for v in exact.optimal_values(now)]
            learner.begin(context)
            state = 0
        action = learner.act(state)
        assert (learner.values <= np.array(truth) + 1e-8).all()
        pair = support.pair(state, action)
        loss = float(rng.random() < now.losses[pair])
        following = int(rng.choice(support.next_state[support.row(pair)], p=now.probabilities[support.row(pair)]))
        learner.observe(Step(state, action, loss, following))
        state = following
    for pair in range(support.pairs):
        estimate = learner.estimate(pair)
        rows = problem.probabilities[support.row(pair)][: len(next_states(support, pair))]
        assert v_norm(rows - estimate.rows, estimate.gram) <= learner.next_radius(pair)
        assert v_norm((problem.losses[pair] - estimate.losses)[None], estimate.gram) <= learner.loss_radius(pair)
    assert learner.interval == 61  # nothing is known so early: each step is an interval
