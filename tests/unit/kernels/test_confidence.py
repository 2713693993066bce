"""The set of one pair under one context, part by part: rows brought on the simplex, widths, what is known, clipping."""

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

from goalbound.estimation import paper, sharp
from goalbound.kernels import confidence as kernels
from goalbound.kernels.confidence import to_simplex
from goalbound.kernels.stochastic_rows import NO_GOAL
from goalbound.learners.exploration import greedy, optimistic, rmax, sampled
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.prior import PriorKnowledge
from goalbound.models import Step, Support
from tests.reference.projection import clarabel_answer, on_the_simplex, on_the_sub_simplex
from tests.support.ridge import exploring, lr_cssp
from tests.support.ridge_kernels import Arguments, arguments_of
from tests.support.strategies import examples

Floats = NDArray[np.float64]

SUPPORT = Support.from_pairs([{0: [0, 1, 2]}, {0: [0, 1], 1: [2]}])
"""Pair 0 may lead anywhere, pair 1 to the states but not to the goal (state 2), pair 2 only to the goal."""
CONTEXT = [0.25, 0.75]


def arguments(exploration: Any, **options: Any) -> Arguments:
    return arguments_of(exploring(exploration, SUPPORT, 2, **options), CONTEXT)


def with_prior(prior: PriorKnowledge, **settings: Any) -> Arguments:
    return arguments_of(
        LRCSSP(SUPPORT, 2, loss_floor=0.1, loss_bound=5.0, prior=prior, **{"widths": paper(), **settings}), CONTEXT
    )


def known_way(**settings: Any) -> Arguments:
    """The row of pair 0 is known, and the losses of pairs 0 and 2."""
    columns = [[0.2, 0.4], [0.3, 0.0], [0.5, 0.6]]
    nothing = PriorKnowledge.nothing(SUPPORT, 2)
    return with_prior(
        nothing.with_rows({(0, 0): columns}).with_losses({(0, 0): [0.2, 0.6], (1, 1): [1.0, 1.0]}), **settings
    )


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


def test_the_width_of_rmax_is_the_sum_of_the_entries_without_their_signs() -> None:
    # V^-1 c = (2 / 4 - 3 / 4, -1 / 4 + 3 / 4) = (-1 / 4, 1 / 2)
    assert kernels.l1_width.python(np.array([[2.0, -1.0], [-1.0, 1.0]]), np.array(CONTEXT)) == 0.75


def test_an_estimated_row_mixes_the_coefficients_of_what_was_seen() -> None:
    case = arguments(greedy())
    case.estimate(0, {1: [0.5, 0.1], 0: [0.0, 0.8]}, [0.0, 0.0])
    kernels.estimated_row.python(case.constants, case.learner, case.episode, 0)
    # state 1: 0.5 / 4 + 0.1 * 3 / 4 = 0.2; state 0: 0.8 * 3 / 4 = 0.6; squares 0.04 + 0.36
    assert case.row(0) == pytest.approx({1: 0.2, 0: 0.6}, rel=1e-15)
    assert list(case.row(0)) == [1, 0]
    assert case.episode.sets.mass[0] == pytest.approx(0.4, rel=1e-15)


def test_a_row_that_cannot_reach_the_goal_is_uniform_before_all_data_and_says_so() -> None:
    case = arguments(greedy())
    kernels.estimated_row.python(case.constants, case.learner, case.episode, 1)
    assert case.row(1) == {0: 0.5, 1: 0.5}
    assert case.episode.sets.mass[1] == NO_GOAL


def test_a_drawn_row_is_the_estimate_and_noise_brought_on_the_sub_simplex() -> None:
    case = arguments(sampled(spread=0.5))
    case.estimate(0, {1: [0.5, 0.1]}, [0.0, 0.0])  # under the context 0.2; state 0 was never seen
    case.episode.noise[:3] = [1.0, 3.0, 99.0]  # by triple; the goal has none
    kernels.sample_row.python(case.constants, case.learner, case.episode, 0, 0.8)  # a deviation of 0.5 * 0.8
    # 0.4 * 1 and 0.2 + 0.4 * 3 = 1.4 exceed 1 by 0.8: 0.4 from each, which leaves nothing of the first
    assert case.row(0) == pytest.approx({0: 0.0, 1: 1.0}, abs=1e-15)
    case.episode.noise[:2] = [0.5, -0.25]
    kernels.sample_row.python(case.constants, case.learner, case.episode, 0, 0.8)
    assert case.row(0) == pytest.approx({0: 0.2, 1: 0.1}, rel=1e-15)
    assert case.episode.sets.mass[0] == pytest.approx(0.05, rel=1e-15)


@pytest.mark.parametrize(("estimate", "expected"), [(0.5, 0.25), (0.0, 0.0), (1.2, 0.0), (-0.1, 0.0)])
def test_draws_by_the_variance_are_those_of_an_outcome_with_the_estimated_mean(
    estimate: float, expected: float
) -> None:
    """spread w sqrt(q (1 - q) + w^2 + 0.04), q cut to [0, 1]."""
    case = arguments(sampled(spread=0.5, by_variance=True))
    found = kernels.deviation.python(case.constants, 0.5, estimate, 0.4)
    assert found == pytest.approx(0.5 * 0.4 * (expected + 0.16 + 0.04) ** 0.5)
    assert kernels.deviation.python(arguments(sampled()).constants, 0.5, estimate, 0.4) == pytest.approx(0.2)


def test_a_drawn_row_that_cannot_reach_the_goal_sums_to_one() -> None:
    case = arguments(sampled(spread=0.5))
    case.episode.noise[3:5] = [1.0, -0.5]
    kernels.sample_row.python(case.constants, case.learner, case.episode, 1, 0.4)
    # 0.5 + 0.2 and 0.5 - 0.1 exceed 1 by 0.1
    assert case.row(1) == pytest.approx({0: 0.65, 1: 0.35}, rel=1e-15)
    assert case.episode.sets.mass[1] == NO_GOAL


def test_a_known_row_is_a_point_in_the_order_of_the_support_without_the_goal() -> None:
    case = known_way()
    kernels.known_row.python(case.constants, case.episode, 0)
    # 0.2 / 4 + 0.4 * 3 / 4 = 0.35 and 0.3 / 4 = 0.075
    assert case.row(0) == pytest.approx({0: 0.35, 1: 0.075}, rel=1e-15)
    assert case.episode.sets.ball[0] == 0.0
    assert case.episode.sets.mass[0] == pytest.approx(0.35**2 + 0.075**2, rel=1e-15)


def test_in_intervals_a_known_row_has_no_length_and_has_the_goal() -> None:
    case = known_way(widths=sharp())
    kernels.known_row.python(case.constants, case.episode, 0)
    sets = case.episode.sets
    assert sets.used[0] == 3
    assert sets.state[:3].tolist() == [0, 1, 2]
    assert sets.low[:3] == pytest.approx([0.35, 0.075, 0.575], rel=1e-15)
    assert sets.low[:3].tobytes() == sets.high[:3].tobytes()


def test_a_known_loss_is_mixed_and_at_most_one() -> None:
    case = known_way()
    assert kernels.known_loss.python(case.constants, case.episode, 0) == pytest.approx(0.05 + 0.45)
    case.begin([0.1, 0.9000000000000001])  # mixtures may round to just above 1
    assert 1.0 * 0.1 + 1.0 * 0.9000000000000001 > 1.0
    assert kernels.known_loss.python(case.constants, case.episode, 2) == 1.0


@pytest.mark.parametrize(
    ("losses", "norm", "expected"),
    [
        ([0.8, 0.4], 0.5, 0.5 - 0.25 * 0.5),  # 0.8 / 4 + 0.4 * 3 / 4 less radius times norm
        ([0.8, 0.4], 2.0, 0.1),  # 0.5 - 0.5 is below the floor
        ([3.0, 3.0], 2.0, 1.0),  # 3 - 0.5 is above what a loss can be
    ],
)
def test_an_optimistic_loss_is_the_estimate_less_its_radius_clipped(
    losses: list[float], norm: float, expected: float
) -> None:
    case = arguments(optimistic())
    case.estimate(0, {}, losses)
    case.learner.loss_radius[0] = 0.25
    assert kernels.pair_loss.python(case.constants, case.learner, case.episode, 0, norm) == pytest.approx(expected)


def test_a_greedy_loss_is_the_estimate_and_a_drawn_one_has_noise() -> None:
    plain, drawn = arguments(greedy()), arguments(sampled(spread=0.5))
    for case in (plain, drawn):
        case.estimate(0, {}, [0.8, 0.4])
        case.learner.loss_radius[0] = 99.0
    assert kernels.pair_loss.python(plain.constants, plain.learner, plain.episode, 0, 0.2) == pytest.approx(0.5)
    drawn.episode.noise[SUPPORT.triples] = 3.0  # after the noise of the triples comes that of the pairs
    found = kernels.pair_loss.python(drawn.constants, drawn.learner, drawn.episode, 0, 0.2)
    assert found == pytest.approx(0.5 + 0.5 * 0.2 * 3.0)


def test_what_is_added_to_losses_comes_after_the_clipping() -> None:
    case = arguments(optimistic(), loss_floor=0.0, episodes=5000)
    added = case.constants.added_loss
    assert added > 0.0
    case.estimate(0, {}, [3.0, 3.0])
    case.estimate(1, {0: [0.5, 0.5], 1: [0.5, 0.5]}, [-3.0, -3.0])
    case.learner.loss_radius[:] = 0.0
    found = [kernels.pair_loss.python(case.constants, case.learner, case.episode, pair, 1.0) for pair in (0, 1)]
    assert found == [1.0 + added, added]


def test_rmax_sends_what_it_does_not_know_straight_to_the_goal_for_the_floor() -> None:
    # Without data V^-1 = I, and the sum of |c| is 1.
    for threshold, row, loss in ((1.0, {1: 0.2}, 0.5), (0.99, {}, 0.1)):
        case = arguments(rmax(threshold=threshold))
        case.estimate(0, {1: [0.5, 0.1]}, [0.8, 0.4])
        kernels.pair_set.python(case.constants, case.learner, case.episode, 0)
        assert case.row(0) == pytest.approx(row)
        assert case.episode.sets.losses[0] == pytest.approx(loss)
        assert case.episode.known_width[0] == 1.0


def test_a_pair_whose_row_is_known_is_as_wide_as_its_loss() -> None:
    row_only = PriorKnowledge.nothing(SUPPORT, 2).with_rows({(0, 0): [0.5, 0.25, 0.25]})
    for case, width in ((with_prior(row_only), 0.3 * 0.5), (known_way(), 0.0)):
        case.learner.loss_radius[0] = 0.3
        kernels.pair_row.python(case.constants, case.learner, case.episode, 0, 0.5)
        assert case.episode.known_width[0] == width


def taught(seed: int = 5) -> Arguments:
    """LR-CSSP after some steps of pair 0, looked at under the context."""
    learner = lr_cssp(SUPPORT, 2, loss_floor=0.1, loss_bound=5.0)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        episode = learner.begin(rng.dirichlet(np.ones(2)))
        episode.observe(Step(0, episode.act(0), float(rng.random()), int(rng.integers(3))))
    return arguments_of(learner, CONTEXT)


def test_the_set_of_a_pair_is_a_ball_of_radius_times_norm_around_its_row() -> None:
    case, context = taught(), np.array(CONTEXT)
    learner, episode = case.learner, case.episode
    kernels.pair_set.python(case.constants, learner, episode, 0)
    norm = math.sqrt(context @ np.linalg.solve(learner.regression.gram[0], context))
    assert episode.norm[0] == pytest.approx(norm, rel=1e-12)
    assert episode.sets.ball[0] == pytest.approx((learner.next_radius[0] * norm) ** 2, rel=1e-12)
    assert episode.known_width[0] == pytest.approx(learner.known_width[0] * norm, rel=1e-12)
    loss = float(learner.losses[0] @ context) - learner.loss_radius[0] * norm
    assert episode.sets.losses[0] == pytest.approx(max(0.1, loss), rel=1e-12)
    assert episode.revision[0] == learner.revision[0] == 1 + 20  # set before all data, then by each step
    assert episode.log_det[0] == learner.log_det[0] > 0.0
    assert episode.iteration.backup[0] == -np.inf


def test_where_nothing_was_played_intervals_are_everything_that_is_possible() -> None:
    case = arguments_of(LRCSSP(SUPPORT, 2, loss_floor=0.1, loss_bound=5.0, widths=sharp()), CONTEXT)
    for pair in range(3):
        kernels.pair_set.python(case.constants, case.learner, case.episode, pair)
    sets = case.episode.sets
    assert sets.losses.tolist() == [0.1, 0.1, 0.1]
    assert case.episode.loss_high.tolist() == [1.0, 1.0, 1.0]
    assert sets.low.tolist() == [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]  # pair 2 leads to the goal, whatever is played
    assert sets.high.tolist() == [1.0] * 6
    # half the sum of the lengths, 3 and 2; pair 2 has only its loss, between 0 and 1
    assert case.episode.known_width.tolist() == [1.5, 1.0, 0.5]


def test_intervals_of_known_pairs_have_no_width() -> None:
    case = known_way(widths=sharp())
    kernels.pair_set.python(case.constants, case.learner, case.episode, 0)
    assert case.episode.known_width[0] == 0.0
    assert case.episode.sets.losses[0] == case.episode.loss_high[0] == pytest.approx(0.5)


def test_both_forms_of_a_set_have_the_same_bits() -> None:
    one, other = taught(), taught()
    for pair in range(3):
        kernels.pair_set.python(one.constants, one.learner, one.episode, pair)
        kernels.pair_set.compiled(other.constants, other.learner, other.episode, pair)
    for mine, theirs in zip(one.episode.sets, other.episode.sets, strict=True):
        assert np.asarray(mine).tobytes() == np.asarray(theirs).tobytes()
    assert one.episode.known_width.tobytes() == other.episode.known_width.tobytes()
