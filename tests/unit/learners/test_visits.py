"""Outcomes that come late, in an order that depends on them, or never: what is learned stays true."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from goalbound import LRCSSP, Step, Support, confidence_set, solve
from goalbound.confidence import Widths, likelihood, paper, scaled, sharp
from goalbound.learners.settings import LearnerOptions
from tests.support.delayed import DELAYS, TRUTH, truth, watch
from tests.support.ridge import lr_cssp

SUPPORT = Support.full(1, 1)
VALUE = float(solve(TRUTH).values[0])
"""Loss 1/2 until a coin of 1/2 succeeds: 1."""


def a_learner(widths: Widths, size: int = 1, **more: object) -> LRCSSP:
    # Likelihood-ratio sets use their delta: at 0.1 they failed in 16 of 1,800 runs of these orders, at most 5 of 120.
    delta = 1e-3 if widths.likelihood else 0.1
    return lr_cssp(SUPPORT, size, **{"loss_floor": 0.25, "widths": widths, "delta": delta, **more})  # type: ignore[arg-type]


def holds_the_truth(learner: LRCSSP, context: list[float]) -> bool:
    """Whether the truth lies in all sets of a context, to the last digit, and the plan is not worse than it."""
    if learner.settings.widths.intervals is not None:
        inside = learner.confidence_set(context).contains(TRUTH, tolerance=0.0)
    else:
        found = confidence_set(learner.statistics, context, widths=learner.settings.widths, estimate=learner.estimate)
        inside = found.contains(TRUTH, slack=0.0)
    return inside and learner.plan(context).values[0] <= VALUE


@pytest.mark.parametrize("open_episodes", [1, 10, 100])
@pytest.mark.parametrize("order", list(DELAYS))
@pytest.mark.parametrize("widths", [sharp(), likelihood(), paper()], ids=str)
def test_the_truth_stays_in_the_sets_in_whatever_order_outcomes_come(
    widths: Widths, order: str, open_episodes: int
) -> None:
    # 2 runs of each of 45 kinds. Sharp and paper sets promise to fail in at most delta / 4 = 0.025 of the runs, and
    # fail in far fewer; likelihood-ratio sets, here at a delta of 0.001, in at most 0.0009. In version 0.2.0 sharp sets
    # lost the truth in 4 of 4 runs with 100 open episodes, successes or failures first, and both kinds of sets in 4 of
    # 4 with 100 open episodes where some outcomes never come (paper sets hold the two delayed orders at these lengths,
    # so for them those cases only guard).
    for seed in range(2):
        missed: list[int] = []

        def look(learner: LRCSSP, missed: list[int] = missed) -> None:
            if not holds_the_truth(learner, [1.0]):
                missed.append(int(learner.statistics.visits.sum()))

        outcomes = 60 if open_episodes < 100 else 150
        watch(a_learner(widths), DELAYS[order], open_episodes=open_episodes, outcomes=outcomes, seed=seed, look=look)
        assert not missed, f"seed {seed}: outside after visits {missed}"


@pytest.mark.parametrize("widths", [sharp(), likelihood(), paper()], ids=str)
def test_under_contexts_too(widths: Widths) -> None:
    probes = [[1.0, 0.0], [0.5, 0.5], [0.1, 0.9]]
    for seed in range(3):
        missed: list[int] = []

        def look(learner: LRCSSP, missed: list[int] = missed) -> None:
            if not all(holds_the_truth(learner, probe) for probe in probes):
                missed.append(int(learner.statistics.visits.sum()))

        watch(a_learner(widths, 2), DELAYS["success first"], open_episodes=30, outcomes=60, seed=seed, look=look)
        assert not missed


def test_a_tenth_of_the_intervals_does_lose_the_truth_so_that_the_tests_above_can_fail() -> None:
    missed = []

    def look(learner: LRCSSP) -> None:
        missed.append(not holds_the_truth(learner, [1.0]))

    for seed in range(4):
        watch(a_learner(scaled(sharp(), by=0.1)), DELAYS["random"], open_episodes=1, outcomes=60, seed=seed, look=look)
    assert any(missed)


@pytest.mark.parametrize("order", ["success first", "failure first"])
def test_the_test_of_the_linear_model_is_not_deceived_by_the_order(order: str) -> None:
    # The environment does not depend on the context at all, so it is linear; an alarm would be false.
    learner = a_learner(sharp(), 2, check_linearity=True)
    watch(learner, DELAYS[order], open_episodes=100, outcomes=400, seed=1, look=lambda _: None)
    assert learner.alarm is None


def steps(seed: int) -> list[Step]:
    rng = np.random.default_rng(seed)
    return [Step(0, 0, float(rng.random() < 0.5), int(rng.random() < 0.5)) for _ in range(40)]


@pytest.mark.parametrize("widths", [sharp(), likelihood(), paper()], ids=str)
def test_visits_count_in_the_order_of_act_and_sums_come_back_to_those_of_any_order(widths: Widths) -> None:
    contexts = np.random.default_rng(3).dirichlet([1.0, 1.0], size=40)
    learners = [a_learner(widths, 2) for _ in range(2)]
    for learner, order in zip(learners, (range(40), reversed(range(40))), strict=True):
        episodes = [learner.begin(context) for context in contexts]
        for episode in episodes:
            episode.act(0)
        assert learner.statistics.visits.sum() == 0  # nothing is reported, so nothing needs to count
        for k in order:
            episodes[k].observe(steps(5)[k])
        assert not learner.statistics.pending.any()
        assert not learner.statistics.pending_norms.any()
    one, other = (learner.statistics for learner in learners)
    np.testing.assert_array_equal(one.visits, other.visits)
    np.testing.assert_allclose(one.gram, other.gram, rtol=1e-15)
    np.testing.assert_allclose(one.next_sums, other.next_sums, rtol=1e-15)
    np.testing.assert_allclose(one.loss_sums, other.loss_sums, rtol=1e-15, atol=1e-16)


def test_what_is_reported_first_brings_the_earlier_visits_with_it_and_no_later_ones() -> None:
    learner = a_learner(sharp())
    first, second, third = (learner.begin([1.0]) for _ in range(3))
    for episode in (first, second, third):
        episode.act(0)
    second.observe(Step(0, 0, 0.0, 1))
    assert learner.statistics.visits[0] == 2
    assert learner.statistics.pending[0] == 1
    # x = V^-1 c = 1 / 3 with lambda = 1: the missing outcome may add up to 1/3 to the estimate 1/3 of the goal.
    seen = learner.confidence_set([1.0])
    third.abandon(missing_at_random=True)  # never counted, so it never was
    assert learner.statistics.visits[0] == 2
    first.observe(Step(0, 0, 0.0, 1))
    assert learner.statistics.pending[0] == 0
    assert learner.confidence_set([1.0]).high[1] >= seen.low[1]


def test_an_abandoned_visit_stays_pending_and_one_missing_at_random_does_not_count() -> None:
    learner = a_learner(sharp())
    before = learner.confidence_set([1.0])
    episode = learner.begin([1.0])
    episode.act(0)
    episode.abandon()
    assert (learner.statistics.visits[0], learner.statistics.pending[0]) == (1, 1)
    assert learner.open_episodes == ()
    for name in ("low", "high", "loss_low", "loss_high"):  # one visit that may have been anything says nothing
        np.testing.assert_array_equal(getattr(learner.confidence_set([1.0]), name), getattr(before, name))

    random = a_learner(sharp())
    episode = random.begin([1.0])
    episode.act(0)
    episode.abandon(missing_at_random=True)
    assert (random.statistics.visits[0], random.statistics.pending[0]) == (0, 0)


@pytest.mark.parametrize("widths", [sharp(), likelihood(), paper()], ids=str)
def test_a_visit_that_counts_stays_pending_when_it_is_taken_back(widths: Widths) -> None:
    learner = a_learner(widths, 2)
    late, early = learner.begin([0.6, 0.4]), learner.begin([0.3, 0.7])
    late.act(0)
    early.act(0)
    early.observe(Step(0, 0, 0.5, 1))
    names = ("visits", "pending", "pending_norms", "gram")
    before = {name: np.array(getattr(learner.statistics, name)) for name in names}
    assert (before["visits"][0], before["pending"][0]) == (2, 1)
    late.take_back()
    for name, array in before.items():
        np.testing.assert_array_equal(getattr(learner.statistics, name), array)
    # and the next visit of the episode is one of its own
    late.act(0)
    late.observe(Step(0, 0, 0.5, 1))
    assert (learner.statistics.visits[0], learner.statistics.pending[0]) == (3, 1)


@pytest.mark.parametrize("widths", [sharp(), likelihood(), paper()], ids=str)
def test_the_truth_stays_in_the_sets_when_most_proposals_are_taken_back(widths: Widths) -> None:
    """2,000 proposals, then 400 visits of which the 200 bad ones are reported, then the proposals are taken back. While
    visits could leave the Gram matrix, balls were too small for the 200 that wait, and lost the truth in 10 of 10
    runs; a single run is 1 of 1."""
    learner, rng = a_learner(widths), np.random.default_rng(0)
    episodes = [learner.begin([1.0]) for _ in range(2400)]
    for episode in episodes:
        episode.act(0)
    for episode in episodes[2000:]:
        if rng.random() < 0.5:
            episode.observe(Step(0, 0, 0.0, 0))
    for episode in episodes[:2000]:
        episode.take_back()
    assert holds_the_truth(learner, [1.0])


def test_sets_are_wider_while_outcomes_are_missing_and_never_forget_a_visit() -> None:
    """Ten visits, nine outcomes: the one that is missing costs at most x c = 1 / 11 on each side."""
    full, lacking = a_learner(sharp(variance=False)), a_learner(sharp(variance=False))
    for learner in (full, lacking):
        episodes = [learner.begin([1.0]) for _ in range(10)]
        for episode in episodes:
            episode.act(0)
        for k in reversed(range(1 if learner is lacking else 0, 10)):
            episodes[k].observe(Step(0, 0, 0.5, 1))
    assert lacking.statistics.visits[0] == full.statistics.visits[0] == 10
    low, high = (getattr(lacking.confidence_set([1.0]), name)[1] for name in ("low", "high"))
    all_low = full.confidence_set([1.0]).low[1]
    assert high == 1.0
    # the estimate lacks one success of 11, and nothing is taken off for it below
    assert low == pytest.approx(all_low - 1.0 / 11.0, abs=1e-9)


def test_an_episode_whose_outcome_is_awaited_is_not_lost_with_its_handle() -> None:
    learner = a_learner(sharp())
    learner.begin([1.0]).act(0)
    (episode,) = learner.open_episodes
    episode.observe(Step(0, 0, 0.5, 1))
    assert learner.open_episodes == ()
    assert learner.statistics.visits[0] == 1


@pytest.mark.parametrize("widths", [sharp(), likelihood(), paper()], ids=str)
def test_a_checkpoint_goes_on_with_outcomes_awaited_to_the_bit(widths: Widths, tmp_path: Path) -> None:
    contexts = np.random.default_rng(4).dirichlet([1.0, 1.0], size=12)
    learner = a_learner(widths, 2)
    episodes = [learner.begin(context) for context in contexts]
    for k in np.random.default_rng(5).permutation(12):
        episodes[k].act(0)
    for k in (7, 2):
        episodes[k].observe(steps(5)[k]._replace(next_state=1))
    episodes[9].abandon()
    learner.save(tmp_path / "learner.npz")
    loaded = LRCSSP.load(tmp_path / "learner.npz")
    again = {one.number: one for one in loaded.open_episodes}
    for k in (11, 0, 4, 3):
        for one in (episodes[k], again[episodes[k].number]):
            one.observe(steps(6)[k])
    again[episodes[5].number].abandon(missing_at_random=True)
    episodes[5].abandon(missing_at_random=True)
    for name in ("visits", "pending", "pending_norms", "gram", "inverse_gram", "next_sums"):
        mine, theirs = (np.array(getattr(one.statistics, name)) for one in (learner, loaded))
        assert mine.tobytes() == theirs.tobytes(), name
    np.testing.assert_array_equal(learner.plan([0.5, 0.5]).values, loaded.plan([0.5, 0.5]).values)


def test_forgotten_data_takes_visits_along_whose_outcomes_come_later() -> None:
    """With ``forget`` a doubling of the bound drops all data, and what was played before it is not learned from."""
    learner = LRCSSP(SUPPORT, 1, loss_floor=0.9, widths=scaled(sharp(), by=0.01), options=LearnerOptions(forget=True))
    awaiting = learner.begin([1.0])
    awaiting.act(0)
    driver = learner.begin([1.0])
    while learner.doublings == 0:
        driver.act(0)
        driver.observe(Step(0, 0, 1.0, 0))
    driver.act(0)
    seen = int(learner.statistics.visits[0])
    awaiting.observe(Step(0, 0, 1.0, 1))
    assert learner.statistics.visits[0] == seen
    assert awaiting.ended


def test_the_truth_is_the_same_under_every_context() -> None:
    for context in ([1.0, 0.0], [0.25, 0.75]):
        np.testing.assert_array_equal(truth(2).at(context).probabilities, TRUTH.probabilities)
