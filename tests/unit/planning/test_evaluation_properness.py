"""Who can reach the goal surely, and which policies do."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.errors import InputError
from goalbound.models import SSP
from goalbound.planning import blocking_states, evaluate, hitting_times, is_proper
from tests.reference import graph
from tests.support.strategies import contexts, linear_cssps, ssps


def policies(ssp: SSP) -> Iterator[list[int]]:
    """Every deterministic policy."""
    support = ssp.support
    choices = [support.pair_action[support.pair_start[s] : support.pair_start[s + 1]] for s in range(support.states)]
    return ([int(action) for action in choice] for choice in itertools.product(*choices))


@given(ssps(proper=False, most_states=6))
def test_the_blocking_states_are_those_of_the_definition(ssp: SSP) -> None:
    assert list(blocking_states(ssp)) == graph.blocking_states(ssp)


@given(ssps(proper=False, most_states=3))
def test_a_policy_is_proper_by_the_definition(ssp: SSP) -> None:
    for policy in policies(ssp):
        assert is_proper(ssp, np.array(policy)) == graph.is_proper(ssp, policy)


@given(st.data())
def test_next_states_of_probability_zero_lead_nowhere(data: st.DataObject) -> None:
    problem = data.draw(linear_cssps(proper=False))
    ssp = problem.at(data.draw(contexts(problem.context_size)))
    assert list(blocking_states(ssp)) == graph.blocking_states(ssp)


def test_a_policy_is_given_by_numbers_by_names_or_by_a_mapping() -> None:
    names = {"state_names": ["left", "right"], "action_names": ["stay", "go"]}
    rows = [[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]]
    walk = SSP.dense([[0.1, 0.2], [0.1, 0.3]], rows, **names)
    for policy in ([1, 1], ["go", "go"], {"left": "go", "right": "go"}, {0: 1, "right": 1}):
        assert is_proper(walk, policy)
        assert evaluate(walk, policy).values.tolist() == [0.5, 0.3, 0.0]
        assert hitting_times(walk, policy).tolist() == [2.0, 1.0, 0.0]
    assert not is_proper(walk, {"left": "stay", "right": "go"})
    for policy, message in (
        ({"left": "go"}, r'no action for state 1 \("right"\); it needs one for every state'),
        ({"left": "run", "right": "go"}, r"policy\['left'\]: no action is called .run."),
        ({"goal": "go", "left": "go", "right": "go"}, "the goal .* has no actions"),
        (["go"], "policy has 1 actions; it needs one for each of 2 states"),
    ):
        for function in (is_proper, evaluate, hitting_times):
            with pytest.raises(InputError, match=message):
                function(walk, policy)
