"""Problems written down by hand."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.errors import InputError
from goalbound.models import Builder, LinearCSSP, Support


def clinic() -> Builder:
    plan = Builder()
    plan.add("sick", "rest", loss=0.25, to={"better": 0.5, "sick": 0.5})
    plan.add("better", "walk", loss=0.125, to={"goal": 1})
    plan.add("sick", "walk", loss=1, to={"goal": 0.25, "sick": 0.75})
    return plan


def test_states_and_actions_are_numbered_as_they_first_appear() -> None:
    ssp = clinic().ssp()
    names = {"state_names": ["sick", "better"], "action_names": ["rest", "walk"]}
    assert ssp.support == Support.from_pairs([{0: [0, 1], 1: [0, 2]}, {1: [2]}], **names)
    assert ssp.losses.tolist() == [0.25, 1.0, 0.125]
    assert ssp.probabilities.tolist() == [0.5, 0.5, 0.75, 0.25, 1.0]
    assert (ssp.start, ssp.loss_scale) == (0, 1.0)


def test_the_start_may_be_named_or_be_a_distribution_and_the_scale_be_set() -> None:
    assert clinic().ssp(start="better", loss_scale=24).start == 1
    assert clinic().ssp(start="better", loss_scale=24).loss_scale == 24.0
    assert clinic().ssp(start=[0.5, 0.5]).start_distribution.tolist() == [0.5, 0.5]
    with pytest.raises(InputError, match="start is the goal"):
        clinic().ssp(start="goal")
    with pytest.raises(InputError, match='no state is called "well"'):
        clinic().ssp(start="well")


def test_numbers_may_be_one_for_all_components_or_one_each() -> None:
    plan = Builder(components=["young", "old"])
    plan.add("sick", "rest", loss=0.5, to={"goal": [0.5, 0.25], "sick": [0.5, 0.75]})
    plan.add("sick", "drug", loss=[0.0, 1.0], to={"goal": 1.0})
    problem = plan.linear_cssp(loss_scale=10)
    assert isinstance(problem, LinearCSSP)
    assert problem.component_names == ("young", "old")
    assert problem.losses.tolist() == [[0.5, 0.5], [0.0, 1.0]]
    assert problem.probabilities.tolist() == [[0.5, 0.75], [0.5, 0.25], [1.0, 1.0]]
    assert problem.loss_scale == 10.0


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ({"state": "goal"}, '"goal" is reserved: nothing can be done there'),
        ({"action": "rest"}, '"rest" in "sick" was added before'),
        ({"to": {}}, '"drug" in "sick" leads nowhere; give at least one next state'),
        ({"to": {"goal": [0.5, 0.5]}}, 'probability of "goal" after "drug" in "sick" has several numbers, but'),
        ({"loss": [0.5]}, 'the loss of "drug" in "sick" has several numbers'),
        ({"loss": "much"}, 'the loss of "drug" in "sick" is not an array of numbers'),
    ],
)
def test_a_pair_that_cannot_be_is_refused_when_it_is_added(pair: dict[str, object], message: str) -> None:
    given = {"state": "sick", "action": "drug", "loss": 0.5, "to": {"goal": 1.0}, **pair}
    with pytest.raises(InputError, match=message):
        clinic().add(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ({"loss": 1.5}, r'state 0 \("sick"\), action 2 \("drug"\): loss 1.5 is not in \[0, 1\]'),
        ({"loss": np.nan}, "loss nan is not in"),
        ({"to": {"goal": 0.5}}, r'state 0 \("sick"\), action 2 \("drug"\): probabilities sum to 0.5, not 1'),
        ({"to": {"goal": 1.5, "sick": -0.5}}, "probability -0.5 is not in"),
        ({"to": {"well": 1.0}}, '"drug" in "sick" leads to "well", which has no action; add one'),
        ({"to": {"goal": 0.0}}, "probabilities sum to 0, not 1"),
    ],
)
def test_a_problem_that_is_none_is_refused_when_it_is_built(pair: dict[str, object], message: str) -> None:
    plan = clinic()
    plan.add("sick", "drug", **{"loss": 0.5, "to": {"goal": 1.0}, **pair})  # type: ignore[arg-type]
    with pytest.raises(InputError, match=message):
        plan.ssp()


@pytest.mark.parametrize("components", [[], "old"])
def test_components_are_a_count_or_a_sequence_of_names(components: object) -> None:
    with pytest.raises(InputError, match="component"):
        Builder(components=components)  # type: ignore[arg-type]
