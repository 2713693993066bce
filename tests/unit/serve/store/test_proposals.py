"""How likely each proposal was."""

from tests.support.stores import drawing, new_engine


def test_of_a_learner_that_draws_itself_the_propensity_is_not_known(tmp_path):
    engine = new_engine(tmp_path / "store", drawing())
    assert engine.begin("incidents", [1.0, 0.0], "down").propensity is None
    engine.log.close()


def test_a_learner_that_draws_nothing_proposes_with_probability_one(tmp_path):
    engine = new_engine(tmp_path / "store")
    assert engine.begin("incidents", [1.0, 0.0], "down").propensity == 1.0
    engine.log.close()
