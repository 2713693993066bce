"""What learners would do, as the page shows it."""

import numpy as np
import pytest

from goalbound import LRCSSP, Dirichlet, GreedyRidge, play, widths
from goalbound.experiments.explorer.learner_views import learner_view
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
