"""Actions that are drawn at random now and then, and how likely each was."""

import numpy as np
import pytest

from goalbound.serve.store.proposals import uniform_numbers
from tests.support.incidents_at_work import contexts
from tests.support.stores import drawing, new_engine


def test_the_drawn_numbers_are_uniform_and_depend_on_every_part_of_the_key():
    drawn = np.array([uniform_numbers(7, case, step, 0) for case in range(100) for step in range(50)])
    assert ((drawn >= 0.0) & (drawn < 1.0)).all()
    # The mean of 5,000 uniform numbers is within 5 sd / sqrt(5000) = 0.0204 of 1/2, but for one time in two million.
    assert np.abs(drawn.mean(axis=0) - 0.5).max() < 5 * np.sqrt(1 / 12 / 5000)
    assert (
        len({uniform_numbers(*key) for key in ((1, 2, 3, 4), (0, 2, 3, 4), (1, 0, 3, 4), (1, 2, 0, 4), (1, 2, 3, 0))})
        == 5
    )


def test_with_mixing_the_share_of_each_action_is_its_propensity(tmp_path):
    engine = new_engine(tmp_path / "store", mixing=0.5, seed=3)
    answers = [
        engine.begin("incidents", context, "down", id=str(number)) for number, context in enumerate(contexts(400, 0))
    ]
    # The learner restarts: 1/2 + 1/2 * 1/2; it pages only where that is drawn: 1/2 * 1/2.
    assert {(one.name, one.propensity) for one in answers} == {("restart", 0.75), ("page", 0.25)}
    paged = sum(one.name == "page" for one in answers)
    assert abs(paged - 100) < 5 * np.sqrt(400 * 0.25 * 0.75)  # five standard deviations
    alone = engine.begin("incidents", [1.0, 0.0], "down", id="alone", allowed=["page"])
    assert (alone.name, alone.propensity) == ("page", 1.0)
    page = next(one for one in answers if one.name == "page")
    engine.observe("incidents", page.case, 0.4, "goal", step=1)  # the learner knows what it proposed
    assert engine.machine.learners[1].learner.statistics.visits.tolist() == [0, 1, 0, 0]
    engine.commit()
    digest = engine.digest()
    engine.rebuild()  # replayed, with the same draws
    assert engine.digest() == digest
    engine.log.close()


@pytest.mark.parametrize("mixing", [0.0, 0.5])
def test_of_a_learner_that_draws_itself_the_propensity_is_not_known(tmp_path, mixing):
    engine = new_engine(tmp_path / "store", drawing(), mixing=mixing)
    assert engine.begin("incidents", [1.0, 0.0], "down").propensity is None
    engine.log.close()
