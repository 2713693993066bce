"""The context-free learners step by step: when a plan holds, when it has to be made anew, what a step changes."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.baselines import Method, loop
from goalbound.baselines.protocol import chosen_pair
from tests.support.tabular_driving import METHODS
from tests.support.tabular_kernels import GOAL, Arguments, arguments, filled, place

SWEEPS = 10**6
SHARED = ("bernstein", "eb", "psrl")
"""The methods whose plan all episodes follow until it is stale."""


def begun(method: Method) -> Arguments:
    case = arguments(method)
    loop.begin.python(case.learner, case.episode)
    return case


def plan(case: Arguments) -> bool:
    return bool(case.kernel(loop.plan_episode).python(case.constants, case.learner, case.episode, SWEEPS))


def is_valid(case: Arguments, state: int = 0) -> bool:
    return bool(case.kernel(loop.plan_is_valid).python(case.constants, case.learner, case.episode, state))


def observe(case: Arguments, pair: int, to: int, loss: float = 0.5) -> None:
    case.kernel(loop.observe).python(case.constants, case.learner, case.episode, pair, place(pair, to), loss)


def test_an_episode_begins_with_the_next_number_and_without_a_plan() -> None:
    case = begun(METHODS["uc"])
    for name in ("plan", "intervals", "unknown_steps", "steps", "limit"):
        case.episode.progress[name] = 9
    loop.begin.python(case.learner, case.episode)
    assert case.episode.progress["number"] == case.learner.totals["episodes"] == 2
    assert [int(case.episode.progress[n]) for n in ("plan", "intervals", "unknown_steps", "steps", "limit")] == [0] * 5


@pytest.mark.parametrize("name", METHODS)
def test_without_a_plan_none_is_valid_and_with_a_new_one_it_is(name: str) -> None:
    case = begun(METHODS[name])
    assert not is_valid(case)
    assert plan(case)
    assert is_valid(case)
    progress = case.episode.progress
    assert (progress["intervals"], progress["steps"]) == (1, 0)
    assert progress["plan"] == case.learner.totals["plans"]


@pytest.mark.parametrize("name", SHARED)
def test_a_shared_plan_holds_until_it_is_stale_or_another_one_was_made(name: str) -> None:
    case = begun(METHODS[name])
    assert plan(case)
    case.episode.progress["steps"] = 10**6  # however long it was followed
    assert is_valid(case)
    case.learner.totals["stale"] = 1
    assert not is_valid(case)
    case.learner.totals["stale"] = 0
    case.learner.totals["plans"] += 1
    assert not is_valid(case)


def test_a_plan_that_does_not_come_to_its_end_is_not_followed() -> None:
    for method in (Method("bernstein-ssp", scale=1e-4), Method("eb-ssp", scale=1e-3), Method("uc-ssp", scale=1e-4)):
        case = filled(method, 1).case
        loop.begin.python(case.learner, case.episode)
        constants = case.constants._replace(policy_iteration=False)
        assert not case.kernel(loop.plan_episode).python(constants, case.learner, case.episode, 1)
        assert case.episode.progress["plan"] == case.learner.totals["plans"] == 0


def test_a_step_enters_the_counts_and_is_counted_by_the_learner_and_by_its_episode() -> None:
    case = begun(METHODS["bernstein"])
    observe(case, 1, 2, 0.25)
    observe(case, 1, GOAL, 0.75)
    counts = case.learner.counts
    assert (counts.visits[1], counts.loss_sums[1], counts.square_sums[1]) == (2, 1.0, 0.625)  # 1/16 + 9/16
    assert (counts.goals[1], counts.seen[1]) == (1, 1)
    assert case.learner.totals["steps"] == case.episode.progress["steps"] == 2


@pytest.mark.parametrize("name", METHODS)
def test_both_forms_plan_and_learn_the_same(name: str) -> None:
    """PSRL-SSP plans in the model that its state has; nothing is drawn here."""
    ended = []
    for form in ("python", "compiled"):
        case, rng = begun(METHODS[name]), np.random.default_rng(4)
        for _ in range(30):
            if not getattr(case.kernel(loop.plan_is_valid), form)(case.constants, case.learner, case.episode, 0):
                run = getattr(case.kernel(loop.plan_episode), form)
                assert run(case.constants, case.learner, case.episode, SWEEPS)
            pair = getattr(case.kernel(chosen_pair), form)(case.constants, case.learner, case.episode, 0)
            at, loss = place(pair, int(rng.integers(4))), float(rng.random())
            getattr(case.kernel(loop.observe), form)(case.constants, case.learner, case.episode, pair, at, loss)
        learner = case.learner
        parts = (learner.main.iteration.values, learner.counts.seen_count, learner.visits_used, learner.workspace.table)
        ended.append(([part.tobytes() for part in parts], learner.totals.tolist(), case.episode.progress.tolist()))
    assert ended[0] == ended[1]
