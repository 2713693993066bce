"""Learners and cases of a store."""

from goalbound import LRCSSP, LossScale
from goalbound.serve.store.cases import Case, Managed
from tests.support.stores import WORLD, drawing
from tests.support.units import in_units


def test_plain_learners_are_advanced_in_one_go_and_those_that_count_early_are_not():
    assert Managed(1, "a", drawing()).advance is not None
    assert Managed(1, "a", LRCSSP(WORLD.support, 2, loss_floor=0.1)).advance is None


def test_a_learner_says_what_it_is_but_for_itself():
    one = Managed(3, "a", in_units(drawing(), LossScale("minutes", 10.0)), follows=1)
    assert one.support == WORLD.support
    assert one.draws
    assert one.as_json() == {"name": "a", "follows": 1}


def test_the_first_episode_of_a_case_decides():
    case = Case(1, "a", 2, 0)
    case.episodes = {2: object(), 1: object()}
    assert case.decider == 2
