"""Supports that no learner can learn in are refused before the first episode."""

from __future__ import annotations

from typing import Any

import pytest

from goalbound import LRCSSP, GreedyRidge, KwikRmax, PosteriorSampling, PriorKnowledge, Support
from goalbound.baselines import Method, TabularLearner
from goalbound.confidence import paper, sharp
from goalbound.errors import InputError

TRAP = Support.from_pairs([{0: [1, 3]}, {0: [1, 2]}, {0: [1, 2], 1: [2]}], state_names=["well", "sick", "worse"])
"""from "sick" and "worse" nothing leads to the goal, which "well" may reach"""

MAKERS: dict[str, Any] = {
    "paper": lambda support, **others: LRCSSP(support, 2, loss_floor=0.1, widths=paper(), **others),
    "sharp": lambda support, **others: LRCSSP(support, 2, loss_floor=0.1, widths=sharp(), **others),
    "practical": lambda support, **others: LRCSSP.scaled(support, 2, loss_floor=0.1, **others),
    "greedy": lambda support: GreedyRidge(support, 2, loss_floor=0.1),
    "sampled": lambda support: PosteriorSampling(support, 2, loss_floor=0.1),
    "rmax": lambda support: KwikRmax(support, 2, loss_floor=0.1),
    "tabular": lambda support: TabularLearner(support, Method("eb-ssp"), loss_floor=0.1),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_states_from_which_nothing_leads_to_the_goal_are_named(make: Any) -> None:
    with pytest.raises(InputError, match=r'leads from state 1 \("sick"\), state 2 \("worse"\) towards the goal'):
        make(TRAP)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_way_through_other_states_is_a_way(make: Any) -> None:
    make(Support.from_pairs([{0: [0, 1]}, {0: [2], 1: [1]}, {0: [3]}]))


@pytest.mark.parametrize("name", ["paper", "sharp", "practical"])
def test_a_known_row_that_goes_round_closes_the_only_way(name: str) -> None:
    support = Support.full(2, 1)
    known = PriorKnowledge.nothing(support, 2).with_rows({(1, 0): [[0.5, 0.0], [0.5, 1.0], [0.0, 0.0]]})
    MAKERS[name](support, prior=known)  # from state 1 back to state 0, and from there to the goal
    closed = known.with_rows({(0, 0): [0.0, 1.0, 0.0]})
    with pytest.raises(InputError, match="from state 0, state 1 towards the goal, by the support and the known rows"):
        MAKERS[name](support, prior=closed)


def test_many_states_are_counted() -> None:
    support = Support.from_pairs([{0: [20]}] + [{0: [state]} for state in range(1, 20)])
    with pytest.raises(InputError, match=r"from state 1, .* state 8 and 11 more towards the goal"):
        MAKERS["paper"](support)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("support", [None, "full", 3, object()])
def test_what_is_no_support_is_said_to_be_none(make: Any, support: Any) -> None:
    with pytest.raises(InputError, match=f"support is of the type {type(support).__name__}; give a Support"):
        make(support)
