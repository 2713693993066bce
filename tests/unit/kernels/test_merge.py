"""Two learners as one: what they saw adds up, and the sets hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound import widths
from goalbound.estimation import Widths
from goalbound.kernels.merge import log_det_bound
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.ridge import GreedyRidge, PosteriorSampling
from goalbound.models import IntervalSet, LinearCSSP, Step, Support
from tests.support.behaviour import Log, at_random, by_context_and_past, log_of
from tests.support.driving import play_one, small_problem, written
from tests.support.kernel_forms import COMPILED, PYTHON, kernels
from tests.support.seen_steps import RAGGED, some_steps

WIDTHS = {
    "sharp": widths.sharp(), "likelihood": widths.likelihood(), "paper": widths.paper(),
    "narrow": widths.scaled(widths.paper(), by=0.01),
}  # fmt: skip
SUMS = ("gram", "loss_sums", "next_sums")


def a_learner(rule: str = "sharp", **more: Any) -> LRCSSP:
    return LRCSSP(RAGGED, 2, loss_floor=0.1, widths=WIDTHS[rule], **more)


@given(some_steps, some_steps, st.sampled_from(sorted(WIDTHS)))
def test_merged_sums_are_those_of_one_who_saw_it_all(first: Log, second: Log, rule: str) -> None:
    one, other, whole = (a_learner(rule) for _ in range(3))
    one.learn_log(first)
    other.learn_log(second)
    whole.learn_log([*first, *second])
    before = written(other)
    one.merge(other)
    assert written(other) == before
    np.testing.assert_array_equal(one.statistics.visits, whole.statistics.visits)
    np.testing.assert_array_equal(one.statistics.regression.seen, whole.statistics.regression.seen)
    for name in SUMS:
        np.testing.assert_allclose(getattr(one.statistics, name), getattr(whole.statistics, name), rtol=4e-16)
    np.testing.assert_allclose(one.statistics.inverse_gram, whole.statistics.inverse_gram, rtol=1e-12, atol=1e-15)
    exact = np.linalg.slogdet(one.statistics.gram)[1]
    assert (one._state.log_det >= exact - 1e-15).all()
    np.testing.assert_allclose(one._state.log_det, exact, atol=1e-11)
    if rule == "paper":
        for name in ("losses", "rows", "loss_radius", "next_radius", "known_width"):
            np.testing.assert_allclose(getattr(one._state, name), getattr(whole._state, name), rtol=1e-9, atol=1e-12)


@given(some_steps, some_steps, st.sampled_from(sorted(WIDTHS)))
def test_merging_compiled_and_as_python_gives_the_same_bits(first: Log, second: Log, rule: str) -> None:
    found = []
    for way in (PYTHON, COMPILED):
        one, other = a_learner(rule), a_learner(rule)
        one.learn_log(first)
        other.learn_log(second)
        with kernels(way):
            one.merge(other)
        found.append(written(one))
    assert found[0] == found[1]


@given(some_steps)
def test_nothing_is_added_by_who_saw_nothing(seen: Log) -> None:
    """And who saw nothing knows then what the other knows, the order in which next states were found aside."""
    one, empty = a_learner(), a_learner()
    one.learn_log(seen)
    kept = {name: array.copy() for name, array in one._state_arrays()}
    one.merge(empty)
    for name, array in one._state_arrays():
        if name != "state.totals.changes":
            assert array.tobytes() == kept[name].tobytes(), name
    empty.merge(one)
    np.testing.assert_array_equal(empty.statistics.visits, one.statistics.visits)
    for name in SUMS:
        np.testing.assert_allclose(getattr(empty.statistics, name), getattr(one.statistics, name), rtol=4e-16)
    np.testing.assert_allclose(empty._state.variance, one._state.variance, rtol=1e-14)
    sets = [learner.confidence_set([0.25, 0.75]) for learner in (empty, one)]
    for name in ("loss_low", "loss_high", "low", "high"):
        np.testing.assert_allclose(getattr(sets[0], name), getattr(sets[1], name), atol=1e-9)


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("regularization", [1e-3, 1.0, 100.0])
def test_the_determinant_of_a_gram_matrix_is_bounded_from_above(size: int, regularization: float) -> None:
    contexts = np.random.default_rng(size).dirichlet(np.ones(size), 500)
    gram = regularization * np.eye(size) + contexts.T @ contexts
    bound = log_det_bound.python(gram, regularization, np.zeros((size, size)))
    exact = np.linalg.slogdet(gram / regularization)[1]
    assert exact - 1e-13 <= bound <= exact + 1e-6


def test_where_rounding_leaves_no_bound_of_a_determinant_there_is_none() -> None:
    gram = np.array([[1e9, 1e9], [1e9, 1e9]])
    assert log_det_bound.python(gram, 1e-6, np.zeros((2, 2))) == np.inf
    assert log_det_bound.python(np.array([[1.0, 2.0], [2.0, 1.0]]), 1.0, np.zeros((2, 2))) == np.inf


WORLD = LinearCSSP.mix([small_problem(seed, states=2, context_size=1).at([1.0]) for seed in (5, 6)])
PROBES = [[1.0, 0.0], [0.4, 0.6], [0.05, 0.95]]


@pytest.mark.parametrize("rule", [widths.sharp(), widths.likelihood(), widths.paper()], ids=str)
def test_the_truth_lies_in_merged_sets(rule: Widths) -> None:
    # 20 runs of three learners with 150 steps each, whose logs were made by different people. After two merges the sets
    # promise to fail in at most delta / 4 + 4 delta / 8 of the runs (docs/explanation/steps_by_anyone.md), 0.075 at
    # delta = 0.1, so in fewer than 2 of 20 on average, and fail in far fewer: none is asked for. Seeds are fixed.
    for seed in range(20):
        learners = [LRCSSP(WORLD.support, 2, loss_floor=0.05, widths=rule) for _ in range(3)]
        for place, learner in enumerate(learners):
            learner.learn_log(log_of(WORLD, (at_random, by_context_and_past)[place % 2], 150, 100 * seed + place))
            learners[0].merge(learner) if place else None
            learners[0].learn_log(log_of(WORLD, by_context_and_past, 50, 100 * seed + 50 + place))
        for probe in PROBES:
            found, truth = learners[0].confidence_set(probe), WORLD.at(probe)
            inside = found.contains(truth, tolerance=0.0) if isinstance(found, IntervalSet) else found.contains(truth)
            assert inside, f"seed {seed}"
        assert learners[0].alarm is None


def test_merged_learners_are_surer_than_each_alone() -> None:
    one, other = (LRCSSP(WORLD.support, 2, loss_floor=0.05, widths=widths.sharp()) for _ in range(2))
    one.learn_log(log_of(WORLD, at_random, 300, 1))
    other.learn_log(log_of(WORLD, at_random, 300, 2))
    alone = one.confidence_set([0.5, 0.5])
    one.merge(other)
    merged = one.confidence_set([0.5, 0.5])
    assert (merged.high - merged.low).sum() < (alone.high - alone.low).sum()


def test_visits_without_an_outcome_are_merged_too() -> None:
    one, other = a_learner("paper"), a_learner("paper")
    for learner, context in ((one, [0.3, 0.7]), (other, [0.6, 0.4])):
        episode = learner.begin(context)
        episode.act(0, allowed=[2])
        episode.abandon("lost")
    missing = one.statistics.pending_norms + other.statistics.pending_norms
    one.merge(other)
    assert one.statistics.pending.sum() == one.statistics.visits.sum() == 2
    np.testing.assert_array_equal(one.statistics.pending_norms, missing)
    assert one.abandoned == {"lost": 2}


def test_open_episodes_go_on_and_plan_with_what_was_merged() -> None:
    one, other = a_learner(), a_learner()
    episode = one.begin([0.3, 0.7])
    action = episode.act(2)
    other.learn_log([([0.5, 0.5], Step(2, action, 1.0, 0))] * 30)
    one.merge(other)
    assert one.statistics.pending.sum() == 1  # it was played before, so it counts
    episode.observe(Step(2, action, 0.5, 0))
    assert (one.statistics.visits.sum(), one.statistics.pending.sum()) == (31, 0)
    episode.act(0)
    assert episode.plan is not None
    np.testing.assert_array_equal(episode.plan.losses, one.plan([0.3, 0.7]).losses)


def test_counts_of_both_are_kept_and_a_file_of_it_is_read(tmp_path: Path) -> None:
    problem = small_problem()
    one, other = (LRCSSP(problem.support, 2, loss_floor=0.1, widths=WIDTHS["narrow"]) for _ in range(2))
    for learner, seed in ((one, 1), (other, 2)):
        play_one(problem, learner, 40, seed=seed)
        for episode in learner.open_episodes:
            episode.abandon()
    totals = [
        (learner.intervals, int(learner._state.totals["episodes"]), learner.loss_bound) for learner in (one, other)
    ]
    one.merge(other)
    assert one.intervals == totals[0][0] + totals[1][0]
    assert one._state.totals["episodes"] == totals[0][1] + totals[1][1]
    assert one.loss_bound == max(totals[0][2], totals[1][2])
    one.save(tmp_path / "learner")
    assert written(LRCSSP.load(tmp_path / "learner")) == written(one)


def test_an_alarm_of_the_other_is_known_after_it_was_merged() -> None:
    one, other = (LRCSSP(Support.full(1, 1), 2, loss_floor=0.05, widths=widths.sharp()) for _ in range(2))
    weights = np.random.default_rng(3).random(6000)
    with pytest.warns(UserWarning, match="not what a linear model allows"):
        other.learn_log(([w, 1.0 - w], Step(0, 0, 1.0 if abs(w - 0.5) < 0.25 else 0.1, 1)) for w in weights)
    with pytest.warns(UserWarning, match="not what a linear model allows"):
        one.merge(other)
    assert one.alarm == other.alarm


@pytest.mark.parametrize("make", [GreedyRidge, PosteriorSampling])
def test_learners_without_sets_are_merged_alike(make: Any) -> None:
    problem = small_problem()
    one, other, whole = (make(problem.support, 2, loss_floor=0.1) for _ in range(3))
    logs = [log_of(problem, at_random, 50, seed) for seed in (1, 2)]
    one.learn_log(logs[0])
    other.learn_log(logs[1])
    whole.learn_log([*logs[0], *logs[1]])
    one.merge(other)
    np.testing.assert_allclose(one.estimate.rows, whole.estimate.rows, atol=1e-10)
    np.testing.assert_allclose(one.estimate.losses, whole.estimate.losses, atol=1e-12)
