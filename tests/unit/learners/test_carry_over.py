"""Sums that begin with something else, supports that lack something, and what is kept of likelihoods and variances."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound import widths
from goalbound.errors import ArgumentError
from goalbound.kernels.lattice import new_lattice
from goalbound.learners.carry_over import _cells_within, _rebased
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.models import IntervalSet, Step, Support
from tests.support.driving import reloaded
from tests.support.seen_steps import RAGGED

terms = st.lists(st.floats(0.0, 1.0), max_size=30)
ridges = st.sampled_from([1e-9, 0.01, 0.1, 1.0, 3.7, 1e9])


@given(terms, ridges, ridges)
def test_sums_that_begin_with_another_number_are_the_exact_ones_rounded_once(
    given: list[float], old: float, new: float
) -> None:
    """The witness adds fractions."""
    exact = sum(map(Fraction, given), Fraction(old))
    high = float(exact)
    low = float(exact - Fraction(high))
    found, rest = _rebased(np.array([high]), np.array([low]), np.array([old]), np.array([new]))
    wanted = exact - Fraction(old) + Fraction(new)
    error = abs(Fraction(float(found[0])) + Fraction(float(rest[0])) - wanted)
    assert error <= Fraction(2.0**-100) * (exact + Fraction(old) + wanted)
    assert abs(Fraction(float(found[0])) - wanted) <= Fraction(2.0**-52) * wanted + error


@given(terms)
def test_sums_that_begin_with_the_same_number_stay_as_they_are(given: list[float]) -> None:
    high, low = np.array([sum(given)]), np.array([1e-17])
    found, rest = _rebased(high, low, np.array([0.1]), np.array([0.1]))
    assert (found[0], rest[0]) == (high[0], low[0])


@pytest.mark.parametrize(
    ("support", "said"),
    [
        (
            Support.from_pairs([{0: [1]}], state_names=["a"], action_names=["x"]),
            'the learner: state "b" is not in the support',
        ),
        (
            Support.from_pairs([{0: [3]}, {0: [3]}, {0: [3]}], state_names=["a", "b", "c"], action_names=["x"]),
            'the learner: action "y" is not in the support',
        ),
        (Support.full(2, 3), "the learner: state 2 is not in the support, whose last is 1"),
        (Support.full(3, 2), "the learner: action 2 is not in the support, whose last is 1"),
        (Support.from_pairs([{0: [1, 3], 2: [3]}, {1: [3]}, {0: [3]}]), "which the support does not allow"),
        (
            Support.from_pairs([{0: [1, 3]}, {1: [3], 2: [3]}, {0: [3]}]),
            'the learner: state 0 ("a"), action 2 ("z") is not in the support',
        ),
    ],
)
def test_a_support_that_lacks_something_is_refused(support: Support, said: str) -> None:
    with pytest.raises(ArgumentError) as error:
        LRCSSP(RAGGED, 2, loss_floor=0.1).extended(support)
    assert said in str(error.value)


STAY = Support.from_names({"a": {"x": ["a", "goal"], "y": ["a", "goal"]}})
MORE_STATES = Support.from_names({"new": {"x": ["a", "goal"]}, "a": {"x": ["a", "goal"], "y": ["a", "goal"]}})
MORE_NEXT = Support.from_names({"a": {"x": ["a", "new", "goal"], "y": ["a", "goal"]}, "new": {"x": ["a", "goal"]}})
CONTEXTS = [[0.5, 0.5], [0.1, 0.9], [1.0, 0.0]]


@pytest.fixture(scope="module")
def log() -> list[tuple[Any, Step]]:
    rng = np.random.default_rng(0)
    return [
        (rng.dirichlet([1.0, 1.0]), Step("a", "xy"[k % 2], float(rng.random() < 0.05), "goal" if k % 10 else "a"))
        for k in range(1200)
    ]


def by_likelihood(support: Support, log: list[tuple[Any, Step]], **more: Any) -> LRCSSP:
    learner = LRCSSP(support, 2, loss_floor=0.01, **more)
    learner.learn_log(log)
    return learner


def lengths(learner: LRCSSP, action: str, context: list[float]) -> tuple[float, float]:
    """Of the intervals of the loss of an action in state a, and of its first next state."""
    found, pair = learner.confidence_set(context), learner.support.pair("a", action)
    assert isinstance(found, IntervalSet)
    place = learner.support.next_start[pair]
    return float(found.loss_high[pair] - found.loss_low[pair]), float(found.high[place] - found.low[place])


def test_with_the_same_settings_the_numbers_are_the_same_to_the_bit(log: list[tuple[Any, Step]]) -> None:
    learner = by_likelihood(STAY, log)
    again = learner.with_settings(delta=learner.settings.delta)
    for name in ("low", "high", "bounded", "log_loss", "visits", "fitted", "estimate", "shift", "ones"):
        mine, theirs = getattr(again._state.likelihood, name), getattr(learner._state.likelihood, name)
        np.testing.assert_array_equal(mine, theirs, err_msg=name)
    np.testing.assert_array_equal(again._state.variance, learner._state.variance)
    for one in (learner, again):
        one.learn_log(log[:200])
    for context in CONTEXTS:
        mine, theirs = again.confidence_set(context), learner.confidence_set(context)
        assert isinstance(mine, IntervalSet)
        assert isinstance(theirs, IntervalSet)
        for name in ("loss_low", "loss_high", "low", "high"):
            np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name), err_msg=name)


@pytest.mark.parametrize("support", [MORE_STATES, MORE_NEXT])
def test_on_a_larger_support_sets_by_likelihood_are_a_little_wider(
    support: Support, log: list[tuple[Any, Step]]
) -> None:
    learner = by_likelihood(STAY, log)
    larger, twin = learner.extended(support), by_likelihood(support, log)
    for context in CONTEXTS:
        for action in "xy":
            wide, fresh = np.array(lengths(larger, action, context)), np.array(lengths(twin, action, context))
            assert (wide <= 1.25 * fresh).all()  # which has bounds of earlier times too
    reloaded(larger)  # the file is as it should be
    larger.learn_log(log[:100])
    assert larger.alarm is None


def test_bounds_of_more_numbers_are_computed_for_their_smaller_share(log: list[tuple[Any, Step]]) -> None:
    learner = by_likelihood(STAY, log)
    state, other = learner._state.likelihood, learner.extended(MORE_STATES)._state.likelihood
    at, now = int(state.first[STAY.pair("a", "x")]), int(other.first[MORE_STATES.pair("a", "x")])
    np.testing.assert_array_equal(other.log_loss[now], state.log_loss[at])
    assert other.rows[other.miss_rows[now]].sum() == pytest.approx(state.rows[state.miss_rows[at]].sum())
    assert (other.bounded[MORE_STATES.pair("a", "x")], other.visits[MORE_STATES.pair("a", "x")]) == (600, 600)


def test_with_a_larger_delta_bounds_never_get_wider(log: list[tuple[Any, Step]]) -> None:
    learner = by_likelihood(STAY, log)
    surer, bolder = learner.with_settings(delta=0.01), learner.with_settings(delta=0.3)
    for context in CONTEXTS:
        for action in "xy":
            narrow, same, wide = (np.array(lengths(one, action, context)) for one in (bolder, learner, surer))
            assert (narrow <= same).all()
            assert (same < wide).any()


def test_what_sharp_sets_have_seen_has_no_forecasts(log: list[tuple[Any, Step]]) -> None:
    learner = by_likelihood(STAY, log, widths=widths.sharp())
    assert not learner.with_settings(widths=widths.likelihood())._state.likelihood.visits.any()


def test_on_another_lattice_the_cells_go_into_the_nearest_ones() -> None:
    old, new = new_lattice(2, 12), new_lattice(2, 4)
    cells = _cells_within(old, new)
    points, others = old.vertices / old.steps, new.vertices / new.steps
    for cell, point in zip(cells.tolist(), points, strict=True):
        assert np.abs(others[cell] - point).max() <= 0.5 / new.steps + 1e-12
    np.testing.assert_array_equal(_cells_within(old, old), np.arange(len(old.vertices)))


def test_delta_pays_for_two_extensions_of_sharp_sets_and_then_each_visit_counts_with_a_quarter() -> None:
    learner = LRCSSP(Support.full(1, 1), 1, loss_floor=0.1, widths=widths.sharp())
    learner.learn_log([([1.0], Step(0, 0, 0.5, 0 if k % 9 == 0 else 1)) for k in range(90)])
    first = float(learner._state.variance[0, 0])
    for actions, trusted in ((2, 1), (3, 2)):
        learner = learner.extended(Support.full(1, actions))
        assert learner._trusted == pytest.approx(trusted * 0.1 / 8)
        assert learner._state.variance[0, 0] == first < 90 / 4
    learner = learner.extended(Support.full(1, 4))
    assert (learner._trusted, learner._state.variance[0, 0]) == (0.0, 90 / 4)
    assert learner.with_settings(loss_floor=0.05)._trusted == 0.0
