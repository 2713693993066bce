"""When so much was learned of an unknown pair that a new plan is due; what a rule is that leaves all out."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray

from goalbound.errors import InputError
from goalbound.learners.doubling import plan_under_bound
from goalbound.learners.explore.greedy import Greedy
from goalbound.learners.explore.posterior import Posterior
from goalbound.learners.explore.protocol import ExplorationRule
from goalbound.learners.learner import RidgeLearner
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.ridge import GreedyRidge
from goalbound.learners.settings import LearnerOptions, Settings
from goalbound.models import Step, Support
from tests.support.driving import MODES, Clinic, draw_step, explorer_of, learner_of, small_problem, written

PROBLEM = small_problem(2)


@pytest.mark.parametrize("mode", MODES)
def test_a_factor_of_one_is_the_papers_run(mode: str) -> None:
    one, other = (
        Clinic(PROBLEM, learner_of(PROBLEM, **MODES[mode], **extra), beds=1, seed=4).run(200)
        for extra in ({}, {"replan_factor": 1.0})
    )
    assert one.actions == other.actions
    assert written(one.learner) == written(other.learner)
    # and there every unknown step that does not arrive ends its interval
    unknown, missed = unknown_steps(mode, beds=1)
    assert unknown > 60 or mode == "known"
    assert missed == 0


def unknown_steps(mode: str, *, beds: int) -> tuple[int, int]:
    """How many unknown steps did not arrive, and how many of these ended no interval."""
    clinic = Clinic(PROBLEM, learner_of(PROBLEM, **MODES[mode]), beds=beds, seed=2)
    counts: Counter[bool] = Counter()
    for _ in range(600):
        before = [(one.episode, one.episode.unknown_steps, one.episode.interval) for one in clinic.patients]
        clinic.tick()
        for episode, unknown, interval in before:
            if episode.unknown_steps > unknown and not episode.ended:
                counts[episode.interval == interval] += 1
    return counts.total(), counts[True]


@pytest.mark.parametrize("mode", MODES)
def test_with_several_episodes_too_every_unknown_step_ends_its_interval(mode: str) -> None:
    assert unknown_steps(mode, beds=4)[1] == 0


@pytest.mark.parametrize("settings", [MODES["narrow"], MODES["doubling"], None])
def test_a_larger_factor_plans_less_often(settings: dict[str, Any] | None) -> None:
    counts = []
    for factor in (1.0, 2.0, 1e6):
        learner: RidgeLearner = (
            explorer_of(Greedy(), PROBLEM, replan_factor=factor)
            if settings is None
            else learner_of(PROBLEM, **settings, replan_factor=factor)
        )
        with patch.object(learner, "_run", wraps=learner._run) as run:
            Clinic(PROBLEM, learner, beds=1, seed=4).run(600)
        counts.append(sum(call.args[0] is plan_under_bound for call in run.call_args_list))
    # 300 steps; about every second one arrives, and that ends an interval whatever the factor
    assert counts[0] > 1.2 * counts[1]
    assert counts[1] > counts[2]


@pytest.mark.parametrize("factor", [1.3, 2.0, 5.0])
@pytest.mark.parametrize("name", ["narrow", "known", "greedy", "sampled"])
def test_an_interval_ends_when_the_determinant_has_grown_by_the_factor(name: str, factor: float) -> None:
    # A small regularization: determinants grow fast, so that even a factor of 5 ends an interval now and then.
    learner: RidgeLearner
    if name in MODES:
        learner = learner_of(PROBLEM, **{"regularization": 0.1, **MODES[name]}, replan_factor=factor)
    else:
        exploration = {"greedy": Greedy(), "sampled": Posterior()}[name]
        learner = explorer_of(exploration, PROBLEM, regularization=0.1, replan_factor=factor)
    rng = np.random.default_rng(5)
    seen: Counter[str] = Counter()
    for _ in range(60):
        context = rng.dirichlet(np.ones(2))
        episode, state = learner.begin(context), 0
        before: NDArray[np.float64] | None = None
        for _ in range(50):  # known pairs may go round for ever: what these learners are told is not true
            action = episode.act(state)
            if before is None:
                before = np.linalg.det(learner.statistics.gram)
            assert episode.plan is not None
            pair = PROBLEM.support.pair(state, action)
            known = bool(episode.plan.known[pair])
            step = draw_step(PROBLEM, context, state, action, rng.random())
            episode.observe(step)
            state = step.next_state
            if state == PROBLEM.support.states:
                break
            grown = np.linalg.det(learner.statistics.gram[pair]) / before[pair]
            assert abs(grown / factor - 1.0) > 1e-9  # else rounding would decide
            ended = episode.plan is None
            assert ended == (grown >= factor and not known)
            seen["known" if known else "ended" if ended else "kept"] += 1
            if ended:
                before = None
    assert seen["kept"] + seen["known"] >= 20
    assert seen["ended"] >= (0 if name == "known" else 1)
    assert (seen["known"] > 0) == (name == "known")


@pytest.mark.parametrize("prior_visits", [1.0, 3.0])
def test_a_determinant_that_has_just_doubled_has_doubled(prior_visits: float) -> None:
    # One component: the determinant is mu + visits. It has doubled at mu, 3 mu, 7 mu, ... visits.
    options = LearnerOptions(prior_visits=prior_visits, replan_factor=2.0)
    learner = GreedyRidge(Support.full(1, 1), 1, loss_floor=0.1, options=options)
    episode, ended = learner.begin([1.0]), []
    for visits in range(1, 64):
        before = episode.intervals
        episode.observe(Step(0, episode.act(0), 0.5, 0))
        if episode.intervals > before:
            ended.append(visits)
    assert ended == [int(prior_visits * (2**k - 1)) for k in range(1, 7) if prior_visits * (2**k - 1) < 64]


@pytest.mark.parametrize("factor", [0.5, 0.0, math.nan, math.inf])
def test_a_factor_is_a_number_from_one_on(factor: float) -> None:
    with pytest.raises(InputError, match=rf"replan_factor {factor} is not a number from 1 on; .*every unknown step"):
        LRCSSP(PROBLEM.support, 2, loss_floor=0.1, options=LearnerOptions(replan_factor=factor))


class Bare(ExplorationRule):
    """A rule of a third party that leaves all out."""

    name = "bare"
    ceiling = 1000.0


def test_a_rule_that_leaves_all_out_plays_what_the_plan_of_the_estimate_says() -> None:
    bare, greedy = (
        RidgeLearner(PROBLEM.support, Settings.of(2, loss_floor=0.1, exploration=rule)) for rule in (Bare(), Greedy())
    )
    runs = [Clinic(PROBLEM, learner, beds=2, seed=3).run(200).actions for learner in (bare, greedy)]
    assert runs[0] == runs[1]
    rule = Bare()
    assert (rule.as_json(), rule.describe(), rule.card_numbers()) == ({"name": "bare"}, [], {})
    assert (rule.draws, rule.is_optimistic) == (False, False)
