"""The plan of the estimate, as it is."""

from __future__ import annotations

import pytest

from goalbound.errors import InputError
from goalbound.learners.explore.greedy import CEILING, Greedy
from goalbound.learners.ridge import GreedyRidge
from goalbound.models import Step, Support


def test_it_plays_its_plan_and_nothing_else() -> None:
    learner = GreedyRidge(Support.full(2, 2), 1, loss_floor=0.1)
    learner.learn([1.0], Step(0, 0, 1.0, 0))
    for _ in range(20):
        episode = learner.begin([1.0])
        assert episode.act(0) == learner.plan([1.0]).policy[0] == 1


def test_values_of_an_estimate_without_a_way_to_the_goal_are_capped() -> None:
    # The only pair leads from 0 to 0: after 3000 steps the estimate leaves with 1 / 3001 only, which is worth 3000.
    learner = GreedyRidge(Support.full(1, 1), 1, loss_floor=0.1)
    learner.learn_log([([1.0], Step(0, 0, 1.0, 0))] * 3000)
    assert 0.999 * CEILING < learner.plan([1.0]).values[0] <= CEILING


@pytest.mark.parametrize("ceiling", [0.99, float("nan"), -1.0])
def test_a_ceiling_is_not_below_the_loss_of_a_step(ceiling: float) -> None:
    with pytest.raises(InputError, match="it is what no value of a plan is above, from 1 on"):
        Greedy(ceiling=ceiling)
