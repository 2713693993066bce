"""Laws of estimation: the order of steps, what further data does, and estimates that come to the truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.confidence import Estimate, Statistics, confidence_set, paper, project, ridge_estimate, scaled
from goalbound.models import LinearCSSP, Step, Support
from tests.reference.lr_cssp import NaiveLRCSSP
from tests.reference.optimism import next_states
from tests.reference.projection import v_norm
from tests.support.strategies import contexts, examples, linear_cssps

Floats = NDArray[np.float64]
Seen = list[tuple[Floats, Step]]


def drawn_steps(problem: LinearCSSP, count: int, seed: int) -> Seen:
    """Steps of the problem: pairs and contexts at random, losses 0 or 1."""
    rng, support = np.random.default_rng(seed), problem.support
    seen = []
    for _ in range(count):
        context = rng.dirichlet(np.ones(problem.context_size))
        ssp, pair = problem.at(context), int(rng.integers(0, support.pairs))
        row = support.row(pair)
        following = int(rng.choice(support.next_state[row], p=ssp.probabilities[row]))
        loss = float(rng.random() < ssp.losses[pair])
        seen.append((context, Step(int(support.pair_state[pair]), int(support.pair_action[pair]), loss, following)))
    return seen


def recorded(support: Support, size: int, seen: Seen) -> Statistics:
    statistics = Statistics(support, size)
    for context, step in seen:
        statistics.record(context, step)
    return statistics


def rows_of(estimate: Estimate, pair: int) -> Floats:
    """[S_i, d] without the goal."""
    support = estimate.support
    return np.array(estimate.rows[support.row(pair)][: len(next_states(support, pair))])


@examples(30)
@given(linear_cssps(proper=True), st.integers(0, 60), st.integers(0, 2**32 - 1))
def test_the_order_of_steps_does_not_matter(problem: LinearCSSP, count: int, seed: int) -> None:
    seen = drawn_steps(problem, count, seed)
    order = np.random.default_rng(seed).permutation(count)
    one = recorded(problem.support, problem.context_size, seen)
    other = recorded(problem.support, problem.context_size, [seen[n] for n in order])
    np.testing.assert_array_equal(one.visits, other.visits)
    for name in ("gram", "inverse_gram", "loss_sums", "next_sums"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(
        project(ridge_estimate(one)).rows, project(ridge_estimate(other)).rows, rtol=0.0, atol=1e-10
    )


@examples(30)
@given(linear_cssps(proper=True), st.integers(0, 60), st.integers(0, 2**32 - 1))
def test_estimates_are_those_of_the_naive_learner(problem: LinearCSSP, count: int, seed: int) -> None:
    support, size = problem.support, problem.context_size
    seen = drawn_steps(problem, count, seed)
    estimate = project(ridge_estimate(recorded(support, size, seen)))
    naive = NaiveLRCSSP(support, size, delta=0.1, loss_floor=0.1)
    for context, step in seen:
        naive.begin(context)
        naive.act(step.state)
        naive.observe(step)
    for pair in range(support.pairs):
        wanted = naive.estimate(pair)
        np.testing.assert_allclose(rows_of(estimate, pair), wanted.rows, rtol=0.0, atol=1e-10)
        np.testing.assert_allclose(estimate.losses[pair], wanted.losses, rtol=0.0, atol=1e-10)
        np.testing.assert_allclose(estimate.gram[pair], wanted.gram, rtol=1e-12)


@examples(30)
@given(linear_cssps(proper=True), st.integers(0, 80), st.integers(0, 2**32 - 1))
def test_the_projection_takes_no_estimate_further_from_the_truth(problem: LinearCSSP, count: int, seed: int) -> None:
    # The truth is sub-stochastic, and the projection on a convex set never takes two points apart.
    ridge = ridge_estimate(recorded(problem.support, problem.context_size, drawn_steps(problem, count, seed)))
    answer = project(ridge)
    for pair in range(problem.support.pairs):
        truth = problem.probabilities[problem.support.row(pair)][: len(next_states(problem.support, pair))]
        before = v_norm(rows_of(ridge, pair) - truth, ridge.gram[pair])
        assert v_norm(rows_of(answer, pair) - truth, ridge.gram[pair]) <= before * (1.0 + 1e-10) + 1e-10


@examples(30)
@given(linear_cssps(proper=True), st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_a_projected_estimate_is_sub_stochastic_under_every_context(problem: LinearCSSP, count: int, seed: int) -> None:
    statistics = recorded(problem.support, problem.context_size, drawn_steps(problem, count, seed))
    answer = project(ridge_estimate(statistics))
    for pair in range(problem.support.pairs):
        rows = rows_of(answer, pair)
        assert rows.min(initial=0.0) >= 0.0
        assert rows.sum(axis=0).max(initial=0.0) <= 1.0 + 1e-14
    model = answer.model()  # its constructor checks the same
    assert model.context_size == problem.context_size


@examples(30)
@given(linear_cssps(proper=True), st.integers(1, 40), st.integers(0, 2**32 - 1), st.data())
def test_another_step_narrows_the_norm_of_every_context(
    problem: LinearCSSP, count: int, seed: int, data: st.DataObject
) -> None:
    # V grows by c c^T, so w falls, for its own pair; for the others nothing changes to the bit.
    support, size = problem.support, problem.context_size
    seen = drawn_steps(problem, count, seed)
    context = data.draw(contexts(size))
    before, after = recorded(support, size, seen[:-1]), recorded(support, size, seen)
    played = support.pair(seen[-1][1].state, seen[-1][1].action)
    for pair in range(support.pairs):
        one, other = context @ before.inverse_gram[pair] @ context, context @ after.inverse_gram[pair] @ context
        if pair == played:
            assert other <= one * (1.0 + 1e-12)
            with_itself = seen[-1][0] @ after.inverse_gram[pair] @ seen[-1][0]
            assert with_itself < seen[-1][0] @ before.inverse_gram[pair] @ seen[-1][0]
        else:
            assert one == other


@examples(30)
@given(linear_cssps(proper=True), st.integers(0, 40), st.integers(0, 2**32 - 1), st.data())
def test_a_larger_scale_gives_a_set_around_the_smaller_one(
    problem: LinearCSSP, count: int, seed: int, data: st.DataObject
) -> None:
    statistics = recorded(problem.support, problem.context_size, drawn_steps(problem, count, seed))
    context = data.draw(contexts(problem.context_size))
    small, large = (confidence_set(statistics, context, widths=scaled(paper(), by=by)) for by in (0.1, 0.2))
    np.testing.assert_array_equal(small.rows, large.rows)
    np.testing.assert_allclose(large.radii, 2.0 * small.radii, rtol=1e-12)
    assert (large.loss_low <= small.loss_low).all()
    assert (large.loss_high >= small.loss_high).all()


def test_estimates_come_to_the_truth() -> None:
    # One pair, d = 3, 8 000 steps: the standard error of a coefficient is below sqrt(1 / (4 n a)) = 0.02, where
    # n a = 8 000 / 12 bounds the least eigenvalue of sum c c^T (Dirichlet(1, 1, 1): E c c^T has 1/12 off its mean).
    # Six of them: 0.12. A false alarm has probability below 9 * 2e-9 by the normal law, and the seed is fixed.
    rng = np.random.default_rng(2)
    problem = LinearCSSP.dense(rng.uniform(size=(3, 1, 1)), rng.dirichlet([1.0, 1.0], size=(3, 1, 1)))
    estimate = project(ridge_estimate(recorded(problem.support, 3, drawn_steps(problem, 8_000, 5))))
    np.testing.assert_allclose(estimate.rows, problem.probabilities, atol=0.12)
    np.testing.assert_allclose(estimate.losses, problem.losses, atol=0.12)
    assert estimate.gram[0].trace() == pytest.approx(3 + 8_000 * 3 * 2 / 12, rel=0.03)  # E c_j^2 = 2 / 12
