"""Draws around the estimate: brought on the simplex, their deviations, optimistic plans, and when a plan ends."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import clarabel
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csc_array

from goalbound.learners.explore.posterior import (
    Posterior,
    deviation,
    deviation_by_variance,
    draw_plan,
    drawn_loss,
    plain_deviation,
    sample_row,
    to_simplex,
)
from goalbound.learners.explore.protocol import draw
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.ridge import PosteriorSampling
from goalbound.learners.settings import LearnerOptions
from goalbound.models import BallSet, Support
from goalbound.planning import extended_value_iteration
from goalbound.planning.kernels.stochastic_rows import NO_GOAL
from goalbound.simulation import Dirichlet, play
from tests.reference.projection import clarabel_answer, on_the_simplex, on_the_sub_simplex
from tests.support.driving import small_problem
from tests.support.ridge import exploring
from tests.support.ridge_kernels import Arguments, arguments_of
from tests.support.strategies import examples
from tests.support.uniform_numbers import Numbers

Floats = NDArray[np.float64]

SUPPORT = Support.from_pairs([{0: [0, 1, 2]}, {0: [0, 1], 1: [2]}])
"""Pair 0 may lead anywhere, pair 1 to the states but not to the goal (state 2), pair 2 only to the goal."""
CONTEXT = [0.25, 0.75]


def arguments(exploration: Any, **options: Any) -> Arguments:
    return arguments_of(exploring(exploration, SUPPORT, 2, **options), CONTEXT)


entries = st.one_of(
    st.sampled_from([0.0, 0.5, 1.0, -1.0, 1.0 / 3.0, 1e-300]),
    st.floats(-3.0, 3.0, allow_subnormal=False),
    st.builds(lambda x, e: x * 10.0**e, st.floats(-9.0, 9.0), st.integers(-9, 9)),
)
"""what a draw may be, and worse"""

draws = st.lists(entries, min_size=0, max_size=8).map(np.array)


def projection(row: Floats, *, stochastic: bool = False) -> Floats:
    out = np.array(row, dtype=np.float64)
    to_simplex.python(out, stochastic)
    return out


def size_of(*rows: Floats) -> float:
    return max(1.0, *(float(np.abs(row).max(initial=0.0)) for row in rows))


@examples(80)
@given(draws)
def test_the_projection_is_that_of_sorting(row: Floats) -> None:
    found = projection(row)
    np.testing.assert_allclose(found, on_the_sub_simplex(row.tolist()), atol=1e-15 * size_of(row) * 8)
    assert found.min(initial=0.0) >= 0.0
    assert found.sum() <= 1.0 + 1e-15 * size_of(row) * 8


@examples(30)
@given(st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=6).map(np.array))
def test_the_projection_is_that_of_a_quadratic_program(row: Floats) -> None:
    m = len(row)
    answer = clarabel_answer(
        csc_array(np.eye(m)), -row, csc_array(np.vstack((-np.eye(m), np.ones((1, m))))),
        np.array([*np.zeros(m), 1.0]), [clarabel.NonnegativeConeT(m + 1)],
    )  # fmt: skip
    np.testing.assert_allclose(projection(row), answer.x, atol=1e-6)


@examples(80)
@given(draws.filter(len))
def test_the_projection_on_the_simplex_is_that_of_exact_sorting(row: Floats) -> None:
    found = projection(row, stochastic=True)
    exact = on_the_simplex([Fraction(float(q)) for q in row])
    np.testing.assert_allclose(found, [float(q) for q in exact], atol=1e-15 * size_of(row) * 8)
    assert found.min() >= 0.0
    assert found.sum() == pytest.approx(1.0, abs=1e-15 * size_of(row) * 8)
    if len(row) == 1:
        assert found[0] == 1.0


@examples(50)
@given(draws)
def test_projecting_twice_is_projecting_once(row: Floats) -> None:
    once = projection(row)
    np.testing.assert_allclose(projection(once), once, atol=1e-15 * size_of(row) * 8)


@examples(50)
@given(draws, st.data())
def test_projecting_brings_no_two_rows_apart(row: Floats, data: st.DataObject) -> None:
    other = np.array(data.draw(st.lists(entries, min_size=len(row), max_size=len(row))))
    apart = float(np.linalg.norm(projection(row) - projection(other)))
    assert apart <= float(np.linalg.norm(row - other)) + 1e-14 * size_of(row, other)


def test_the_projection_by_hand() -> None:
    # 0.9 + 0.5 is 0.4 too much: 0.2 from each; what is negative is 0 and gives nothing.
    assert projection(np.array([0.9, -0.3, 0.5])).tolist() == pytest.approx([0.7, 0.0, 0.3], rel=1e-15)
    # 1.5 + 0.2: taking 0.35 from each would leave -0.15, so all is taken from the first.
    assert projection(np.array([1.5, 0.2])).tolist() == [1.0, 0.0]
    # What sums to at most 1 stays.
    assert projection(np.array([0.25, 0.5, -2.0])).tolist() == [0.25, 0.5, 0.0]
    assert math.fsum(projection(np.full(3, 1e9))) == pytest.approx(1.0, abs=1e-6)
    # On the simplex what is missing is shared: 0.25 + 0.5 lacks 0.25, and -2 is too far below to get any of it.
    assert projection(np.array([0.25, 0.5, -2.0]), stochastic=True).tolist() == pytest.approx([0.375, 0.625, 0.0])


@examples(30)
@given(draws, st.booleans())
def test_both_forms_project_to_the_same_bits(row: Floats, stochastic: bool) -> None:
    one, other = np.array(row, dtype=np.float64), np.array(row, dtype=np.float64)
    to_simplex.python(one, stochastic)
    to_simplex.compiled(other, stochastic)
    assert one.tobytes() == other.tobytes()


def test_a_drawn_row_is_the_estimate_and_noise_brought_on_the_sub_simplex() -> None:
    case = arguments(Posterior(spread=0.5))
    case.estimate(0, {1: [0.5, 0.1]}, [0.0, 0.0])  # under the context 0.2; state 0 was never seen
    case.episode.explore.noise[:3] = [1.0, 3.0, 99.0]  # by triple; the goal has none
    sample = sample_row.filled({deviation: plain_deviation}).python
    sample(case.constants, case.learner, case.episode, 0, 0.8)  # a deviation of 0.5 * 0.8
    # 0.4 * 1 and 0.2 + 0.4 * 3 = 1.4 exceed 1 by 0.8: 0.4 from each, which leaves nothing of the first
    assert case.row(0) == pytest.approx({0: 0.0, 1: 1.0}, abs=1e-15)
    case.episode.explore.noise[:2] = [0.5, -0.25]
    sample(case.constants, case.learner, case.episode, 0, 0.8)
    assert case.row(0) == pytest.approx({0: 0.2, 1: 0.1}, rel=1e-15)
    assert case.episode.sets.mass[0] == pytest.approx(0.05, rel=1e-15)


@pytest.mark.parametrize(("estimate", "expected"), [(0.5, 0.25), (0.0, 0.0), (1.2, 0.0), (-0.1, 0.0)])
def test_draws_by_the_variance_are_those_of_an_outcome_with_the_estimated_mean(
    estimate: float, expected: float
) -> None:
    """spread w sqrt(q (1 - q) + w^2 + 0.04), q cut to [0, 1]."""
    found = deviation_by_variance.python(0.5, estimate, 0.4)
    assert found == pytest.approx(0.5 * 0.4 * (expected + 0.16 + 0.04) ** 0.5)
    assert plain_deviation.python(0.5, estimate, 0.4) == pytest.approx(0.2)
    by_variance, plain = Posterior(by_variance=True).room(None).slots, Posterior().room(None).slots
    assert by_variance.loss_set is not plain.loss_set


def test_a_drawn_row_that_cannot_reach_the_goal_sums_to_one() -> None:
    case = arguments(Posterior(spread=0.5))
    case.episode.explore.noise[3:5] = [1.0, -0.5]
    draw = sample_row.filled({deviation: plain_deviation}).python
    draw(case.constants, case.learner, case.episode, 1, 0.4)
    # 0.5 + 0.2 and 0.5 - 0.1 exceed 1 by 0.1
    assert case.row(1) == pytest.approx({0: 0.65, 1: 0.35}, rel=1e-15)
    assert case.episode.sets.mass[1] == NO_GOAL


def test_a_drawn_loss_is_the_estimate_with_noise() -> None:
    case = arguments(Posterior(spread=0.5))
    case.estimate(0, {}, [0.8, 0.4])
    case.episode.norm[0] = 0.2
    case.episode.explore.noise[SUPPORT.triples] = 3.0  # after the noise of the triples comes that of the pairs
    loss = drawn_loss.filled({deviation: plain_deviation}).python
    found = loss(case.constants, case.learner, case.episode, 0)
    assert found == pytest.approx((0.5 + 0.5 * 0.2 * 3.0, 0.5 + 0.5 * 0.2 * 3.0))


def test_noise_is_drawn_for_every_triple_and_pair_and_makes_all_pairs_new() -> None:
    case = arguments(Posterior(spread=0.5))
    case.plan()
    case.python(draw)(case.constants, case.episode, np.random.default_rng(6))
    assert case.episode.explore.noise.tobytes() == np.random.default_rng(6).standard_normal(6 + 3).tobytes()
    assert case.episode.revision.tolist() == [-1] * 3
    assert case.episode.iteration.progress["residual"] == np.inf


def test_the_first_number_of_a_draw_says_whether_the_plan_is_optimistic() -> None:
    case = arguments(Posterior(spread=0.5, optimism=0.25))
    for number, optimistic in ((0.2499, 1), (0.25, 0)):

        class Stream(Numbers):
            def standard_normal(self) -> float:
                return 1.5

        case.python(draw)(case.constants, case.episode, Stream(number))
        assert case.episode.explore.progress["optimistic"] == optimistic
        assert set(case.episode.explore.noise.tolist()) == {1.5}


def test_a_plan_ends_once_far_more_was_lost_than_it_expected() -> None:
    for patience, ends_at in ((1.0, [3]), (2.0, [6]), (np.inf, [])):  # 3 * 0.9 > 2.5, 6 * 0.9 > 5
        case = arguments(Posterior(spread=0.0, patience=patience), replan_factor=1e9)
        case.plan()
        case.episode.iteration.values[0] = 1.5  # so up to 2.5 may be lost, or twice that
        ended = []
        for step in range(1, 7):
            if case.observe(0, 0, 0.9):
                ended.append(step)
                break
            case.episode.iteration.values[0] = 99.0  # what it expects on the way does not count
        assert ended == ends_at


def test_an_optimistic_plan_is_the_best_one_in_balls_around_the_estimate() -> None:
    problem = small_problem(2)
    learner = PosteriorSampling(
        problem.support, 2, loss_floor=0.1, optimism=1.0, rng=np.random.default_rng(1),
        options=LearnerOptions(tolerance=1e-9),
    )  # fmt: skip
    play(problem, learner, Dirichlet.symmetric(2), episodes=30, seed=2)
    context = np.array([0.3, 0.7])
    episode = learner.begin(context)
    episode.act(0)
    plan = episode.plan
    assert plan is not None
    model, grams = learner.estimate, learner.estimate.gram
    norms = np.sqrt(np.einsum("i,nij,j->n", context, np.linalg.inv(grams), context))
    losses = model.losses @ context
    means = np.clip(losses, 0.0, 1.0)
    low = losses - 1.5 * norms * np.sqrt(means * (1.0 - means) + norms**2 + 0.04)
    low = np.clip(low, 0.1, 1.0)
    sets = BallSet(problem.support, low, np.maximum(low, 1.0), np.clip(model.rows @ context, 0.0, 1.0), 0.7 * norms**2)
    best = extended_value_iteration(sets, tolerance=1e-9)
    np.testing.assert_allclose(plan.losses, low, atol=1e-12)
    np.testing.assert_allclose(plan.values, best.values, rtol=1e-6)
    assert (plan.values[:-1] < learner.plan(context).values[:-1]).all()  # that of the estimate, for comparison


def test_who_begins_with_a_guess_has_no_optimistic_plans_unless_asked() -> None:
    problem = small_problem(2)
    guess = PriorKnowledge.around(problem, strength=2.0)
    made = [
        PosteriorSampling(problem.support, 2, loss_floor=0.1, prior=prior, optimism=asked)
        for prior, asked in ((None, None), (guess, None), (guess, 0.2), (None, 0.0))
    ]
    assert [one.settings.exploration.optimism for one in made] == [0.03, 0.0, 0.2, 0.0]


def test_posterior_sampling_draws_the_numbers_of_the_kernel() -> None:
    drawn = []
    for by_kernel in (False, True):
        learner = PosteriorSampling(
            Support.full(3, 2), 2, loss_floor=0.1, optimism=0.4, rng=np.random.Generator(np.random.Philox(5))
        )
        arrays = learner.begin([0.5, 0.5])._arrays
        for _ in range(6):
            if by_kernel:
                draw_plan.python(learner._constants, arrays, learner._rng)
            else:
                learner.settings.exploration.draw(learner, arrays)
            drawn.append(
                (int(arrays.explore.progress["optimistic"]), arrays.explore.noise.tolist(), arrays.revision.tolist())
            )
    assert drawn[:6] == drawn[6:]
    assert {one[0] for one in drawn} == {0, 1}
