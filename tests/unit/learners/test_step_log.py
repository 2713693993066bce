"""``learn`` and ``learn_log``: any step, whoever chose it; a wrong one is an error that says where it is."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from goalbound import ContextBlind, Discretized, MappedContexts, widths
from goalbound.baselines import bernstein_ssp
from goalbound.errors import ArgumentError, InputError, ModelError, ProjectionFailed
from goalbound.learners import step_log
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.prior import PriorKnowledge
from goalbound.learners.ridge import GreedyRidge
from goalbound.models import LinearCSSP, Step, Support
from tests.support.behaviour import at_random, log_of
from tests.support.driving import learner_of, small_problem, written

ROAD = Support.from_pairs(
    [{0: [0, 1], 1: [1, 2]}, {0: [0, 2]}], state_names=["home", "work"], action_names=["wait", "walk"]
)
GOOD: tuple[Any, Any] = ([0.5, 0.5], Step(0, 1, 0.5, 2))
PROBLEM = small_problem()


def a_learner(**more: Any) -> LRCSSP:
    return LRCSSP(ROAD, 2, loss_floor=0.1, widths=widths.sharp(), **more)


@pytest.fixture(params=[1, 3, 4096])
def small_chunks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_log, "CHUNK", request.param)


WRONG: list[tuple[Any, type[Exception], str]] = [
    (([0.5, 0.4], Step(0, 1, 0.5, 2)), InputError, "context sums to 0.9, not 1"),
    (([1.0], Step(0, 1, 0.5, 2)), InputError, r"context has shape \(1,\)"),
    ((["a", "b"], Step(0, 1, 0.5, 2)), InputError, "not an array of numbers"),
    (([np.nan, 1.0], Step(0, 1, 0.5, 2)), InputError, "weight nan"),
    (([-0.5, 1.5], Step(0, 1, 0.5, 2)), InputError, "weight -0.5"),
    (([0.5, 0.5], Step(5, 1, 0.5, 2)), ModelError, "no state 5"),
    (([0.5, 0.5], Step("bed", 1, 0.5, 2)), ModelError, 'no state is called "bed"'),  # type: ignore[arg-type]
    (([0.5, 0.5], Step(2, 0, 0.5, 2)), ModelError, r"the goal \(2\) has no actions"),
    (([0.5, 0.5], Step(1, 1, 0.5, 2)), ModelError, 'state 1 \\("work"\\) has no action 1'),
    (([0.5, 0.5], Step(True, 1, 0.5, 2)), InputError, "state True"),
    (([0.5, 0.5], Step(0, 2**70, 0.5, 2)), InputError, "no action"),
    (([0.5, 0.5], Step(0, 0, 0.5, 2)), ArgumentError, "its support does not allow"),
    (([0.5, 0.5], Step(0, 1, 1.5, 2)), ArgumentError, "the loss is 1.5; losses lie in"),
    (([0.5, 0.5], Step(0, 1, np.nan, 2)), ArgumentError, "the loss is nan"),
    (([0.5, 0.5], Step(0, 1, "0.5", 2)), ArgumentError, "is not a number"),  # type: ignore[arg-type]
    (([0.5, 0.5], Step(0, 1, 10**400, 2)), ArgumentError, "losses lie in"),
    (([0.5, 0.5], (0, 1, 0.5)), ArgumentError, "give Step"),
]


@pytest.mark.parametrize("number", range(len(WRONG)), ids=lambda number: f"{number}: {WRONG[number][2]}"[:50])
def test_a_wrong_step_changes_nothing(number: int) -> None:
    learner = a_learner()
    before = written(learner)
    item, error, message = WRONG[number]
    with pytest.raises(error, match=message):
        learner.learn(*item)
    assert written(learner) == before


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("number", range(len(WRONG)), ids=lambda number: f"{number}: {WRONG[number][2]}"[:50])
def test_in_a_log_its_number_is_said_and_the_steps_before_it_are_learned(number: int) -> None:
    item, error, message = WRONG[number]
    learner = a_learner()
    with pytest.raises(error, match=f"step 4 of the log, from 0 on: .*{message}.*the steps before it were learned"):
        learner.learn_log([*[GOOD] * 4, item, *[GOOD] * 3])
    assert learner.statistics.visits.sum() == 4


@pytest.mark.parametrize("item", ["ab", 7, None, ([0.5, 0.5],), (*GOOD, 1)])
def test_what_is_no_context_with_a_step_is_said(item: Any) -> None:
    with pytest.raises(ArgumentError, match=r"step 1 of the log, from 0 on: it is .*give \(context, Step"):
        a_learner().learn_log([GOOD, item])


def test_what_is_no_log_is_said() -> None:
    with pytest.raises(ArgumentError, match="the log is of the type int"):
        a_learner().learn_log(7)  # type: ignore[arg-type]


@pytest.mark.usefixtures("small_chunks")
def test_a_log_that_fails_itself_has_taught_what_came_before() -> None:
    def broken() -> Iterator[tuple[Any, Step]]:
        yield from [GOOD] * 5
        raise OSError("the disk is gone")

    learner = a_learner()
    with pytest.raises(OSError, match="the disk is gone"):
        learner.learn_log(broken())
    assert learner.statistics.visits.sum() == 5


@pytest.mark.usefixtures("small_chunks")
def test_names_and_numbers_of_any_kind_are_the_same_steps() -> None:
    plain = [([0.25, 0.75], Step(0, 1, 1.0, 2)), ([1.0, 0.0], Step(0, 0, 0.0, 1)), ([0.5, 0.5], Step(1, 0, 0.5, 0))]
    named = [
        ([0.25, 0.75], Step("home", "walk", 1, "goal")),  # type: ignore[arg-type]
        (np.array([1, 0]), ("home", "wait", np.float32(0.0), "work")),
        ((0.5, 0.5), ["work", np.int32(0), np.float64(0.5), np.int64(0)]),
    ]
    one, other, mixed = a_learner(), a_learner(), a_learner()
    assert one.learn_log(plain) == other.learn_log(named) == 3  # type: ignore[arg-type]
    assert mixed.learn_log(iter([named[0], plain[1], named[2]])) == 3  # type: ignore[arg-type, list-item]
    assert written(one) == written(other) == written(mixed)


def test_an_empty_log_teaches_nothing() -> None:
    learner = a_learner()
    before = written(learner)
    assert learner.learn_log([]) == 0
    assert written(learner) == before


@pytest.mark.parametrize("size", [1, 2, 9, 20])
def test_contexts_that_do_not_quite_sum_to_one_are_divided_as_begin_does(size: int) -> None:
    support = Support.full(1, 1)
    rng = np.random.default_rng(size)
    table = rng.dirichlet(np.ones(size), 60) * (1.0 + rng.choice([0.0, 1e-16, 3e-16, -2e-15, 1e-13, 9e-10], (60, 1)))
    one, other = (LRCSSP(support, size, loss_floor=0.1) for _ in range(2))
    log = [(context, Step(0, 0, 0.5, 1)) for context in table]
    one.learn_log(log)
    for context, step in log:
        other.learn(context, step)
    assert written(one) == written(other)


def test_a_step_that_a_known_row_excludes_is_an_error_and_those_before_it_are_learned() -> None:
    support = Support.full(1, 2)
    prior = PriorKnowledge.nothing(support, 1).with_rows({(0, 0): [1.0, 0.0]})
    learner = LRCSSP(support, 1, loss_floor=0.1, prior=prior)
    with pytest.raises(ArgumentError, match=r"step 2 of the log.*the row that it was said to have excludes"):
        learner.learn_log([([1.0], Step(0, 0, 0.5, 0)), ([1.0], Step(0, 1, 0.5, 1)), ([1.0], Step(0, 0, 0.5, 1))])
    assert learner.statistics.visits.tolist() == [1, 1]
    with pytest.raises(ArgumentError, match="excludes"):
        learner.learn([1.0], Step(0, 0, 0.5, 1))


def test_visits_that_are_awaited_count_before_a_step_that_is_learned() -> None:
    """Act, then learn: the awaited visit was made first, so it is in the Gram matrix, as one that may be anything."""
    learner = a_learner()
    episode = learner.begin([0.0, 1.0])
    action = episode.act(1)
    learner.learn([1.0, 0.0], Step(0, 0, 0.5, 0))
    assert (learner.statistics.visits.sum(), learner.statistics.pending.sum()) == (1, 0)  # another pair
    learner.learn([1.0, 0.0], Step(1, action, 0.5, 0))
    assert (learner.statistics.visits.sum(), learner.statistics.pending.sum()) == (3, 1)
    episode.observe(Step(1, action, 0.5, 2))
    assert (learner.statistics.visits.sum(), learner.statistics.pending.sum()) == (3, 0)


def test_a_log_counts_them_at_the_same_places_as_step_by_step() -> None:
    log = log_of(PROBLEM, at_random, 40, 1)
    found = []
    for whole in (False, True):
        learner = learner_of(PROBLEM, loss_floor=0.1, widths=widths.sharp())
        episodes = [learner.begin([0.3, 0.7]) for _ in range(6)]
        for place, episode in enumerate(episodes):
            episode.act(place % 3)
        if whole:
            learner.learn_log(log)
        else:
            for context, step in log:
                learner.learn(context, step)
        found.append(written(learner))
    assert found[0] == found[1]


def test_the_sets_of_just_before_a_step_are_those_it_is_tested_against() -> None:
    """A coin of 1/2, 2000 times: without the sets of before, outcomes would be held against nothing and alarm."""
    learner = LRCSSP(Support.full(1, 1), 1, loss_floor=0.1, widths=widths.sharp())
    rng = np.random.default_rng(2)
    learner.learn_log(([1.0], Step(0, 0, 0.5, int(rng.random() < 0.5))) for _ in range(2000))
    assert learner.alarm is None
    assert learner.confidence_set([1.0]).high[1] - learner.confidence_set([1.0]).low[1] < 0.25


def test_an_alarm_of_learned_steps_says_so() -> None:
    """Means that jump with the context contradict a linear model."""
    learner = LRCSSP(Support.full(1, 1), 2, loss_floor=0.05, widths=widths.sharp())
    rng = np.random.default_rng(3)
    log = [([w, 1.0 - w], Step(0, 0, 1.0 if abs(w - 0.5) < 0.25 else 0.1, 1)) for w in rng.random(6000)]
    with pytest.warns(UserWarning, match="steps that were learned from: state 0, action 0: the loss"):
        learner.learn_log(log)
    assert learner.alarm is not None
    assert learner.alarm.episode == 0


def test_a_projection_that_fails_is_said_at_the_end_of_a_log_too() -> None:
    learner = GreedyRidge(ROAD, 2, loss_floor=0.1)
    learner._state.totals["failed_projections"] = 1
    with pytest.raises(ProjectionFailed):
        learner.learn_log([GOOD])


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupt_waits_until_what_is_learned_fits_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle of a chunk: the chunk is learned, and nothing after it."""
    monkeypatch.setattr(step_log, "CHUNK", 4)
    learner = a_learner()
    enter = LRCSSP._enter
    calls = []

    def interrupted(self: Any, steps: Any) -> None:
        calls.append(len(steps.pairs))
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        enter(self, steps)

    monkeypatch.setattr(LRCSSP, "_enter", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learner.learn_log([GOOD] * 20)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert learner.statistics.visits.sum() == 8
    monkeypatch.undo()
    whole = a_learner()
    whole.learn_log([GOOD] * 8)
    assert written(learner) == written(whole)


def test_a_log_may_be_learned_in_any_thread() -> None:
    learner = a_learner()
    thread = threading.Thread(target=learner.learn_log, args=([GOOD] * 3,))
    thread.start()
    thread.join()
    assert learner.statistics.visits.sum() == 3


def test_learners_that_see_contexts_through_something_learn_by_what_they_see() -> None:
    seen, plain = a_learner(), a_learner()
    mapped = MappedContexts(seen, [[1, 0], [0, 1], [0, 1]])
    assert mapped.learn_log([([0.5, 0.25, 0.25], GOOD[1])]) == 1
    mapped.learn([0.5, 0.5, 0.0], GOOD[1])
    plain.learn_log([GOOD] * 2)
    assert written(seen) == written(plain)
    with pytest.raises(ArgumentError, match="step 1 of the log"):
        mapped.learn_log([([0.5, 0.25, 0.25], GOOD[1]), "no step"])  # type: ignore[list-item]
    blind = ContextBlind(bernstein_ssp(ROAD, loss_floor=0.1))
    assert blind.learn_log([GOOD, GOOD]) == 2
    assert blind.inner.visits.sum() == 2


def test_each_cell_learns_its_own_steps() -> None:
    learner = Discretized(lambda rng: bernstein_ssp(ROAD, loss_floor=0.1), 2, parts=2)
    assert learner.learn_log([([0.9, 0.1], GOOD[1]), ([0.1, 0.9], GOOD[1]), ([0.8, 0.2], GOOD[1])]) == 3
    assert {cell: int(one.visits.sum()) for cell, one in learner.cells.items()} == {(1, 0): 2, (0, 1): 1}
    with pytest.raises(ArgumentError, match=r"step 1 of the log.*losses lie in"):
        learner.learn_log([GOOD, ([0.5, 0.5], Step(0, 1, 2.0, 2))])
    fresh = Discretized(lambda rng: bernstein_ssp(ROAD, loss_floor=0.1), 2, parts=2)
    with pytest.raises(InputError):
        fresh.learn([0.5, 0.5], Step(0, 1, 2.0, 2))
    assert not fresh.cells


def test_a_problem_learned_from_a_log_is_planned_in() -> None:
    """From a log of random steps a greedy learner knows the better action: 0.2 against 1, both to the goal."""
    problem = LinearCSSP.dense([[[1.0, 0.2]]], [[[[0.0, 1.0], [0.0, 1.0]]]])
    learner = GreedyRidge(problem.support, 1, loss_floor=0.1)
    learner.learn_log(log_of(problem, at_random, 200, 3))
    assert learner.plan([1.0]).policy.tolist() == [1]
