"""The context-free learners step by step: when a plan holds, when it has to be made anew, what a step changes."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from goalbound.baselines import Method, loop
from goalbound.baselines.protocol import chosen_pair, draw_model
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


def test_uc_may_make_one_step_more_than_the_length_of_its_attempt() -> None:
    case = begun(METHODS["uc"])
    assert plan(case)
    assert case.episode.progress["limit"] == 2  # nothing was seen
    held = []
    for steps in range(5):
        case.episode.progress["steps"] = steps
        held.append(is_valid(case))
    assert held == [True, True, True, False, False]


def test_an_interval_of_ulcvi_has_as_many_steps_as_stages() -> None:
    case = begun(METHODS["ulcvi"])
    assert plan(case)
    horizon = case.constants.horizon
    case.learner.totals["stale"] = 1  # what is learned in between changes nothing
    case.episode.progress["steps"] = horizon - 1
    assert is_valid(case)
    case.episode.progress["steps"] = horizon
    assert not is_valid(case)


def test_ulcvi_plays_the_pair_of_its_stage_and_the_others_that_of_the_state() -> None:
    staged, plain = begun(METHODS["ulcvi"]), begun(METHODS["bernstein"])
    staged.learner.workspace.table[:] = 0
    staged.learner.workspace.table[3] = [1, 2, 5]
    staged.episode.progress["steps"] = plain.episode.progress["steps"] = 3
    staged.episode.policy[:] = plain.episode.policy[:] = [0, 3, 4]
    for case, pairs in ((staged, [1, 2, 5]), (plain, [0, 3, 4])):
        choose = case.kernel(chosen_pair).python
        assert [choose(case.constants, case.learner, case.episode, s) for s in range(3)] == pairs


def test_hoeffding_trusts_its_plan_in_states_where_the_pair_is_known() -> None:
    case = arguments(Method("hoeffding-ssp", loss_bound=1.0, scale=0.003), loss_floor=0.5)
    # known after scale^2 (5000 B^2 / floor^2) m ln(1000 N B / (delta floor)) = 9e-6 * 20000 * 3 ln(120000) visits
    assert case.constants.known_after == pytest.approx([0.54 * log(120_000.0)] * 6, rel=1e-12)  # 6.3
    loop.begin.python(case.learner, case.episode)
    assert plan(case)
    case.episode.policy[:] = [0, 2, 4]
    case.learner.counts.visits[:] = [6, 0, 7, 0, 0, 0]
    assert is_valid(case, 0)  # before the first step every plan is good
    case.episode.progress["steps"] = 1
    assert [is_valid(case, state) for state in range(3)] == [False, True, False]
    case.episode.progress["steps"] = 0
    for pair in (0, 2):  # a step with an unknown pair is counted, before it is learned from
        observe(case, pair, 0)
    assert case.episode.progress["unknown_steps"] == 1
    assert loop.is_known.python(case.constants, case.learner, 0)


def test_only_posterior_sampling_draws_and_only_where_its_plan_is_stale() -> None:
    for name, method in METHODS.items():
        case = begun(method)
        for stale in (0, 1):
            case.learner.totals["stale"] = stale
            rng = np.random.default_rng(0)
            case.kernel(draw_model).python(case.constants, case.learner, rng)
            drew = rng.bit_generator.state != np.random.default_rng(0).bit_generator.state
            assert drew == (name == "psrl" and stale == 1)


def test_hoeffding_and_uc_plan_for_every_interval_and_the_others_share_what_is_not_stale() -> None:
    for name, method in METHODS.items():
        case = begun(method)
        for _ in range(3):
            assert plan(case)
        assert case.learner.totals["plans"] == (3 if name in ("uc", "hoeffding") else 1)
        assert case.episode.progress["intervals"] == 3


def test_a_plan_that_does_not_come_to_its_end_is_not_followed() -> None:
    for method in (Method("bernstein-ssp", scale=1e-4), Method("eb-ssp", scale=1e-3), Method("uc-ssp", scale=1e-4)):
        case = filled(method, 1).case
        loop.begin.python(case.learner, case.episode)
        constants = case.constants._replace(policy_iteration=False)
        assert not case.kernel(loop.plan_episode).python(constants, case.learner, case.episode, 1)
        assert case.episode.progress["plan"] == case.learner.totals["plans"] == 0


def test_a_new_epoch_remembers_how_often_the_last_one_arrived() -> None:
    case = begun(METHODS["psrl"])
    case.learner.totals["goals"], case.learner.totals["goals_before"] = 5, 2
    loop.begin_epoch.python(case.learner)
    totals = case.learner.totals
    assert (totals["plans"], totals["stale"], totals["goals"], totals["goals_before"]) == (1, 0, 0, 5)


@pytest.mark.parametrize(("used", "doubled"), [(0, [False, True, True, True]), (1, [False, False, True, True])])
def test_visits_have_doubled_when_there_are_as_many_new_ones_as_old_ones(used: int, doubled: list[bool]) -> None:
    case = begun(METHODS["bernstein"])
    case.learner.visits_used[2] = used
    found = []
    for visits in range(4):
        case.learner.counts.visits[2] = visits
        found.append(bool(loop.has_doubled.python(case.learner, 2)))
    assert found == doubled


def test_eb_looks_at_a_pair_when_its_visits_are_a_power_of_two() -> None:
    case = begun(METHODS["eb"])
    looked_at = []
    for visits in range(1, 18):
        case.learner.totals["stale"] = 0
        observe(case, 3, 1)
        if case.learner.totals["stale"]:
            looked_at.append(visits)
            assert case.learner.visits_used[3] == visits
    assert looked_at == [1, 2, 4, 8, 16]
    assert case.learner.totals["triggers"] == 5


def test_a_visited_pair_waits_to_be_looked_at_in_every_model_that_is_planned_in() -> None:
    for name, models in (("uc", 2), ("bernstein", 1), ("ulcvi", 1), ("psrl", 0)):
        case = begun(METHODS[name])
        for model in (case.learner.main, case.learner.unit):
            model.dirty_count[0] = 0
            model.is_dirty[:] = False
        observe(case, 3, 1)
        found = [model.dirty[: model.dirty_count[0]].tolist() for model in (case.learner.main, case.learner.unit)]
        assert found == [[3]] * models + [[]] * (2 - models)


def test_an_epoch_of_psrl_ends_when_it_has_arrived_more_often_than_the_one_before() -> None:
    case = begun(METHODS["psrl"])
    case.learner.visits_used[:] = 100  # no pair is about to double
    case.learner.totals["goals_before"] = 2
    stale = []
    for _ in range(3):
        case.learner.totals["stale"] = 0
        observe(case, 0, 1)
        observe(case, 0, GOAL)
        stale.append(int(case.learner.totals["stale"]))
    assert stale == [0, 0, 1]
    other = begun(METHODS["bernstein"])  # to which arrivals mean nothing
    other.learner.visits_used[:] = 100
    other.learner.totals["stale"] = 0
    for _ in range(3):
        observe(other, 0, GOAL)
    assert (other.learner.totals["stale"], other.learner.totals["goals"]) == (0, 3)


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
