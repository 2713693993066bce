"""The paper's rule: every unknown step begins an interval of the proof, whether or not a new plan is made."""

from __future__ import annotations

from typing import Any

from goalbound.learners.explore.optimistic import Optimistic
from goalbound.learners.explore.protocol import select
from goalbound.models import Support
from tests.support.ridge import lr_cssp
from tests.support.ridge_kernels import Arguments, arguments_of
from tests.support.uniform_numbers import Numbers

SUPPORT = Support.full(2, 2)
"""Pairs 0 and 1 of state 0, pairs 2 and 3 of state 1; each has places 0, 1 and 2 (the goal) of its own."""
CONTEXT = [0.25, 0.75]


def arguments(**settings: Any) -> Arguments:
    given = {"loss_floor": 0.5, "loss_bound": 1.0, "delta": 0.5} | settings
    return arguments_of(lr_cssp(SUPPORT, 2, **given), CONTEXT)


def test_with_a_replan_factor_an_unknown_step_counts_an_interval_but_keeps_the_plan() -> None:
    # Under one context of norm^2 1/16 + 9/16 = 5/8 the determinant of I + n c c^T is 1 + 5 n / 8: it has doubled at
    # the second visit.
    case = arguments(replan_factor=2.0)
    case.plan()
    assert not case.observe(0, 1)
    progress = case.episode.progress
    assert (progress["interval"], progress["intervals"], progress["planned"]) == (2, 1, 1)
    assert case.observe(0, 1)
    assert (progress["interval"], progress["intervals"], progress["planned"]) == (3, 2, 0)
    assert progress["unknown_steps"] == 2


def test_it_plays_its_plan_and_draws_nothing() -> None:
    case = arguments()
    case.episode.iteration.policy[:] = [1, 2]
    assert [case.python(select)(case.constants, case.episode, state, Numbers()) for state in (0, 1)] == [1, 2]


def test_it_plans_in_the_confidence_model_that_the_learner_is_given() -> None:
    rule = Optimistic()
    assert rule.room(None) is None
    assert (rule.is_optimistic, rule.draws, rule.as_json()) == (True, False, {"name": "optimistic"})
