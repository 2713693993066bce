"""The witnesses of the learner against each other, and against arithmetic that fits on a page."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.models import SSP, LinearCSSP, Step, Support
from tests.reference import exact
from tests.reference.lr_cssp import NaiveLRCSSP
from tests.reference.optimism import contains, inner_minimum, inner_minimum_by_cone, next_states, optimistic_values
from tests.reference.projection import kkt_violation, on_the_sub_simplex, projected, v_norm
from tests.support.estimates import any_rows, balls, ridge_estimates
from tests.support.strategies import examples, ssps

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


@given(any_rows())
def test_a_point_moved_off_the_projection_violates_the_conditions(drawn: tuple[Floats, Floats, Floats]) -> None:
    rows, others, gram = drawn
    answer, other = projected(rows, gram), projected(others, gram)
    moved = answer + 1e-3 * (other - answer)  # still inside, for the set is convex
    if np.abs(other - answer).max() > 1e-6:
        assert kkt_violation(rows, gram, moved) > 1e-10


@examples(50)
@given(any_rows())
def test_projecting_twice_changes_nothing_and_never_takes_points_apart(drawn: tuple[Floats, Floats, Floats]) -> None:
    rows, others, gram = drawn
    one, other = projected(rows, gram), projected(others, gram)
    np.testing.assert_allclose(projected(one, gram), one, atol=1e-12)
    assert v_norm(one - other, gram) <= v_norm(rows - others, gram) * (1.0 + 1e-12)


@examples(50)
@given(any_rows(size=1))
def test_with_one_component_the_projection_lowers_all_rows_alike(drawn: tuple[Floats, Floats, Floats]) -> None:
    rows, _, gram = drawn
    by_hand = on_the_sub_simplex([Fraction(x) for x in rows[:, 0]])
    np.testing.assert_allclose(projected(rows, gram)[:, 0], [float(x) for x in by_hand], atol=1e-12)


@given(any_rows())
def test_with_a_diagonal_gram_matrix_the_columns_do_not_know_each_other(drawn: tuple[Floats, Floats, Floats]) -> None:
    rows, _, gram = drawn
    by_hand = [on_the_sub_simplex([Fraction(x) for x in column]) for column in rows.T]
    diagonal = np.diag(np.diag(gram))
    np.testing.assert_allclose(projected(rows, diagonal), np.array(by_hand, dtype=np.float64).T, atol=1e-12)


def test_an_entry_cut_off_pulls_the_other_along() -> None:
    # P[0, 1] = 0 is tight; the slope of P[0, 0] is 0: 2 (p - 0.5) + 1 (0 + 0.25) = 0, so p = 0.375
    answer = projected(np.array([[0.5, -0.25]]), np.array([[2.0, 1.0], [1.0, 2.0]]))
    np.testing.assert_allclose(answer, [[0.375, 0.0]], atol=1e-15)
    assert projected(np.zeros((0, 2)), np.eye(2)).shape == (0, 2)


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


def test_two_next_states_of_a_three_four_five_triangle() -> None:
    # the step of length 1/4 goes along (3, 4) / 5: q = (0.5 - 0.15, 0.5 - 0.2), value 0.35 * 3 + 0.3 * 4 = 2.25
    value, q = inner_minimum([0.5, 0.5], 0.25, [3.0, 4.0])
    assert value == pytest.approx(2.25, abs=1e-15)
    np.testing.assert_allclose(q, [0.35, 0.3], atol=1e-15)
    # the second state has only 0.04 to give; the first gives sqrt(0.25^2 - 0.04^2) = sqrt(0.0609)
    value, q = inner_minimum([0.5, 0.04], 0.25, [3.0, 4.0])
    np.testing.assert_allclose(q, [0.5 - math.sqrt(0.0609), 0.0], atol=1e-15)
    assert inner_minimum([0.5, 0.5], 0.8, [3.0, 4.0])[0] == 0.0  # sqrt(0.5) reaches the goal surely
    assert inner_minimum([], 0.8, [])[0] == 0.0


def rows_without_goal(ssp: SSP) -> list[Floats]:
    support = ssp.support
    inside = [support.next_state[support.row(pair)] != support.states for pair in range(support.pairs)]
    return [ssp.probabilities[support.row(pair)][inside[pair]] for pair in range(support.pairs)]


@examples(40)
@given(ssps(proper=True, most_states=3, most_actions=2), st.data())
def test_a_set_that_contains_the_truth_has_values_at_most_the_true_ones(ssp: SSP, data: st.DataObject) -> None:
    support = ssp.support
    losses, rows = 0.5 + ssp.losses / 2.0, rows_without_goal(ssp)
    shifts = data.draw(st.lists(st.integers(0, 4), min_size=support.pairs, max_size=support.pairs))
    centres = [row * (1.0 - shift / 8.0) for row, shift in zip(rows, shifts, strict=True)]
    radii = [float(np.linalg.norm(row - centre)) * 1.01 for row, centre in zip(rows, centres, strict=True)]
    low = losses * 0.75
    assert contains(low, centres, radii, (losses, rows))
    truth = exact.optimal_values(SSP(support, losses, ssp.probabilities))
    if max(truth) < 100:  # plain value iteration takes as many sweeps as the problem takes steps
        values = optimistic_values(support, low, centres, radii, tolerance=1e-8)
        assert (values <= np.array([float(v) for v in truth]) * (1.0 + 1e-12)).all()
        if any(len(row) for row in rows):
            moved = [centre + 2.0 * radius + 1e-6 for centre, radius in zip(centres, radii, strict=True)]
            assert not contains(low, moved, radii, (losses, rows))


@examples(20)
@given(ssps(proper=True, most_states=3, most_actions=2))
def test_without_radii_the_optimistic_values_are_the_optimal_ones(ssp: SSP) -> None:
    support = ssp.support
    losses = 0.5 + ssp.losses / 2.0
    truth = [float(v) for v in exact.optimal_values(SSP(support, losses, ssp.probabilities))]
    if max(truth) < 100:
        values = optimistic_values(support, losses, rows_without_goal(ssp), [0.0] * support.pairs)
        np.testing.assert_allclose(values, truth, rtol=3e-10)
        assert (values <= np.array(truth) * (1.0 + 1e-12)).all()  # from below


ONE_STATE = Support.full(1, 2)
"""state 0 with two actions, each of which may stay or reach the goal"""
LOOP = Support.full(1, 1)
"""state 0 with one action"""


def test_three_steps_of_the_learner_by_hand() -> None:
    # N = 2 pairs and 2 triples, so rho = rho of the losses = sqrt(2 log(16 (1 + tau) / delta)) + 1. With
    # delta = 16 e^-4.5 that is sqrt(9) + 1 = 4 at tau = 0, and sqrt(2 (4.5 + log 2)) + 1 = 4.2227774 at tau = 1;
    # times the scale 0.05: 0.2 and 0.21113887.
    learner = NaiveLRCSSP(ONE_STATE, 2, delta=16.0 * math.exp(-4.5), loss_floor=0.1, scale=0.05)
    learner.begin([1.0, 0.0])

    # Interval 1. No data: L = 0, P = 0, w = 1. Both losses are 0 - 0.2, raised to 0.1; both rows are 0. A tie at 0.1.
    assert learner.act(0) == 0
    np.testing.assert_allclose(learner.values, [0.1, 0.0], atol=1e-15)
    assert [learner.next_radius(0), learner.loss_radius(1), learner.beta(0)] == pytest.approx([0.2, 0.2, 0.2])
    # 10 * max(0.2, sqrt(log(4 / delta)) = sqrt(4.5 - log 4) = 1.76) * 1 is not below 0.1
    assert not learner.known(0)
    learner.observe(Step(0, 0, 0.8, 0))
    assert learner.interval == 2

    # Interval 2. Pair 0 has V = diag(2, 1): L = (0.4, 0), P = (0.5, 0), w = sqrt(1 / 2). The ball of the loss, and of
    # the row: 0.21113887 * 0.70710678 = 0.14929773. Loss 0.25070227, q = 0.35070227. Pair 1 as before: 0.1, the better.
    assert learner.act(0) == 1
    np.testing.assert_allclose(learner.estimate(0).gram, np.diag([2.0, 1.0]))
    np.testing.assert_allclose(learner.estimate(0).losses, [0.4, 0.0], atol=1e-15)
    np.testing.assert_allclose(learner.estimate(0).rows, [[0.5, 0.0]], atol=1e-15)
    assert learner.values[0] == pytest.approx(0.1)
    assert learner.next_radius(0) == pytest.approx(0.21113887, abs=1e-8)
    learner.observe(Step(0, 1, 1.0, 1))
    assert learner.interval == 3

    # Interval 3, context (1/2, 1/2). Both pairs: w = sqrt(1/4 * 1/2 + 1/4 * 1) = 0.61237244, ball 0.12929563.
    # Pair 0: L.c = 0.2, minus the ball 0.0707, raised to 0.1; q = 0.25 - 0.12929563 = 0.12070437;
    #         for ever: v = 0.1 / (1 - 0.12070437) = 0.11372739.
    # Pair 1: L.c = 0.25, minus the ball 0.12070437; q = 0. So pair 0 is the better.
    learner.begin([0.5, 0.5])
    assert learner.act(0) == 0
    assert learner.values[0] == pytest.approx(0.11372739, abs=1e-8)
    learner.observe(Step(0, 0, 0.0, 1))
    assert (learner.interval, learner.loss_bound, len(learner.data)) == (4, 1.0, 3)

    # Pair 0 now: V = diag(2, 1) + 1/4 everywhere, of determinant 45/16 - 1/16 = 11/4; V^-1 (1, 0) = (5, -1) / 11.
    # Losses: 0.8 of that, (4/11, -4/55). Ridge row: (5/11, -1/11); -1/11 is cut to 0, which pulls the first entry to
    # 5/11 - (V01 / V00) / 11 = 5/11 - 1/99 = 4/9.
    estimate = learner.estimate(0)
    assert estimate.visits == 2
    np.testing.assert_allclose(estimate.gram, [[2.25, 0.25], [0.25, 1.25]])
    np.testing.assert_allclose(estimate.losses, [4 / 11, -4 / 55], atol=1e-15)
    np.testing.assert_allclose(estimate.rows, [[4 / 9, 0.0]], atol=1e-15)


def test_printed_widths_leave_out_the_root_of_the_next_states() -> None:
    # three states, full support: 3 next states other than the goal for each of 3 pairs, so log(8 * 9 / delta)
    made = {
        kind: NaiveLRCSSP(Support.full(3, 1), 1, delta=0.5, loss_floor=0.1, widths=kind)
        for kind in ("paper", "printed")
    }
    rho = math.sqrt(math.log(8 * 9 / 0.5)) + 1.0
    assert made["printed"].next_radius(0) == pytest.approx(rho)
    assert made["paper"].next_radius(0) == pytest.approx(math.sqrt(3.0) * rho)
    for learner in made.values():
        assert learner.beta(0) == pytest.approx(3.0 * rho)
        assert learner.loss_radius(0) == pytest.approx(math.sqrt(math.log(8 * 3 / 0.5)) + 1.0)


def test_a_known_pair_keeps_the_plan_until_the_goal() -> None:
    # w = 1 / sqrt(1000), and scale 0 leaves the root of the logarithm: 10 sqrt(log(4 / 0.5)) / sqrt(1000) = 0.456 < 0.5
    learner = NaiveLRCSSP(LOOP, 1, delta=0.5, loss_floor=0.5, loss_bound=1.0, scale=0.0, regularization=1000.0)
    learner.begin([1.0])
    for _ in range(3):
        learner.act(0)
        assert learner.known(0)
        learner.observe(Step(0, 0, 1.0, 0))
        assert learner.interval == 1
    learner.act(0)
    learner.observe(Step(0, 0, 1.0, 1))
    assert learner.interval == 2


@pytest.mark.parametrize(("floor", "episodes", "loss"), [(1.0, None, 1.0), (0.0, 1, 0.0)])
def test_an_interval_that_loses_too_much_doubles_the_bound_and_ends(
    floor: float, episodes: int | None, loss: float
) -> None:
    # All is known: 10 sqrt(log 8) / sqrt(1e5) = 0.046 < 1. 48 * 1 * log(4 / 0.5) = 99.8, so the 100th loss of 1 is too
    # much; so is the 100th loss of 0 where eps = 1 is added to it.
    learner = NaiveLRCSSP(LOOP, 1, delta=0.5, loss_floor=floor, episodes=episodes, scale=0.0, regularization=1e5)
    learner.begin([1.0])
    for count in range(1, 101):
        learner.act(0)
        assert learner.known(0)
        learner.observe(Step(0, 0, loss, 0))
        assert (learner.loss_bound, learner.interval) == ((1.0, 1) if count < 100 else (2.0, 2))


@pytest.mark.parametrize(("keep", "bounds", "samples"), [(True, [1, 1, 2, 4], 3), (False, [1, 1, 2, 2], 1)])
def test_a_plan_above_the_bound_doubles_it_until_it_fits(keep: bool, bounds: list[int], samples: int) -> None:
    # Without widths, after n steps that stay at loss 1: L = P = n / (1 + n), so v = L / (1 - P) = n. It passes 1 at
    # n = 2 and 2 at n = 3. Forgetting at n = 2 leaves no data; at the third step there is one sample.
    learner = NaiveLRCSSP(LOOP, 1, delta=0.5, loss_floor=0.5, scale=0.0, keep=keep)
    learner.begin([1.0])
    seen = []
    for _ in range(4):
        learner.act(0)
        seen.append(learner.loss_bound)
        at_plan = len(learner.data)
        learner.observe(Step(0, 0, 1.0, 0))
    assert (seen, at_plan) == (bounds, samples)


def test_the_variant_for_zero_losses_adds_epsilon_to_the_clipped_loss() -> None:
    # eps = 1 * (1 * 2 / 2000)^(1/3) = 0.1. Without widths, pair 0 after a free step to the goal: 0 + 0.1; so is pair 1.
    learner = NaiveLRCSSP(ONE_STATE, 1, delta=0.5, episodes=2000, scale=0.0)
    assert learner.loss_floor == pytest.approx(0.1)
    learner.begin([1.0])
    assert learner.act(0) == 0
    learner.observe(Step(0, 0, 0.0, 1))
    learner.begin([1.0])
    assert learner.act(0) == 0
    assert learner.values[0] == pytest.approx(0.1)
    # a loss of 1 to the goal: L = (0 + 1) / 3, so pair 0 is 1/3 + 0.1 and pair 1 is the better
    learner.observe(Step(0, 0, 1.0, 1))
    learner.begin([1.0])
    assert learner.act(0) == 1
    assert NaiveLRCSSP(ONE_STATE, 1, delta=0.5, episodes=1).extra_loss == 1.0  # capped


def test_an_episode_left_open_ends_its_interval() -> None:
    learner = NaiveLRCSSP(LOOP, 1, delta=0.5, loss_floor=0.5, loss_bound=1.0, scale=0.0, regularization=1000.0)
    learner.begin([1.0])
    learner.act(0)
    learner.observe(Step(0, 0, 1.0, 0))  # known: the plan is held
    learner.begin([1.0])
    assert learner.interval == 2


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
