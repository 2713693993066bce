"""What learners would do, as the page shows it."""

import numpy as np
import pytest

from goalbound import LRCSSP, ContextBlind, Dirichlet, GreedyRidge, play, widths
from goalbound.errors import ArgumentError
from goalbound.experiments.explorer.learner_views import LearnerCourse, describe, has_plan, learner_view
from goalbound.learners.reference import RandomWalk
from goalbound.models import Support
from goalbound.planning import evaluate
from goalbound.problems import treatment_ladder

PROBLEM = treatment_ladder(2, markers=1)
CONTEXTS = np.array([[1.0, 0.0], [0.25, 0.75]])


def trained(learner, episodes=10):
    play(PROBLEM, learner, Dirichlet(np.ones(2)), episodes=episodes, compiled=False)
    return learner


def test_a_learner_with_confidence_sets_says_how_sure_it_is():
    learner = trained(LRCSSP(PROBLEM.support, 2, loss_floor=0.1, widths=widths.paper()))
    before = learner.statistics.visits.copy()
    calls = []
    view = learner_view(learner, PROBLEM.support, CONTEXTS, episodes=10, report=lambda: calls.append(1))
    assert np.array_equal(learner.statistics.visits, before)
    assert (view.episodes, len(calls)) == (10, 2)
    for place, context in enumerate(CONTEXTS):
        bounds = learner.policy_bounds(context)
        assert view.policy[place] == bounds.policy.tolist()
        assert (np.array(view.lower[place]) <= bounds.lower[:-1]).all()
        assert view.estimate[place] == pytest.approx(bounds.estimate[:-1])
        for shown, upper in zip(view.upper[place], bounds.upper[:-1], strict=True):
            assert (shown is None) if np.isinf(upper) else (shown >= upper)
        known = learner.plan(context).known
        assert [one == "1" for one in view.known[place]] == known.tolist()


def test_a_learner_without_sets_has_its_estimate_and_no_bounds():
    learner = trained(GreedyRidge(PROBLEM.support, 2, loss_floor=0.1))
    view = learner_view(learner, PROBLEM.support, CONTEXTS)
    assert view.lower == view.upper == [None, None]
    expected = evaluate(learner.estimate.model().at(CONTEXTS[1]), learner.plan(CONTEXTS[1]).policy).values[:-1]
    assert view.estimate[1] == pytest.approx(expected)
    assert view.known == [None, None]  # it has no known test


def test_learners_that_see_nothing_of_the_context_do_the_same_everywhere():
    blind = trained(ContextBlind(LRCSSP(PROBLEM.support, 1, loss_floor=0.1)))
    view = learner_view(blind, PROBLEM.support, CONTEXTS)
    assert view.policy[0] == view.policy[1]
    assert view.lower[0] == view.lower[1]


def test_a_learner_of_other_pairs_is_refused():
    with pytest.raises(ArgumentError, match="other states or actions"):
        learner_view(LRCSSP(Support.full(5, 2), 2, loss_floor=0.1), PROBLEM.support, CONTEXTS)


def test_who_can_say_what_it_would_do():
    assert has_plan(LRCSSP(PROBLEM.support, 2, loss_floor=0.1))
    assert not has_plan(RandomWalk(PROBLEM.support, rng=np.random.default_rng(0)))


def test_a_course_is_plain_values():
    learner = LRCSSP(PROBLEM.support, 2, loss_floor=0.1)
    view = learner_view(learner, PROBLEM.support, CONTEXTS, episodes=0)
    found = LearnerCourse("LR", describe(learner), CONTEXTS, [view], ["a note"], "a test").as_json()
    assert found["contexts"] == CONTEXTS.tolist()
    assert found["views"][0]["episodes"] == 0
    assert "delta 0.1" in found["about"]
