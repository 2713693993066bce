from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound import Support
from goalbound.errors import ArgumentError
from goalbound.models.support_match import match_support, pairs_difference
from tests.support.seen_steps import RAGGED


@given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 3), st.integers(0, 2), st.integers(0, 2**32))
def test_pairs_and_next_states_are_those_of_the_same_names(
    states: int, actions: int, more_states: int, more_actions: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    names = [f"s{k}" for k in range(states + more_states)]
    acts = [f"a{k}" for k in range(actions + more_actions)]
    full = Support.full(states + more_states, actions + more_actions)
    large = Support(full.pair_start, full.pair_action, full.next_start, full.next_state, tuple(names), tuple(acts))
    mine = rng.permutation(names)[:states].tolist()
    my_acts = rng.permutation(acts)[:actions].tolist()
    small = Support.from_pairs(
        [
            {a: rng.permutation(states + 1)[: rng.integers(1, states + 2)].tolist() for a in range(actions)}
            for _ in range(states)
        ],
        state_names=mine, action_names=my_acts,
    )  # fmt: skip

    found = match_support(large, small, name="model")

    for pair in range(small.pairs):
        state, action = mine[small.pair_state[pair]], my_acts[small.pair_action[pair]]
        assert found.pairs[pair] == large.pair(state, action)
        for place in range(small.next_start[pair], small.next_start[pair + 1]):
            following = small.next_state[place]
            name = "goal" if following == states else mine[following]
            assert large.next_state[found.triples[place]] == large.state(name)
            assert large.row(int(found.pairs[pair])).start <= found.triples[place]
            assert found.triples[place] < large.row(int(found.pairs[pair])).stop


@pytest.mark.parametrize(
    ("larger", "smaller", "message"),
    [
        (Support.full(2, 2), Support.full(3, 2), "model: state 2 is not in the support, whose last is 1"),
        (Support.full(2, 1), Support.full(2, 2), "model: action 1 is not in the support"),
        (Support.from_pairs([{1: [1]}]), Support.from_pairs([{0: [1]}]), "state 0, action 0 is not in the support"),
        (Support.from_pairs([{0: [1]}]), Support.full(1, 1), "may lead to state 0, which the support does not allow"),
        (
            Support.from_pairs([{0: [1]}], state_names=["a"]), Support.from_pairs([{0: [1]}], state_names=["b"]),
            'model: state "b" is not in the support',
        ),
    ],
)  # fmt: skip
def test_what_is_missing_is_named(larger: Support, smaller: Support, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        match_support(larger, smaller, name="model")


def triples_of(support: Support) -> list[tuple[str, str, str]]:
    """All (state, action, next state) by name, in the order of the support."""
    states, actions = [*(support.state_names or ()), "goal"], support.action_names or ()
    return [
        (states[support.pair_state[pair]], actions[support.pair_action[pair]], states[following])
        for pair in range(support.pairs)
        for following in support.next_state[support.row(pair)]
    ]


def test_every_part_of_a_support_is_found_by_its_name() -> None:
    turned = Support.from_pairs(
        [{0: [1, 0]}, {0: [2, 3], 2: [0, 1, 2, 3]}, {1: [3]}],
        state_names=["c", "a", "b"],
        action_names=["x", "y", "z"],
    )
    places = match_support(turned, RAGGED, name="the learner")
    assert places.states.tolist() == [1, 2, 0, 3]
    assert [triples_of(turned)[at] for at in places.triples] == triples_of(RAGGED)
    assert [turned.pair(state, action) for state, action in ("ax", "az", "by", "cx")] == places.pairs.tolist()


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"b": {"go": ["goal"]}, "a": {"go": ["b"]}}, "the states are in another order: b, a instead of a, b"),
        ({"a": {"go": ["c"]}, "c": {"go": ["goal"]}}, 'it lacks the state "b"'),
        ({"a": {"go": ["goal"]}, "b": {"go": ["goal"]}, "c": {"go": ["a"]}}, 'it has, and should not, the state "c"'),
        ({"a": {"go": ["b"], "run": ["b"]}, "b": {"go": ["goal"]}}, 'it has, and should not, the action "run"'),
    ],
)
def test_a_difference_of_two_supports_is_named(other, words):
    support = Support.from_names({"a": {"go": ["b"]}, "b": {"go": ["goal"]}})
    assert pairs_difference(support, Support.from_names(other)) == words
