"""Ridge estimates, their projection, and the problem that a projected estimate is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.confidence import Statistics, project, ridge_estimate
from goalbound.errors import InputError
from goalbound.models import LinearCSSP, Step, Support
from goalbound.planning import solve
from tests.reference.optimism import is_stochastic, next_states
from tests.reference.projection import kkt_violation, projected
from tests.support.seen_steps import RAGGED, Seen, some_steps, statistics_of
from tests.support.strategies import contexts, examples


@examples(40)
@given(some_steps, st.sampled_from([1.0, 0.1, 10.0]))
def test_ridge_estimates_are_least_squares_with_a_penalty(seen: Seen, ridge: float) -> None:
    estimate = ridge_estimate(statistics_of(RAGGED, 2, seen, ridge))
    for pair in range(RAGGED.pairs):
        mine = [(c, step) for c, step in seen if RAGGED.pair(step.state, step.action) == pair]
        # the penalty as two more samples: contexts sqrt(lambda) e_j with target 0
        left = np.vstack([*(c for c, _ in mine), np.sqrt(ridge) * np.eye(2)])
        for number, following in enumerate(next_states(RAGGED, pair)):
            hits = np.array([*(step.next_state == following for _, step in mine), 0.0, 0.0])
            wanted = np.linalg.lstsq(left, hits, rcond=None)[0]
            np.testing.assert_allclose(estimate.rows[RAGGED.row(pair)][number], wanted, atol=1e-12)
        losses = np.array([*(step.loss for _, step in mine), 0.0, 0.0])
        np.testing.assert_allclose(estimate.losses[pair], np.linalg.lstsq(left, losses, rcond=None)[0], atol=1e-12)


@examples(40)
@given(some_steps)
def test_the_goal_has_what_the_others_lack(seen: Seen) -> None:
    ridge = ridge_estimate(statistics_of(RAGGED, 2, seen))
    for estimate in (ridge, project(ridge)):
        sums = np.add.reduceat(estimate.rows, RAGGED.next_start[:-1], axis=0)
        # The last pair cannot lead to the goal: its regression may sum to anything, its projection sums to 1.
        np.testing.assert_allclose(sums if estimate.projected else sums[:3], 1.0, atol=1e-14)
        np.testing.assert_array_equal(estimate.rows[RAGGED.row(2)], [[1.0, 1.0]])  # the goal is all it has


@examples(40)
@given(some_steps)
def test_pairs_are_projected_each_in_its_own_norm(seen: Seen) -> None:
    ridge = ridge_estimate(statistics_of(RAGGED, 2, seen, 0.1))
    answer = project(ridge)
    for pair in range(RAGGED.pairs):
        inside = slice(RAGGED.row(pair).start, RAGGED.row(pair).start + len(next_states(RAGGED, pair)))
        wanted = projected(np.array(ridge.rows[inside]), ridge.gram[pair], stochastic=is_stochastic(RAGGED, pair))
        np.testing.assert_allclose(answer.rows[inside], wanted, rtol=0.0, atol=1e-10)
    np.testing.assert_array_equal(answer.losses, ridge.losses)
    assert (ridge.projected, answer.projected) == (False, True)


@examples(40)
@given(some_steps, some_steps)
def test_where_the_projection_starts_is_not_seen_in_the_answer(seen: Seen, others: Seen) -> None:
    ridge = ridge_estimate(statistics_of(RAGGED, 2, seen, 0.1))
    cold = project(ridge)
    other = project(ridge_estimate(statistics_of(RAGGED, 2, others)))
    for start in (cold, other, ridge):
        np.testing.assert_allclose(project(ridge, start=start).rows, cold.rows, rtol=0.0, atol=1e-12)


@given(some_steps)
def test_projecting_twice_changes_nothing(seen: Seen) -> None:
    once = project(ridge_estimate(statistics_of(RAGGED, 2, seen)))
    np.testing.assert_allclose(project(once).rows, once.rows, rtol=0.0, atol=1e-12)


@examples(40)
@given(some_steps)
def test_next_states_never_seen_stay_zero_where_the_goal_can_take_what_is_missing(seen: Seen) -> None:
    statistics = statistics_of(RAGGED, 2, seen)
    rows = project(ridge_estimate(statistics)).rows
    to_state = (RAGGED.next_state < RAGGED.states) & np.repeat(RAGGED.leads_to_goal, np.diff(RAGGED.next_start))
    never = to_state & ~statistics.next_sums.any(axis=1)
    assert not rows[never].any()


@examples(40)
@given(some_steps)
def test_a_wider_support_changes_no_bit_of_what_was_seen(seen: Seen) -> None:
    wide = Support.from_pairs([{0: range(4), 2: range(4)}, {1: range(4)}, {0: range(4)}])
    answers = [project(ridge_estimate(statistics_of(support, 2, seen))) for support in (RAGGED, wide)]
    for pair in np.flatnonzero(RAGGED.leads_to_goal).tolist():  # of the others it says something that they did not know
        for place, following in zip(
            range(*RAGGED.row(pair).indices(99)), RAGGED.next_state[RAGGED.row(pair)], strict=True
        ):
            if following != RAGGED.states:
                there = wide.row(pair).start + int(following)
                assert answers[0].rows[place].tobytes() == answers[1].rows[there].tobytes()


def test_a_projected_estimate_is_a_problem() -> None:
    # One step of (2, 0) shows half of the mass (1 / (1 + 1)). It leads to 0 and 2 only, who share the rest: 3/4 and
    # 1/4. Losses: 1 / 2, so 0.5 / (3/4) is lost until it is left; from 0 and 1 the goal is free.
    statistics = statistics_of(RAGGED, 1, [(np.ones(1), Step(2, 0, 1.0, 0))])
    model = project(ridge_estimate(statistics)).model()
    assert isinstance(model, LinearCSSP)
    assert model.support == RAGGED
    np.testing.assert_allclose(model.probabilities[RAGGED.row(3), 0], [0.75, 0.25])
    np.testing.assert_allclose(model.losses[:, 0], [0.0, 0.0, 0.0, 0.5])
    np.testing.assert_allclose(solve(model.at([1.0])).values, [0.0, 0.0, 2.0 / 3.0, 0.0])


@examples(30)
@given(some_steps, contexts(2))
def test_the_model_mixes_as_the_estimate_does(seen: Seen, context: np.ndarray) -> None:
    estimate = project(ridge_estimate(statistics_of(RAGGED, 2, seen)))
    ssp = estimate.model().at(context)
    for pair in range(RAGGED.pairs):
        row = ssp.probabilities[ssp.support.row(pair)]
        np.testing.assert_allclose(row, estimate.rows[RAGGED.row(pair)] @ context, atol=1e-12)
        assert row.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(ssp.losses, np.clip(estimate.losses, 0.0, 1.0) @ context, atol=1e-14)


def test_a_ridge_estimate_is_no_problem() -> None:
    with pytest.raises(InputError, match="its rows may be negative; project it first"):
        ridge_estimate(Statistics(RAGGED, 2)).model()


def test_estimates_cannot_be_written_and_do_not_change_as_data_comes() -> None:
    statistics = statistics_of(RAGGED, 2, [(np.array([0.5, 0.5]), Step(0, 0, 0.5, 1))])
    estimate = project(ridge_estimate(statistics))
    before = estimate.gram.copy()
    statistics.record([0.5, 0.5], Step(0, 0, 0.5, 3))
    np.testing.assert_array_equal(estimate.gram, before)
    for array in (estimate.losses, estimate.rows, estimate.gram):
        assert not array.flags.writeable


def test_a_pair_seen_for_ever_under_one_context_is_projected_well() -> None:
    # V = I + 1e6 c c^T for c = (0.4, 0.3, 0.2, 0.1) has condition number 1 + 1e6 * 0.3 = 3e5; one step under another
    # context pushes the estimate out of the simplex.
    support = Support.full(2, 1)
    statistics = Statistics(support, 4)
    memory, common = statistics.regression, np.array([0.4, 0.3, 0.2, 0.1])
    statistics.record(common, Step(0, 0, 0.5, 0))
    statistics.record([0.0, 0.0, 0.0, 1.0], Step(0, 0, 0.5, 1))
    memory.gram[0] += 1e6 * np.outer(common, common)
    memory.inverse[0] = np.linalg.inv(memory.gram[0])
    memory.next_sums[0] += 0.9e6 * common
    ridge = ridge_estimate(statistics)
    answer = project(ridge)
    assert kkt_violation(np.array(ridge.rows[:2]), ridge.gram[0], answer.rows[:2]) <= 1e-12
    np.testing.assert_allclose(
        answer.rows[:2], projected(np.array(ridge.rows[:2]), ridge.gram[0]), rtol=0.0, atol=1e-10
    )
    assert answer.rows[0] @ common == pytest.approx(0.9, abs=1e-4)


def test_it_says_what_it_is() -> None:
    estimate = ridge_estimate(Statistics(RAGGED, 2))
    assert repr(estimate) == "Estimate(ridge, 3 states, 4 pairs, 9 next states)"
    assert repr(project(estimate)) == "Estimate(projected, 3 states, 4 pairs, 9 next states)"
