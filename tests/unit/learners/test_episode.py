"""Episodes: act and observe by turns, nothing else; and many of them at once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from goalbound.errors import InputError, LearnerError
from goalbound.learners.episode import LearnerEpisode
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.models import Step, Support
from tests.support.driving import MODES, SHORT, Clinic, draw_step, learner_of, play_one, small_problem, written

# State 0 has two actions: 0 stays or moves on to 1, 1 moves on or ends. State 1 has action 0 only: back, or the goal 2.
ROAD = Support.from_pairs([{0: [0, 1], 1: [1, 2]}, {0: [0, 2]}])
PROBLEM = small_problem()


class Ward(NamedTuple):
    """A learner with an episode in each situation."""

    learner: LRCSSP
    fresh: LearnerEpisode
    """nothing was done yet"""
    arrived: LearnerEpisode
    """in state 1, and no action chosen there"""
    waiting: LearnerEpisode
    """in state 0, where ``chosen`` was chosen"""
    ended: LearnerEpisode
    chosen: int


@pytest.fixture
def ward() -> Ward:
    learner = LRCSSP(ROAD, 2, loss_floor=0.1, widths=SHORT)
    episodes = [learner.begin([weight, 1.0 - weight]) for weight in (0.5, 1.0, 0.0, 0.25)]
    fresh, arrived, waiting, ended = episodes
    arrived.observe(Step(0, arrived.act(0), 0.5, 1))
    ended.observe(Step(1, ended.act(1), 0.25, 2))
    return Ward(learner, fresh, arrived, waiting, ended, waiting.act(0))


Move = Callable[[Ward], Any]
MISUSES: list[tuple[Move, type[Exception], str]] = [
    (lambda w: w.arrived.act(0), LearnerError, "the episode is in state 1, not in state 0"),
    (lambda w: w.waiting.act(1), LearnerError, "the episode is in state 0, not in state 1"),
    (lambda w: w.fresh.act(2), LearnerError, "state 2 is the goal, where nothing is to be done"),
    (lambda w: w.fresh.act(3), InputError, "no state 3; they are 0 to 2"),
    (lambda w: w.fresh.act(-1), InputError, "no state -1"),
    (lambda w: w.fresh.act(0.0), InputError, "state 0.0 is not a whole number"),
    (lambda w: w.ended.act(0), LearnerError, r"the episode has ended; begin\(context\) a new one"),
    (lambda w: w.ended.act(2), LearnerError, "the episode has ended"),
    (lambda w: w.fresh.observe(Step(0, 0, 0.5, 1)), LearnerError, r"act\(state\) comes before observe\(step\)"),
    (lambda w: w.arrived.observe(Step(1, 0, 0.5, 2)), LearnerError, r"act\(state\) comes before observe\(step\)"),
    (lambda w: w.ended.observe(Step(1, 0, 0.5, 2)), LearnerError, "nothing can follow the goal"),
    (lambda w: w.waiting.observe(Step(1, 0, 0.5, 2)), LearnerError, "the step is from state 1, but the episode is in"),
    (lambda w: w.waiting.observe(Step(2, 0, 0.5, 2)), LearnerError, "the step is from goal, but the episode is in"),
    (lambda w: w.waiting.observe(Step(0, 1 - w.chosen, 0.5, 1)), LearnerError, "another action than was proposed"),
    (lambda w: w.waiting.observe(Step(0, 5, 0.5, 1)), InputError, "no action 5"),
    (lambda w: w.waiting.observe(Step(0, w.chosen, 0.5, 2 - 2 * w.chosen)), InputError, "its support does not allow"),
    (lambda w: w.waiting.observe(Step(0, w.chosen, 0.5, 7)), InputError, "no state 7"),
    (lambda w: w.waiting.observe(Step(0, w.chosen, math.nan, 1)), InputError, "the loss is nan"),
    (lambda w: w.waiting.observe(Step(0, w.chosen, -0.25, 1)), InputError, "the loss is -0.25; losses lie in"),
    (lambda w: w.waiting.observe(Step(0, w.chosen, 1.5, 1)), InputError, "the loss is 1.5.*divide them by a scale"),
    (lambda w: w.learner.begin([0.5, 0.4]), InputError, "context sums to 0.9, not 1"),
    (lambda w: w.learner.begin([1.0]), InputError, r"context has shape \(1,\)"),
    (lambda w: w.learner.begin([0.5, 0.25, 0.25]), InputError, r"context has shape \(3,\)"),
    (lambda w: w.learner.begin([[0.5, 0.5]]), InputError, r"context has shape \(1, 2\)"),
    (lambda w: w.learner.begin([-0.5, 1.5]), InputError, r"context\[0\]: weight -0.5"),
    (lambda w: w.learner.begin([math.nan, 1.0]), InputError, r"context\[0\]: weight nan"),
    (lambda w: w.learner.begin(["a", "b"]), InputError, "context is not an array of numbers"),
    (lambda w: w.learner.plan([0.5, 0.4]), InputError, "context sums to 0.9, not 1"),
    (lambda w: w.learner.plan([1.0]), InputError, r"context has shape \(1,\)"),
]


@pytest.mark.parametrize("number", range(len(MISUSES)), ids=lambda number: f"{number}: {MISUSES[number][2]}"[:60])
def test_misuse_is_an_error_that_changes_nothing(ward: Ward, number: int) -> None:
    move, error, message = MISUSES[number]
    before = written(ward.learner)
    with pytest.raises(error, match=message):
        move(ward)
    assert written(ward.learner) == before
    assert (ward.ended.ended, ward.ended.state) == (True, 2)


def test_after_a_misuse_the_right_move_is_still_taken(ward: Ward) -> None:
    with pytest.raises(InputError):
        ward.waiting.observe(Step(0, ward.chosen, 1.5, 1))
    ward.waiting.observe(Step(0, ward.chosen, 0.5, 1))
    assert (ward.waiting.state, ward.waiting.ended) == (1, False)
    assert ward.learner.statistics.visits.sum() == 3


def test_asked_twice_an_episode_answers_the_same(ward: Ward) -> None:
    before = written(ward.learner)
    assert ward.waiting.act(0) == ward.chosen
    assert written(ward.learner) == before
    first = ward.fresh.act(0)
    after = written(ward.learner)
    assert ward.fresh.act(0) == first
    assert written(ward.learner) == after


def test_the_goal_is_the_only_end(ward: Ward) -> None:
    assert [one.ended for one in (ward.fresh, ward.arrived, ward.waiting, ward.ended)] == [False, False, False, True]
    assert ward.learner.open_episodes == (ward.fresh, ward.arrived, ward.waiting)
    ward.arrived.observe(Step(1, ward.arrived.act(1), 0.5, 2))
    assert ward.arrived.ended
    assert ward.learner.open_episodes == (ward.fresh, ward.waiting)


def test_names_do_as_well_as_numbers() -> None:
    named = Support(
        ROAD.pair_start, ROAD.pair_action, ROAD.next_start, ROAD.next_state, ("home", "work"), ("wait", "walk")
    )
    episode = LRCSSP(named, 1, loss_floor=0.1).begin([1.0])
    action = episode.act("home")  # type: ignore[arg-type]
    episode.observe(Step("home", named.action_names[action], 0.5, "work"))  # type: ignore[arg-type,index]
    assert episode.state == 1
    with pytest.raises(LearnerError, match=r'the episode is in state 1 \("work"\), not in state 0 \("home"\)'):
        episode.act("home")  # type: ignore[arg-type]


def test_an_episode_counts_its_intervals_and_its_unknown_steps() -> None:
    learner = LRCSSP(ROAD, 1, loss_floor=0.1)  # widths as proven: nothing is known so early
    episode = learner.begin([1.0])
    assert (episode.interval, episode.intervals, episode.unknown_steps, episode.plan) == (1, 1, 0, None)
    episode.observe(Step(1, episode.act(1), 0.5, 0))
    assert (episode.interval, episode.intervals, episode.unknown_steps, episode.plan) == (2, 2, 1, None)
    other = learner.begin([1.0])
    assert other.interval == 3
    action = episode.act(0)
    assert episode.plan is not None
    episode.observe(Step(0, action, 0.5, 1))
    assert (episode.interval, episode.intervals, episode.unknown_steps) == (4, 3, 2)
    episode.observe(Step(1, episode.act(1), 0.5, 2))  # at the goal no new interval begins
    assert (episode.interval, episode.intervals, episode.unknown_steps) == (4, 3, 3)
    assert learner.intervals == 4


def rounds(mode: str, order: list[int], count: int = 12) -> list[tuple[list[int], list[NDArray[Any]]]]:
    """Three episodes; in each round all act, in the order given, then all observe, 0 before 1 before 2.

    The actions of each round, and what the learner has seen after it.
    """
    rng = np.random.default_rng(8)
    learner = learner_of(PROBLEM, **MODES[mode])
    contexts = rng.dirichlet(np.ones(2), 3)
    episodes = [learner.begin(context) for context in contexts]
    states = [0, 1, 2]
    found = []
    for _ in range(count):
        actions = {place: episodes[place].act(states[place]) for place in order}
        for place in range(3):
            step = draw_step(PROBLEM, contexts[place], states[place], actions[place], rng.random())
            episodes[place].observe(step)
            states[place] = step.next_state
            if step.next_state == PROBLEM.support.states:
                contexts[place] = rng.dirichlet(np.ones(2))
                episodes[place], states[place] = learner.begin(contexts[place]), place
        seen = learner.statistics
        assert not seen.pending.any()
        arrays = [np.array(one) for one in (seen.visits, seen.gram, seen.next_sums, seen.loss_sums)]
        found.append(([actions[place] for place in range(3)], arrays))
    return found


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "forgetting"])
def test_acts_between_the_same_observes_may_come_in_any_order(mode: str) -> None:
    """The order of acts is that in which visits count, so it shows in the last digits of the sums, and nowhere else.

    Not so where data is forgotten: see the next test.
    """
    expected = rounds(mode, [0, 1, 2])
    for order in itertools.permutations(range(3)):
        for (actions, arrays), (wanted, sums) in zip(rounds(mode, list(order)), expected, strict=True):
            assert actions == wanted
            for one, other in zip(arrays, sums, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-14, atol=1e-15)


def test_where_data_is_forgotten_an_act_that_doubles_the_bound_is_seen_by_all() -> None:
    """The one exception: with ``forget=True`` a plan above the bound wipes the data at once, in ``act``."""
    learner = learner_of(PROBLEM, **MODES["forgetting"])
    run = Clinic(PROBLEM, learner, beds=3, seed=1)
    while not learner.doublings:
        visits = learner.statistics.visits.sum()
        acting = len(run.actions)
        run.tick()
    assert len(run.actions) == acting + 1  # it was an act
    assert visits > 0
    assert learner.statistics.visits.sum() == 0


def test_what_one_episode_observes_the_next_plan_of_another_knows() -> None:
    learner = learner_of(PROBLEM, **MODES["narrow"])
    one, other = learner.begin([1.0, 0.0]), learner.begin([0.5, 0.5])
    action = one.act(0)
    pair = PROBLEM.support.pair(0, action)
    alone = learner.plan([0.5, 0.5])
    following = int(PROBLEM.support.next_state[PROBLEM.support.row(pair)][0])
    one.observe(Step(0, action, 1.0, following))
    other.act(1)
    assert other.plan is not None
    # V = diag(2, 1), loss sums (1, 0): the estimate of the loss under (1/2, 1/2) is 1/4; the radius is 0.01 of
    # sqrt(2 log(8 * 6 * 2 / 0.1)) + 1 = 4.705923, the width sqrt(1/8 + 1/4)
    assert alone.losses[pair] == 0.1
    assert other.plan.losses[pair] == pytest.approx(0.25 - 0.04705923 * math.sqrt(0.375), abs=1e-8)
    for name in ("values", "policy", "losses", "rows", "known"):
        assert getattr(other.plan, name).tobytes() == getattr(learner.plan([0.5, 0.5]), name).tobytes()


def test_a_plan_that_is_held_stays_as_it_is_until_its_interval_ends() -> None:
    """Pairs are known here, so the plan of an episode outlives the observations of another one."""
    learner = learner_of(PROBLEM, **MODES["known"])
    one, other = learner.begin([0.5, 0.5]), learner.begin([0.5, 0.5])
    other.act(0)
    held = other.plan
    assert held is not None
    assert held.known.all()
    for state in (0, 1, 2, 0, 1, 2):  # one after the other, as new episodes
        action = one.act(state)
        one.observe(draw_step(PROBLEM, np.array([0.5, 0.5]), state, action, 1.0 - 1e-12))
        one = learner.begin([0.5, 0.5])
    other.act(0)
    assert other.plan is not None
    assert other.plan.values.tobytes() == held.values.tobytes()
    assert other.plan.losses.tobytes() == held.losses.tobytes()
    assert other.interval == 2


@pytest.mark.parametrize("missed", [0, 1, 63, 64, 65, 200])
@pytest.mark.parametrize("mode", ["narrow", "forgetting"])
def test_an_episode_that_plans_again_sees_what_a_new_one_sees(mode: str, missed: int) -> None:
    """However much it has missed; a journal of 64 changes is kept for those who have missed little."""
    learner = learner_of(PROBLEM, **{**MODES[mode], "tolerance": 1e-9})
    context = np.array([0.3, 0.7])
    old = learner.begin(context)
    step = draw_step(PROBLEM, context, 0, old.act(0), 0.0)
    old.observe(step)  # unknown: the next act plans anew
    assert not old.ended
    play_one(PROBLEM, learner, missed, seed=2)
    new = learner.begin(context)
    assert new.act(step.next_state) == old.act(step.next_state)
    assert new.plan is not None
    assert old.plan is not None
    assert old.plan.losses.tobytes() == new.plan.losses.tobytes()
    np.testing.assert_allclose(old.plan.values, new.plan.values, rtol=1e-8)
    np.testing.assert_allclose(old.plan.rows, new.plan.rows, atol=1e-7)


@pytest.mark.parametrize("mode", MODES)
def test_every_interval_of_every_episode_has_a_number_of_its_own(mode: str) -> None:
    run = Clinic(PROBLEM, learner_of(PROBLEM, **MODES[mode]), beds=4, seed=9)
    seen: dict[int, set[int]] = {}
    for _ in range(150):
        for patient in run.patients:
            seen.setdefault(patient.episode.number, set()).add(patient.episode.interval)
        run.tick()
    for patient in run.patients:
        seen.setdefault(patient.episode.number, set()).add(patient.episode.interval)
    numbers = sorted(number for numbers in seen.values() for number in numbers)
    assert numbers == list(range(1, run.learner.intervals + 1))
