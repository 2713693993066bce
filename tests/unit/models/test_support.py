"""The support: what it is, how it is built, and what it refuses."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

from goalbound.errors import InputError
from goalbound.models import Support

TWO_STATES = {
    "pair_start": [0, 1, 3],
    "pair_action": [0, 0, 2],
    "next_start": [0, 2, 3, 5],
    "next_state": [0, 1, 2, 0, 2],
}
"""state 0: action 0 -> {0, 1}; state 1: action 0 -> {goal}, action 2 -> {0, goal}"""


def built(**changes: object) -> Support:
    fields = {name: np.array(values) for name, values in TWO_STATES.items()}
    return Support(**{**fields, **changes})  # type: ignore[arg-type]


def test_full_has_every_pair_and_leads_everywhere() -> None:
    support = Support.full(2, 3)
    assert (support.states, support.actions, support.pairs, support.triples) == (2, 3, 6, 6 * 3)
    assert all(support.next_state[support.row(pair)].tolist() == [0, 1, 2] for pair in range(6))


def test_a_pair_is_found_by_numbers_and_by_names() -> None:
    support = built(state_names=("sick", "better"), action_names=("wait", "rest", "walk"))
    assert support.pair(1, 2) == support.pair("better", "walk") == 2
    assert support.state("goal") == 2
    assert support.pair_name(2) == 'state 1 ("better"), action 2 ("walk")'
    with pytest.raises(InputError, match=r'state 1 \("better"\) has no action 1 \("rest"\); it has .*wait.*walk'):
        support.pair("better", "rest")


def test_unknown_names_and_numbers_are_refused_by_name() -> None:
    named = built(state_names=("sick", "better"))
    with pytest.raises(InputError, match='no state is called "well"; there are "sick", "better"'):
        named.state("well")
    with pytest.raises(InputError, match="this problem has no action names; use a number"):
        named.action("walk")
    with pytest.raises(InputError, match="no state 3; they are 0 to 2"):
        named.state(3)
    with pytest.raises(InputError, match="no action 3; they are 0 to 2"):
        named.pair(0, 3)
    with pytest.raises(InputError, match="no state -1"):
        named.state(-1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pair_start": [0, 1, 2]}, "pair_start runs from 0 to 2; it must run from 0 to len(pair_action) = 3"),
        ({"pair_start": [0, 3, 3]}, "state 1 has no action; every state needs one"),
        ({"pair_start": [0, 4, 3]}, "pair_start[2] = 3 is below the entry before it"),
        ({"pair_action": [0, 2, 0]}, "the actions of state 1 are not increasing; sort them"),
        ({"pair_action": [-1, 0, 2]}, "pair_action holds -1; actions are numbered from 0"),
        ({"pair_action": [0, 0.5, 2]}, "pair_action holds 0.5; it needs whole numbers"),
        ({"pair_action": [0, 0, 2**31]}, "does not fit int32"),
        ({"pair_action": ["a", "b", "c"]}, "it needs whole numbers"),
        ({"pair_action": [[0, 0, 2]]}, "pair_action has 2 dimensions; it needs one"),
        ({"next_start": [0, 2, 2, 5]}, "state 1, action 0 has no next state; every pair needs one"),
        ({"next_start": [0, 2, 5]}, "next_start has 3 entries for 3 pairs; it needs pairs + 1"),
        ({"next_state": [0, 1, 3, 0, 2]}, "state 1, action 0 leads to 3; next states are 0 to 2, where 2 is the goal"),
        ({"next_state": [1, 1, 2, 0, 2]}, "the next states of state 0, action 0 are not increasing"),
        ({"state_names": ("a",)}, "state_names has 1 names for 2"),
        ({"state_names": ("a", "a")}, '"a" appears twice in state_names'),
        ({"state_names": ("a", "goal")}, '"goal" in state_names is reserved'),
        ({"state_names": ("a", 1)}, "state_names must be a sequence of strings"),
    ],
)
def test_errors_name_what_is_wrong(changes: dict[str, object], message: str) -> None:
    arrays = {k: np.array(v) if k in TWO_STATES else v for k, v in changes.items()}
    with pytest.raises(InputError) as caught:
        built(**arrays)
    assert message in str(caught.value)


def test_the_arrays_are_read_only_and_not_the_callers() -> None:
    mine = np.array(TWO_STATES["next_state"], dtype=np.int32)
    support = built(next_state=mine)
    mine[0] = 1
    assert support.next_state[0] == 0
    for name in TWO_STATES:
        with pytest.raises(ValueError, match="read-only"):
            getattr(support, name)[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        support.next_state = mine  # type: ignore[misc]


def test_supports_are_equal_by_content_and_names() -> None:
    assert built() == built()
    assert built() != built(state_names=("a", "b"))
    assert built() != built(next_state=np.array([0, 2, 2, 0, 2]))
    assert built().same_pairs(built(next_state=np.array([0, 2, 2, 0, 2])))
    assert built() != "a support"
    with pytest.raises(TypeError, match="unhashable"):
        hash(built())


def test_a_fraction_is_no_state_and_no_action() -> None:
    for pairs in ([{0: [0.5]}], [{0.5: [1]}]):
        with pytest.raises(InputError, match="whole number"):
            Support.from_pairs(pairs)  # type: ignore[list-item]
    with pytest.raises(InputError, match="whole number"):
        built().state(0.5)  # type: ignore[arg-type]


TICKETS = {
    "new": {"answer": ["waiting", "closed"], "ask": ["waiting"]},
    "waiting": {"answer": ["waiting", "goal"], "escalate": ["goal", "waiting", "goal"]},
}


def test_from_names_is_from_pairs_with_numbers_in_the_order_of_the_names() -> None:
    by_number = [{0: [1, 2], 1: [1]}, {0: [1, 2], 2: [1, 2]}]
    names = {"state_names": ["new", "waiting"], "action_names": ["answer", "ask", "escalate"]}
    assert Support.from_names(TICKETS, goal="closed") == Support.from_pairs(by_number, **names)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ({"new": {"ask": ["wating"]}, "waiting": {"ask": ["goal"]}}, '"ask" leads to "wating".*"waiting", "goal"'),
        ({"new": {"ask": ["closed"]}}, 'leads to "closed", which has no actions'),
        ({"new": {"ask": "goal"}}, "is 'goal'; it is the list of its next states"),
        ({"new": {"ask": []}}, '"new", "ask" has no next state'),
        ({"new": {}}, '"new" is {}; it is a mapping with the name of at least one action'),
        ({"new": ["ask"]}, "at least one action"),
        ({}, "pairs is {}; .* at least one state"),
        ([{0: [1]}], "pairs is .* at least one state"),
        ({0: {"ask": ["goal"]}}, "has the state 0; it is a name"),
        ({"new": {"ask": [1]}}, "leads to 1; a next state is a name"),
        ({"goal": {"ask": ["goal"]}}, '"goal" is the goal'),
    ],
)  # fmt: skip
def test_names_that_are_no_support_are_refused_with_the_place(pairs: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Support.from_names(pairs)


def test_the_goal_of_a_log_is_no_state_of_the_support() -> None:
    with pytest.raises(InputError, match='"closed" is the goal'):
        Support.from_names({"closed": {"open": ["goal"]}}, goal="closed")


def test_the_goal_answers_to_its_own_name_and_to_goal() -> None:
    support = Support.from_names(TICKETS, goal="closed")
    assert support.goal_name == "closed"
    assert support.state("closed") == support.state("goal") == support.states
    assert support.state_label(support.states) == "closed"
    assert support.state_name(support.states) == 'goal ("closed")'
    assert pickle.loads(pickle.dumps(support)).goal_name == "closed"
    assert support == dataclasses.replace(support, goal_name="done")  # what it is called changes nothing
    assert Support.from_names({"new": {"close": ["goal"]}}).goal_name == "goal"
