"""Learners from files: their estimate, their unit, their names."""

import numpy as np
import pytest

from goalbound import Dirichlet, GreedyRidge, LossScale, play
from goalbound.adapters.covariates import CovariateLearner, Hats
from goalbound.errors import ArgumentError
from goalbound.experiments.explorer.saved_learner import learner_course, learner_model, peeled
from goalbound.learners.reference import RandomWalk
from goalbound.problems import treatment_ladder
from tests.support.units import in_units

PROBLEM = treatment_ladder(2, markers=1)


def learner():
    found = GreedyRidge(PROBLEM.support, 2, loss_floor=0.1)
    play(PROBLEM, found, Dirichlet(np.ones(2)), episodes=20, compiled=False)
    return found


def test_the_estimate_is_a_problem_in_the_unit_of_the_learner_with_the_names_of_its_map():
    inner = learner()
    wrapped = CovariateLearner(Hats([20, 80]), in_units(inner, LossScale("min", cap=60)))
    names, cap, found = peeled(wrapped)
    assert (found.loss_scale, inner.loss_scale) == (None, LossScale("min", cap=60))
    assert (len(names), cap) == (2, 60.0)
    model = learner_model(wrapped)
    assert (model.loss_scale, model.component_names) == (60.0, names)
    assert np.allclose(model.losses, inner.estimate.model().losses)


def test_a_saved_learner_is_looked_at_once():
    course = learner_course(learner(), PROBLEM, label="mine", most=5)
    assert (course.label, len(course.views), len(course.contexts)) == ("mine", 1, 5)
    assert course.views[0].episodes is None


def test_what_cannot_be_explored_is_refused():
    with pytest.raises(ArgumentError, match="have 3 components, those of the problem 2"):
        learner_course(GreedyRidge(PROBLEM.support, 3, loss_floor=0.1), PROBLEM, label="mine", most=2)
    with pytest.raises(ArgumentError, match="cannot say what it would do"):
        learner_course(RandomWalk(PROBLEM.support), PROBLEM, label="mine", most=2)
    with pytest.raises(ArgumentError, match="no estimate"):
        learner_model(RandomWalk(PROBLEM.support))
