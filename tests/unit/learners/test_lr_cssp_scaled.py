"""The learner for use: what it is made of, that it learns faster than the proven one, that it says what it finds."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from goalbound import LRCSSP, Dirichlet, ModelEnvironment, play
from goalbound.adapters.covariates import uniform_numbers
from goalbound.around.contexts import MappedContexts
from goalbound.confidence import sharp
from goalbound.errors import InputError, NotLinearWarning
from goalbound.learners.prior import PriorKnowledge
from goalbound.models import LinearCSSP, Support
from goalbound.problems import dense_random, treatment_ladder
from goalbound.problems.treatment import biomarker, treatment_curve
from goalbound.simulation import bernoulli
from goalbound.simulation.history import History

FULL = Support.full(2, 2)


def run(problem: LinearCSSP, learner: LRCSSP, *, episodes: int) -> History:
    environment = partial(ModelEnvironment, problem, losses=bernoulli())
    contexts = Dirichlet.symmetric(problem.context_size)
    return play(problem, learner, contexts, episodes=episodes, seed=0, environment=environment, step_limit=2000)


def test_it_is_sharp_at_its_scale_with_fewer_plans_and_the_test_of_linearity() -> None:
    settings = LRCSSP.scaled(FULL, 2, loss_floor=0.1).settings
    assert str(settings.widths) == "0.5 x sharp"
    assert settings.widths.intervals == sharp().intervals
    assert settings.replan_factor == 2.0
    assert settings.check_linearity is True
    assert settings.loss_bound is None  # found by doubling
    assert settings.loss_floor == 0.1


def test_it_is_not_proven_and_at_a_scale_of_1_it_is() -> None:
    assert not LRCSSP.scaled(FULL, 2, loss_floor=0.1).settings.widths.proven
    proven = LRCSSP.scaled(FULL, 2, loss_floor=0.1, scale=1.0)
    assert proven.settings.widths == sharp()
    assert proven.settings.widths.proven


def test_a_loss_bound_and_knowledge_are_passed_on() -> None:
    known = PriorKnowledge.nothing(FULL, 2).with_losses({(0, 1): 0.25})
    learner = LRCSSP.scaled(FULL, 2, loss_floor=0.1, loss_bound=7.0, prior=known)
    assert learner.loss_bound == 7.0
    assert learner.prior is known
    assert learner.confidence_set([0.5, 0.5]).loss_low[1] == 0.25


def test_losses_of_zero_and_scales_of_zero_are_refused_with_the_remedy() -> None:
    with pytest.raises(InputError, match="or a loss_floor above 0"):
        LRCSSP.scaled(FULL, 2, loss_floor=0.0)
    with pytest.raises(InputError, match="by is 0; a scale is a positive number"):
        LRCSSP.scaled(FULL, 2, loss_floor=0.1, scale=0)


def test_it_has_less_regret_than_the_proven_one_on_the_ladder() -> None:
    # docs/how_to/width_scale.md: after 20,000 episodes less than half of it, in the mean over seeds.
    ladder = treatment_ladder(3, markers=2)
    practical = run(ladder, LRCSSP.scaled(ladder.support, 3, loss_floor=0.1), episodes=2000)
    proven = run(ladder, LRCSSP.scaled(ladder.support, 3, loss_floor=0.1, scale=1.0), episodes=2000)
    assert practical.total_expected_regret < 0.7 * proven.total_expected_regret
    assert practical.alarm is None


def test_shown_a_line_where_the_world_is_a_curve_it_says_so() -> None:
    curve = treatment_curve()
    learner = LRCSSP.scaled(curve.support, 2, loss_floor=0.2)
    line = MappedContexts(learner, lambda context: np.array([1.0 - biomarker(context), biomarker(context)]))
    with pytest.warns(NotLinearWarning, match="not linear in these contexts"):
        history = play(curve, line, uniform_numbers(33), episodes=3000, seed=0, step_limit=2000)
    assert history.alarm is not None
    assert history.alarm == str(learner.alarm)


def test_the_page_about_the_dial_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[3] / "docs" / "how_to" / "width_scale.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(code, {})
    assert capsys.readouterr().out == "0.5 x sharp False\n"


def test_what_is_not_a_support_widths_or_knowledge_is_an_error_with_a_remedy() -> None:
    problem = dense_random(2, actions=1, context_size=2, seed=0)
    with pytest.raises(
        InputError, match=r"support is of the type LinearCSSP; give a Support, such as problem\.support"
    ):
        LRCSSP.scaled(problem, 2, loss_floor=0.1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"widths is 'sharp'; give likelihood\(\), sharp\(\), paper\(\), printed\(\)"):
        LRCSSP(problem.support, 2, loss_floor=0.1, widths="sharp")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"prior is of the type dict; begin with PriorKnowledge\.nothing"):
        LRCSSP(problem.support, 2, loss_floor=0.1, prior={(0, 0): 0.2})  # type: ignore[arg-type]


def test_losses_of_zero_are_played_if_the_number_of_episodes_is_reported() -> None:
    problem = dense_random(2, actions=1, context_size=2, seed=0)
    learner = LRCSSP.scaled(problem.support, 2, loss_floor=0.0, episodes=10**6, delta=0.05)
    assert learner.added_loss > 0.0
    assert learner.settings.delta == 0.05
