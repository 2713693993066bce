"""People play other actions than the proposed ones: said when they begin, or only when the step is reported."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound import LRCSSP, SSP, GreedyRidge, LossScale, MappedContexts, Monitored, Step, Support
from goalbound.around.runbook import Apprentice, Guarded
from goalbound.confidence import Widths, confidence_set, likelihood, paper, sharp
from goalbound.errors import ArgumentError, LearnerError
from goalbound.learners.card import learner_card
from goalbound.learners.episode import LearnerEpisode
from goalbound.learners.own_card import SILENT_OVERRIDE
from tests.support.driving import reloaded
from tests.support.ridge import lr_cssp
from tests.support.units import in_units

SUPPORT = Support.full(1, 2)
TRUTH_OF_TWO = SSP.dense([[0.5, 0.5]], [[[0.5, 0.5], [0.5, 0.5]]])
OTHER = 1  # people always play this action


def a_learner(widths: Widths | None = None) -> LRCSSP:
    widths = sharp() if widths is None else widths
    return lr_cssp(SUPPORT, 1, loss_floor=0.25, widths=widths, delta=1e-3 if widths.likelihood else 0.1)


def holds_the_truth(learner: LRCSSP) -> bool:
    if learner.settings.widths.intervals is not None:
        return bool(learner.confidence_set([1.0]).contains(TRUTH_OF_TWO, tolerance=0.0))
    found = confidence_set(learner.statistics, [1.0], widths=learner.settings.widths, estimate=learner.estimate)
    return bool(found.contains(TRUTH_OF_TWO, slack=0.0))


def said(episode: LearnerEpisode) -> None:
    episode.act(0)
    episode.begins(OTHER)


def in_silence(episode: LearnerEpisode) -> None:
    episode.act(0)


ORDERS: dict[str, Callable[[int, bool], Any]] = {
    "in order": lambda number, good: number,
    "reverse": lambda number, good: -number,
    "good first": lambda number, good: (not good, number),
    "bad first": lambda number, good: (good, number),
    "bad never": lambda number, good: number,
}
"""By the number of a step in the order in which they begin, and whether it is good: the least is reported next."""


def times_outside(
    learner: LRCSSP, order: str, play: Callable[[LearnerEpisode], None], *, cases: int, outcomes: int, seed: int
) -> int:
    """After how many outcomes the truth was outside the sets. A case begins its next step, or another one begins, as
    soon as an outcome is reported. Good steps cost 0 and lead to the goal."""
    rng, outside, begun, reported = np.random.default_rng(seed), 0, 0, 0
    waiting: list[tuple[int, bool, LearnerEpisode]] = []
    free = [learner.begin([1.0]) for _ in range(cases)]
    while reported < outcomes:
        while free:
            episode = free.pop()
            play(episode)
            good = bool(rng.random() < 0.5)
            begun += 1
            if order == "bad never" and not good:
                episode.abandon()
                free.append(learner.begin([1.0]))
            else:
                waiting.append((begun, good, episode))
        number, good, episode = min(waiting, key=lambda one: ORDERS[order](*one[:2]))
        waiting.remove((number, good, episode))
        step = Step(0, OTHER, 0.0, 1) if good else Step(0, OTHER, 1.0, 0)
        episode.observe(step, overridden=episode.pending_action != OTHER)
        free.append(learner.begin([1.0]) if good else episode)
        outside += not holds_the_truth(learner)
        reported += 1
    return outside


@pytest.mark.parametrize("cases", [20, 50, 100])
@pytest.mark.parametrize("order", list(ORDERS))
@pytest.mark.parametrize("widths", [likelihood(), sharp(), paper()], ids=str)
def test_the_truth_stays_in_the_sets_when_people_say_what_they_begin(widths: Widths, order: str, cases: int) -> None:
    """One run of each of 45 kinds; the truth may never be outside. Sharp and paper sets promise to fail in at most
    delta / 4 = 0.025 of the runs, likelihood-ratio sets, here at a delta of 0.001, in at most 0.0009. If they failed
    as often as they may, one of the 45 runs would in half of all seeds; they fail in far fewer."""
    learner = a_learner(widths)
    assert times_outside(learner, order, said, cases=cases, outcomes=2 * cases, seed=1) == 0
    assert learner.policy_bounds([1.0]).proven
    assert learner.caveats == ()


@pytest.mark.filterwarnings("ignore::goalbound.errors.WrongPriorWarning")  # a false alarm, as the steps are selected
@pytest.mark.parametrize("order", ["good first", "bad first", "bad never"])
@pytest.mark.parametrize("widths", [likelihood(), sharp(), paper()], ids=str)
def test_sets_of_steps_that_nobody_announced_lose_the_truth_and_are_not_proven(widths: Widths, order: str) -> None:
    """So the test above can fail. In 1.0.0 these sets were called proven."""
    learner = a_learner(widths)
    assert times_outside(learner, order, in_silence, cases=100, outcomes=200, seed=1) > 0
    assert learner.caveats == (SILENT_OVERRIDE,)
    bounds = learner.policy_bounds([1.0])
    assert not bounds.proven
    assert SILENT_OVERRIDE in bounds.guarantee
    assert (learner_card(learner).guarantee, learner_card(learner).caveats) == ("unproven", (SILENT_OVERRIDE,))


def test_what_somebody_begins_counts_from_then_on_and_the_proposal_does_not() -> None:
    learner = a_learner()
    first, second = learner.begin([1.0]), learner.begin([1.0])
    for episode in (first, second):
        proposed = episode.act(0)
        episode.begins(1 - proposed)
        assert episode.pending_action == 1 - proposed
    second.observe(Step(0, 1 - proposed, 0.5, 1))
    counted = np.zeros(2, dtype=int)
    counted[1 - proposed] = 1
    np.testing.assert_array_equal(learner.statistics.visits, 2 * counted)  # the first began before the second
    np.testing.assert_array_equal(learner.statistics.pending, counted)
    first.observe(Step(0, 1 - proposed, 0.5, 1))
    assert not learner.statistics.pending.any()


def test_an_action_that_was_begun_is_one_that_was_allowed_alone() -> None:
    """The same bits as ``act(state, allowed=[action])`` without a proposal."""
    learner, alone = a_learner(), a_learner()
    one, other = learner.begin([1.0]), alone.begin([1.0])
    one.begins(1 - one.act(0))
    other.act(0, allowed=[one.pending_action])
    for episode in (one, other):
        episode.observe(Step(0, one.pending_action if episode is one else other.pending_action, 0.5, 0))
    for name in ("visits", "gram", "loss_sums", "next_sums"):
        np.testing.assert_array_equal(getattr(learner.statistics, name), getattr(alone.statistics, name))
    assert learner.intervals == alone.intervals


def test_who_begins_what_was_proposed_changes_nothing() -> None:
    learner = a_learner()
    episode = learner.begin([1.0])
    proposed = episode.act(0)
    acted = episode._acted
    episode.begins(proposed)
    assert (episode.pending_action, episode._acted) == (proposed, acted)


def test_a_wrong_action_is_an_error_that_takes_no_proposal_back() -> None:
    learner = LRCSSP(Support.from_pairs([{0: [1, 2], 1: [2]}, {0: [2]}]), 1, loss_floor=0.1)
    episode = learner.begin([1.0])
    with pytest.raises(LearnerError, match=r"act\(state, allowed=\[action\]\) says both"):
        episode.begins(0)
    proposed = episode.act(0)
    with pytest.raises(ArgumentError, match="no action 7"):
        episode.begins(7)
    assert episode.pending_action == proposed
    episode.moved_to(1)
    with pytest.raises(LearnerError, match="has none of the allowed actions"):
        episode.begins(1)
    episode.moved_to(2)
    with pytest.raises(LearnerError, match="the episode has ended"):
        episode.begins(0)


# Steps that nobody announced


def silent(learner: LRCSSP, episode: LearnerEpisode) -> tuple[str, ...]:
    """The caveats after somebody else's step was reported."""
    action = 1 if episode.pending_action in (None, 0) else 0
    episode.observe(Step(0, action, 0.5, 0), overridden=True)
    return learner.caveats


@pytest.mark.parametrize("asks", [True, False])
def test_a_step_of_the_only_open_episode_that_is_reported_at_once_is_no_selection(asks: bool) -> None:
    learner = a_learner()
    learner.begin([1.0]).abandon()
    episode = learner.begin([1.0])
    for _ in range(3):
        if asks:
            episode.act(0)
        assert silent(learner, episode) == ()
    episode.observe(Step(0, episode.act(0), 0.5, 0))
    assert silent(learner, episode) == ()
    assert learner.policy_bounds([1.0]).proven


def with_another_open(learner: LRCSSP) -> Any:
    return learner.begin([1.0])


def with_another_that_ended(learner: LRCSSP) -> None:
    other = learner.begin([1.0])
    other.observe(Step(0, other.act(0), 0.5, 1))


def with_another_abandoned(learner: LRCSSP) -> None:
    other = learner.begin([1.0])
    other.act(0)
    other.abandon()


def with_a_step_learned(learner: LRCSSP) -> None:
    learner.learn([1.0], Step(0, 0, 0.5, 0))


BETWEEN: dict[str, Callable[[LRCSSP], Any]] = {
    "another is open": with_another_open,
    "another ended": with_another_that_ended,
    "another was abandoned": with_another_abandoned,
    "a step was learned": with_a_step_learned,
}


@pytest.mark.parametrize("asks", [True, False])
@pytest.mark.parametrize("stop", [True, False])
@pytest.mark.parametrize("between", list(BETWEEN))
def test_a_step_that_may_have_waited_for_its_outcome_is_a_reason_of_its_own(
    between: str, stop: bool, asks: bool, tmp_path: Path
) -> None:
    learner = a_learner()
    episode = learner.begin([1.0], id="case 17")
    if asks:
        episode.act(0)
    held = BETWEEN[between](learner)
    if stop:  # the file knows what was learned since
        learner = reloaded(learner)
        episode = learner.episode("case 17")
    assert silent(learner, episode) == (SILENT_OVERRIDE,)
    assert held is None or not held.ended
    assert learner.explain([1.0], 0).guarantee.startswith("Not proven")
    assert copy.deepcopy(learner).caveats == reloaded(learner).caveats == (SILENT_OVERRIDE,)
    fresh = a_learner()
    fresh.merge(_all_ended(learner))
    assert fresh.caveats == (SILENT_OVERRIDE,)


def _all_ended(learner: LRCSSP) -> LRCSSP:
    for episode in learner.open_episodes:
        episode.abandon()
    return learner


def test_an_action_that_is_proposed_after_others_were_learned_begins_anew() -> None:
    learner = a_learner()
    episode = learner.begin([1.0])
    with_a_step_learned(learner)
    episode.act(0)
    assert silent(learner, episode) == ()


def test_a_step_as_proposed_is_no_override() -> None:
    learner = a_learner()
    episodes = [learner.begin([1.0]) for _ in range(2)]
    for episode in episodes:
        episode.observe(Step(0, episode.act(0), 0.5, 0), overridden=True)
    assert learner.caveats == ()


def test_learners_without_sets_need_no_reason() -> None:
    learner = GreedyRidge(SUPPORT, 1, loss_floor=0.25)
    episodes = [learner.begin([1.0]) for _ in range(2)]
    for episode in episodes:
        episode.observe(Step(0, 1 - episode.act(0), 0.5, 0), overridden=True)
    assert learner.caveats == ()


AROUND: dict[str, Callable[[LRCSSP], Any]] = {
    "apprentice": lambda inner: Apprentice(inner, [0]),
    "guarded": lambda inner: Guarded(inner, [0], after_steps=5),
    "monitored": Monitored,
    "in units": lambda inner: in_units(Monitored(inner), LossScale("min", cap=1)),
    "mapped": lambda inner: MappedContexts(inner, np.eye(1)),
}


@pytest.mark.parametrize("kind", list(AROUND))
def test_around_a_learner_a_person_may_begin_another_action(kind: str) -> None:
    inner = a_learner()
    learner = AROUND[kind](inner)
    episodes = [learner.begin([1.0]) for _ in range(2)]
    for episode in episodes:
        other = 1 - episode.act(0)
        episode.begins(other)
        assert episode.pending_action == other
    for episode in reversed(episodes):
        episode.observe(Step(0, episode.pending_action, 0.5, 0))
        assert episode.act(0) in (0, 1)
    assert inner.statistics.visits.sum() == 2
    assert inner.caveats == ()
