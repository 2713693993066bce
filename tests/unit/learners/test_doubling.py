"""The loss bound that is doubled, by plans and by what intervals lose, and the data that is forgotten then."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from goalbound.confidence import likelihood, sharp
from goalbound.confidence.likelihood import part_in_use
from goalbound.jit.records import named_arrays
from goalbound.learners.doubling import plan_under_bound, reset_data, restart
from goalbound.learners.visits import count_pending
from goalbound.models import Step, Support
from tests.support.ridge import lr_cssp
from tests.support.ridge_kernels import Arguments, arguments_of

SUPPORT = Support.full(2, 2)
"""Pairs 0 and 1 of state 0, pairs 2 and 3 of state 1; each has places 0, 1 and 2 (the goal) of its own."""
CONTEXT = [0.25, 0.75]


def arguments(**settings: Any) -> Arguments:
    given = {"loss_floor": 0.5, "loss_bound": 1.0, "delta": 0.5} | settings
    return arguments_of(lr_cssp(SUPPORT, 2, **given), CONTEXT)


def doubling(**settings: Any) -> Arguments:
    """A learner that seeks its bound, from B = 1 on, in its first interval."""
    case = arguments(loss_bound=None, **settings)
    case.episode.progress["loss_bound"] = 1.0
    return case


def test_an_interval_that_loses_too_much_doubles_the_bound() -> None:
    # 48 B log(4 m / delta) = 48 log(8) = 99.8132 for B = 1, m = 1, delta = 1/2
    assert 48.0 * math.log(8.0) == pytest.approx(99.8132, abs=1e-4)
    case = doubling()
    case.make_known()
    case.episode.progress["interval_loss"] = 98.8131
    assert not case.observe(0, 1, 1.0)
    assert (case.learner.totals["loss_bound"], case.learner.totals["doublings"]) == (1.0, 0)
    case.episode.progress["interval_loss"] = 98.8133
    assert case.observe(0, 1, 1.0)
    assert (case.learner.totals["loss_bound"], case.learner.totals["doublings"]) == (2.0, 1)
    assert case.episode.progress["interval"] == 2


def test_a_later_interval_may_lose_more_before_the_bound_doubles() -> None:
    case = doubling()
    case.make_known()
    case.episode.progress["interval"] = 2  # 48 log(16) = 133.084
    case.episode.progress["interval_loss"] = 132.0
    assert not case.observe(0, 1, 1.0)
    assert case.observe(0, 1, 1.0)


def test_a_bound_that_is_given_is_not_doubled() -> None:
    case = arguments()
    case.plan()
    case.make_known()
    case.episode.progress["interval_loss"] = 1e6
    assert not case.observe(0, 1, 1.0)
    assert case.learner.totals["loss_bound"] == 1.0


def test_an_episode_whose_bound_is_behind_gives_up_its_interval_and_doubles_nothing() -> None:
    case = doubling()
    case.make_known()
    case.learner.totals["loss_bound"] = 4.0  # another episode has gone on
    case.episode.progress["interval_loss"] = 100.0
    assert case.observe(0, 1, 1.0)
    assert (case.learner.totals["loss_bound"], case.learner.totals["doublings"]) == (4.0, 0)


def test_a_bound_that_a_plan_has_doubled_is_the_learners_from_its_first_step_on() -> None:
    case = doubling()
    case.make_known()
    case.episode.progress["loss_bound"] = 8.0
    case.observe(0, 1)
    assert (case.learner.totals["loss_bound"], case.learner.totals["doublings"]) == (8.0, 1)


def rare_exits(case: Arguments) -> Arguments:
    """Every pair leads to the goal with 0.1 for a loss of 0.5, as far as is known: all values are 5."""
    for pair in range(4):
        case.estimate(pair, {0: [0.9, 0.9], 1: [0.0, 0.0]}, [0.5, 0.5])
        case.learner.regression.visits[pair] = 9
    case.learner.sets.loss_radius[:] = case.learner.sets.next_radius[:] = 0.0
    return case


def planned_with_doubling(case: Arguments) -> bool:
    return bool(case.python(plan_under_bound)(case.constants, case.learner, case.episode, case.workspace, 10**6))


def test_a_plan_above_the_bound_is_made_under_a_bound_that_is_not_below_it() -> None:
    case = rare_exits(doubling())
    assert planned_with_doubling(case)
    assert case.episode.iteration.values[:2] == pytest.approx([5.0, 5.0], rel=1e-2)
    assert case.episode.progress["loss_bound"] == 8.0  # 1, 2, 4, 8
    # The learner's own is doubled by the first step that is made with the plan; the data stays.
    assert (case.learner.totals["loss_bound"], case.learner.totals["doublings"]) == (1.0, 0)
    assert case.learner.regression.visits.tolist() == [9] * 4


def test_a_plan_above_the_bound_forgets_all_where_that_is_asked_for_and_is_made_again() -> None:
    case = rare_exits(doubling(forget=True))
    assert planned_with_doubling(case)
    totals = case.learner.totals
    assert (totals["loss_bound"], totals["doublings"], totals["restarts"]) == (8.0, 1, 1)
    assert case.learner.regression.visits.tolist() == [0] * 4
    assert case.episode.iteration.values[:2] == pytest.approx([0.5, 0.5])  # without data: the floor


def test_forgotten_data_leaves_a_learner_like_new_with_a_smaller_share_of_the_failure() -> None:
    for settings in ({}, {"widths": sharp()}):
        fresh, case = doubling(forget=True, **settings), doubling(forget=True, **settings)
        rng = np.random.default_rng(2)
        for _ in range(30):
            case.begin(rng.dirichlet(np.ones(2)))
            case.plan()
            case.observe(int(rng.integers(4)), int(rng.integers(3)), float(rng.random()))
        case.python(count_pending)(case.constants, case.learner, case.episode, case.scratch, 0)
        revision, intervals = case.learner.revision.copy(), int(case.learner.totals["intervals"])
        case.python(restart)(case.constants, case.learner)
        # of restarts, r = 1 has the share 6 / (pi^2 (r + 1)^2)
        assert case.learner.totals["restart_log"] == pytest.approx(-math.log(6 / (math.pi**2 * 4)), rel=1e-14)
        fresh.learner.totals["restarts"] = 1
        fresh.python(reset_data)(fresh.constants, fresh.learner)
        kept = ("revision", "change_log", "values", "policy")
        mine, theirs = case.all_arrays(without=kept), fresh.all_arrays(without=kept)
        for name in mine:
            if ".totals." not in name and ".watch." not in name and not name.endswith("seen_state"):
                np.testing.assert_array_equal(mine[name], theirs[name], err_msg=name)
        assert (case.learner.revision == revision + 1).all()  # everyone looks again
        assert case.learner.totals["intervals"] == intervals > 30


def test_forgotten_likelihoods_leave_their_room_to_the_pairs_that_are_played_next() -> None:
    learner = lr_cssp(SUPPORT, 2, loss_floor=0.5, widths=likelihood(), forget=True)
    rng = np.random.default_rng(2)
    log = [(rng.dirichlet([1.0, 1.0]), Step(k % 2, k // 2 % 2, 0.5, int(rng.integers(3)))) for k in range(30)]
    learner.learn_log(log)
    case = arguments_of(learner, CONTEXT)
    case.python(restart)(case.constants, case.learner)
    fresh = lr_cssp(SUPPORT, 2, loss_floor=0.5, widths=likelihood(), forget=True)._state.sets
    expected = dict(named_arrays("sets", part_in_use(fresh)))
    for name, array in named_arrays("sets", part_in_use(case.learner.sets)):
        if name != "sets.sharp.variance_log_det":  # the share of the failure is smaller now
            np.testing.assert_array_equal(array, expected[name], err_msg=name)
    learner._assembly.room.check(learner)  # as after the next load
    learner.learn_log(log[:1])
    learner._assembly.room.check(learner)


def test_a_step_whose_data_was_forgotten_on_the_way_is_not_learned_from() -> None:
    case = doubling(forget=True)
    case.make_known()
    case.episode.progress["interval_loss"] = 100.0
    assert case.observe(0, 1, 1.0)  # it doubles the bound, which forgets all data, itself included
    assert case.learner.totals["restarts"] == 1
    assert case.learner.regression.visits.sum() == 0
