"""The sets of a learner whose sums came from another: what they contain, what begins anew, and that they hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound import widths
from goalbound.confidence.likelihood import BY_NUMBER
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.settings import LearnerOptions
from goalbound.models import SSP, IntervalSet, LinearCSSP, Step, Support
from tests.support.behaviour import at_random, by_context_and_past, log_of
from tests.support.driving import small_problem
from tests.support.ridge import variances_of
from tests.support.seen_steps import RAGGED, Seen, some_steps

SHARP, PAPER, LIKELIHOOD = widths.sharp(), widths.paper(), widths.likelihood()
NO_VARIANCE = widths.sharp(variance=False)
PRIOR = PriorKnowledge.nothing(RAGGED, 2).with_losses({("b", "y"): 0.5}).with_floors({("c", "x"): 0.2})
PROBES = [[1.0, 0.0], [0.3, 0.7], [0.5, 0.5]]
CHANGES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "delta": {"delta": 0.01},
    "loss bound": {"loss_bound": 7.0},
    "prior": {"prior": PRIOR},
    "less ridge": {"options": LearnerOptions(regularization=0.01)},
    "zero losses": {"loss_floor": 0.0, "options": LearnerOptions(episodes=1000)},
    "all": {"delta": 0.2, "prior": PRIOR, "options": LearnerOptions(regularization=0.3)},
}


def a_learner(support: Support = RAGGED, size: int = 2, **more: Any) -> LRCSSP:
    return LRCSSP(support, size, **{"loss_floor": 0.1, **more})


def learned(seen: Any, **more: Any) -> LRCSSP:
    learner = a_learner(**more)
    learner.learn_log(seen)
    return learner


def assert_contains(one: LRCSSP, other: LRCSSP, *, same: bool) -> None:
    """The sets of one contain those of the other, and are the ``same``."""
    for context in PROBES:
        mine, theirs = one.confidence_set(context), other.confidence_set(context)
        if same:
            names = ("low", "high") if isinstance(mine, IntervalSet) else ("rows", "radii")
            for name in ("loss_low", "loss_high", *names):
                np.testing.assert_allclose(getattr(mine, name), getattr(theirs, name), atol=2e-8, err_msg=name)
            continue
        assert isinstance(mine, IntervalSet)
        assert isinstance(theirs, IntervalSet)
        for name, sign in (("loss_low", 1.0), ("low", 1.0), ("loss_high", -1.0), ("high", -1.0)):
            assert (sign * getattr(mine, name) <= sign * getattr(theirs, name) + 1e-9).all(), name


@pytest.mark.parametrize("rule", [PAPER, NO_VARIANCE, SHARP], ids=str)
@given(some_steps, st.sampled_from(sorted(CHANGES)), st.booleans())
def test_they_contain_the_sets_of_one_that_learned_the_log_again(
    rule: widths.Widths, seen: Seen, change: str, merges: bool
) -> None:
    """They are the same where nothing but the sums is used."""
    twin = learned(seen, widths=rule, **CHANGES[change])
    if merges:
        found = a_learner(widths=rule, **CHANGES[change])
        found.merge(learned(seen, widths=PAPER))
    else:
        found = learned(seen, widths=rule).with_settings(**CHANGES[change])
    assert_contains(found, twin, same=rule is not SHARP)


@given(some_steps)
def test_on_a_larger_support_too(seen: Seen) -> None:
    larger = Support.from_pairs(
        [{0: [1, 2, 3], 2: [0, 1, 2, 3]}, {0: [3], 1: [0, 3]}, {0: [0, 1, 2, 3]}],
        state_names=["a", "b", "c"], action_names=["x", "y", "z"],
    )  # fmt: skip
    for rule in (PAPER, SHARP):
        found, twin = learned(seen, widths=rule).extended(larger), learned(seen, support=larger, widths=rule)
        assert_contains(found, twin, same=rule is PAPER)


@given(some_steps, some_steps)
def test_each_visit_so_far_counts_with_a_quarter_where_the_sums_have_changed(first: Seen, second: Seen) -> None:
    one, other = learned(first, widths=SHARP), learned(second, widths=SHARP)
    own = variances_of(one)
    one.merge(other)
    owner = np.repeat(np.arange(RAGGED.pairs), np.diff(RAGGED.next_start))
    quarters = 0.25 * (one.statistics.gram - np.eye(2))[owner]
    touched = (other.statistics.visits > 0)[owner]
    np.testing.assert_allclose(variances_of(one)[touched], quarters[touched], atol=1e-13)
    np.testing.assert_array_equal(variances_of(one)[~touched], own[~touched])  # by sets that are still its own
    moved = one.with_settings()
    np.testing.assert_allclose(variances_of(moved), quarters, atol=1e-13)


LOG = [([0.5, 0.5], Step(0, k % 2, 0.5, k % 4)) for k in range(80)]


def test_likelihoods_go_on_for_own_steps_where_they_are_merged_and_begin_anew_where_they_move() -> None:
    one, other = (LRCSSP(Support.full(3, 2), 2, loss_floor=0.1, widths=LIKELIHOOD) for _ in range(2))
    one.learn_log(LOG)
    other.learn_log(LOG)
    kept = [getattr(one._state.sets, name).copy() for name in (*BY_NUMBER, "visits", "bounded")]
    one.merge(other)
    for name, before in zip((*BY_NUMBER, "visits", "bounded"), kept, strict=True):
        np.testing.assert_array_equal(getattr(one._state.sets, name), before, err_msg=name)
    for found in (one.with_settings(), one.extended(Support.full(4, 2))):
        assert found.statistics.visits.sum() == 160
        assert found._state.sets.visits.sum() == 0
        found.learn_log(LOG)
        assert found._state.sets.visits.sum() == 80


def test_forecasts_after_a_move_regress_all_that_was_seen() -> None:
    """A loss of 0.9 in 400 steps: the forecast of the first step after the move is near it, and not near 1/2."""
    one = LRCSSP(Support.full(1, 1), 2, loss_floor=0.1)
    contexts = np.random.default_rng(0).dirichlet([1.0, 1.0], 400)
    one.learn_log((context, Step(0, 0, 0.9, 1)) for context in contexts)
    moved = one.with_settings(delta=0.05)
    episode = moved.begin([0.4, 0.6])
    episode.act(0)
    assert np.abs(episode._arrays.room.forecast[0] - 0.9).min() < 0.02


def test_open_episodes_go_on_and_plan_anew() -> None:
    one, other = a_learner(widths=SHARP), a_learner(widths=SHARP)
    awaited, planned = one.begin([0.3, 0.7]), one.begin([0.6, 0.4])
    action = awaited.act(2)
    planned.act(2)
    planned.observe(Step(2, action, 0.5, 0))
    planned.act(0)
    planned.take_back()
    other.learn_log([([0.5, 0.5], Step(2, action, 1.0, 0))] * 30)
    one.merge(other)
    assert awaited.plan is None
    assert planned.plan is None
    assert one.statistics.pending[RAGGED.pair(2, 0)] == 1  # it was played before, so it counts
    awaited.observe(Step(2, action, 0.5, 0))
    assert (one.statistics.visits.sum(), one.statistics.pending[RAGGED.pair(2, 0)]) == (32, 0)
    awaited.act(0)
    assert awaited.plan is not None
    np.testing.assert_array_equal(awaited.plan.losses, one.plan([0.3, 0.7]).losses)


WORLD = LinearCSSP.mix([small_problem(seed, states=2, context_size=1).at([1.0]) for seed in (5, 6)])


@pytest.mark.parametrize("rule", [SHARP, LIKELIHOOD, PAPER], ids=str)
def test_the_truth_lies_in_the_sets_of_three_who_learned_from_different_people(rule: widths.Widths) -> None:
    """Sets fail with probability at most 0.1, so more than 7 failures of 20 runs have a probability of 4e-4. Of these
    seeds the likelihood-ratio sets of one fail, with and without the merges."""
    failed = 0
    for seed in range(20):
        learners = [LRCSSP(WORLD.support, 2, loss_floor=0.05, widths=rule) for _ in range(3)]
        for place, learner in enumerate(learners):
            learner.learn_log(log_of(WORLD, (at_random, by_context_and_past)[place % 2], 150, 100 * seed + place))
            learners[0].merge(learner) if place else None
            learners[0].learn_log(log_of(WORLD, by_context_and_past, 50, 100 * seed + 50 + place))
        failed += not all(holds(learners[0], WORLD.at(probe), probe) for probe in PROBES)
        assert learners[0].alarm is None
    assert failed <= 7


def holds(learner: LRCSSP, truth: SSP, context: list[float]) -> bool:
    found = learner.confidence_set(context)
    return found.contains(truth, tolerance=0.0) if isinstance(found, IntervalSet) else found.contains(truth)


COIN = Support.from_pairs([{0: [0, 1]}])
TRUTH = SSP(COIN, [0.5], [0.5, 0.5])
DELTA, TRIALS, MOST = 0.2, 60, 25
"""A coin decides loss and next state. With failures of probability DELTA at most, more than MOST of TRIALS have one of
4e-5; sets that fail in every second run have at most MOST with one of 0.12."""


def tosses(rng: np.random.Generator, count: int) -> list[tuple[list[float], Step]]:
    return [([1.0], Step(0, 0, float(y), y)) for y in rng.integers(2, size=count).tolist()]


def coin_learner(rule: widths.Widths, **more: Any) -> LRCSSP:
    return LRCSSP(COIN, 1, **{"loss_floor": 0.05, "delta": DELTA, "widths": rule, **more})


def merged(learner: LRCSSP, rng: np.random.Generator, steps: int = 40) -> LRCSSP:
    other = coin_learner(SHARP, delta=0.9)
    other.learn_log(tosses(rng, steps))
    learner.merge(other)
    return learner


MOVES: dict[str, Callable[[LRCSSP, np.random.Generator], LRCSSP]] = {
    "merge": merged,
    "with_settings": lambda learner, _: learner.with_settings(options=LearnerOptions(regularization=0.1)),
}


@pytest.mark.parametrize("rule", [SHARP, LIKELIHOOD], ids=str)
@pytest.mark.parametrize("name", sorted(MOVES))
def test_sets_hold_at_all_times_after_a_move_with_the_probability_that_is_promised(
    name: str, rule: widths.Widths
) -> None:
    """It is made when heads lead by most: at a time that depends on the outcomes."""
    failed = 0
    for seed in range(TRIALS):
        rng = np.random.default_rng(seed)
        learner = coin_learner(rule)
        log = tosses(rng, 60)
        lead = np.cumsum([2 * step.next_state - 1 for _, step in log])
        stop = 1 + int(np.argmax(lead >= 5)) if (lead >= 5).any() else 60
        learner.learn_log(log[:stop])
        learner = MOVES[name](learner, rng)
        held = True
        for _ in range(10):
            learner.learn_log(tosses(rng, 12))
            held = held and holds(learner, TRUTH, [1.0])
        failed += not held
    assert failed <= MOST


def test_sets_hold_where_outcomes_are_reported_before_or_after_a_merge_by_their_value() -> None:
    """Of 16 open cases the heads are reported before the merge, and the tails after it."""
    failed = 0
    for seed in range(TRIALS):
        rng = np.random.default_rng(seed)
        learner = coin_learner(LIKELIHOOD)
        episodes = [learner.begin([1.0]) for _ in range(16)]
        outcomes = rng.integers(2, size=16).tolist()
        for episode in episodes:
            episode.act(0)
        for reported in (1, 0):
            for episode, outcome in zip(episodes, outcomes, strict=True):
                if outcome == reported:
                    episode.observe(Step(0, 0, float(outcome), outcome))
            if reported:
                learner = merged(learner, rng, steps=4)
        failed += not holds(learner, TRUTH, [1.0])
        assert learner.alarm is None
    assert failed <= MOST


def test_sets_hold_when_the_support_grows_at_the_first_surprise() -> None:
    """Next states 1 and the goal follow with 0.03 and 0.47 and 0.5; the first step into 1 makes the support grow, as
    was settled before."""
    wide = Support.from_pairs([{0: [0, 1, 2]}, {0: [2]}])
    truth, failed = SSP(wide, [0.5, 0.5], [0.47, 0.03, 0.5, 1.0]), 0
    for seed in range(TRIALS):
        rng = np.random.default_rng(seed)
        learner = LRCSSP(Support.from_pairs([{0: [0, 2]}, {0: [2]}]), 1, loss_floor=0.05, delta=DELTA)
        log = [([1.0], Step(0, 0, 0.5, int(rng.choice(3, p=[0.47, 0.03, 0.5])))) for _ in range(150)]
        surprise = next((at for at, (_, step) in enumerate(log) if step.next_state == 1), len(log))
        learner.learn_log(log[:surprise])
        learner = learner.extended(wide)
        learner.learn_log(log[surprise:])
        failed += not holds(learner, truth, [1.0])
    assert failed <= MOST


def test_merged_learners_are_surer_than_each_alone() -> None:
    one, other = (LRCSSP(WORLD.support, 2, loss_floor=0.05, widths=SHARP) for _ in range(2))
    one.learn_log(log_of(WORLD, at_random, 300, 1))
    other.learn_log(log_of(WORLD, at_random, 300, 2))
    alone = one.confidence_set([0.5, 0.5])
    one.merge(other)
    found = one.confidence_set([0.5, 0.5])
    assert isinstance(alone, IntervalSet)
    assert isinstance(found, IntervalSet)
    assert (found.high - found.low).sum() < (alone.high - alone.low).sum()


# The test of the linear model.


def too_low(learner: LRCSSP) -> LRCSSP:
    with pytest.warns(UserWarning, match="the floor that was declared"):
        learner.learn_log([([0.5, 0.5], Step(0, 2, 0.1, 1))] * 400)
    return learner


def test_an_alarm_about_what_is_declared_no_more_is_gone_and_others_stay() -> None:
    source = too_low(a_learner(widths=SHARP, loss_floor=0.9))
    assert source.with_settings(loss_floor=0.05).alarm is None
    plain = a_learner(widths=SHARP)
    plain.merge(source)
    assert plain.alarm is None
    wider = Support.from_pairs(
        [{1: [0, 4]}, {0: [4]}, {0: [0, 4], 2: [0, 1, 2, 3, 4]}, {0: [2, 3, 4]}],
        state_names=["b", "new", "a", "c"], action_names=["x", "y", "z"],
    )  # fmt: skip
    for move in (
        lambda: source.with_settings(delta=0.05), lambda: source.with_settings(widths=PAPER),
        lambda: source.extended(wider),
    ):  # fmt: skip
        with pytest.warns(UserWarning, match="the floor that was declared"):
            other = move()
        assert other.alarm is not None
        assert other.support.pair_name(other.alarm.pair).startswith("state")
        assert '("a"), action 2 ("z")' in other.support.pair_name(other.alarm.pair)
        assert not other.policy_bounds([0.5, 0.5]).proven


def test_an_alarm_of_the_other_is_known_after_it_was_merged_whatever_was_declared() -> None:
    one = LRCSSP(Support.full(1, 1), 2, loss_floor=0.01, widths=SHARP)
    other = LRCSSP(Support.full(1, 1), 2, loss_floor=0.05, widths=SHARP)
    weights = np.random.default_rng(3).random(6000)
    with pytest.warns(UserWarning, match="not what a linear model allows"):
        other.learn_log(([w, 1.0 - w], Step(0, 0, 1.0 if abs(w - 0.5) < 0.25 else 0.1, 1)) for w in weights)
    with pytest.warns(UserWarning, match="not what a linear model allows"):
        one.merge(other)
    assert one.alarm == other.alarm


def test_the_test_goes_on_for_own_steps_where_they_are_merged_and_begins_anew_where_they_move() -> None:
    seen = [([0.5, 0.5], Step(0, 2, 0.5, 1)), ([0.5, 0.5], Step(2, 0, 0.5, 0))] * 5
    source = learned(seen, widths=SHARP)
    kept = source._state.watch.steps.copy()
    source.merge(learned(seen, widths=SHARP))
    np.testing.assert_array_equal(source._state.watch.steps, kept)
    assert source.with_settings()._state.watch.steps.sum() == 0
