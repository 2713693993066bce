"""Planning on problems whose answers are arithmetic."""

from __future__ import annotations

import math

import pytest

from goalbound.errors import InputError, NoProperPolicy
from goalbound.models import SSP
from goalbound.planning import solve
from tests.support.small_problems import one_state


def test_the_cheaper_drug_is_taken() -> None:
    # 0.5 once, or 0.25 a day for 4/3 days on average = 1/3
    found = solve(one_state((0.5, 1.0), (0.25, 0.75)))
    assert found.policy.tolist() == [1]
    assert found.values == pytest.approx([1 / 3, 0.0])
    assert found.hitting_times == pytest.approx([4 / 3, 0.0])


def test_equal_actions_go_to_the_lowest_number() -> None:
    # 0.5 once, or 0.25 twice on average
    assert solve(one_state((0.5, 1.0), (0.25, 0.5), (0.5, 1.0))).policy.tolist() == [0]
    assert solve(one_state((0.25, 0.5), (0.5, 1.0))).policy.tolist() == [0]
    assert solve(one_state((0.75, 1.0), (0.25, 0.5), (0.5, 1.0))).policy.tolist() == [1]


def test_states_without_a_proper_policy_are_refused_by_name() -> None:
    ssp = SSP.from_transitions(
        [("a", "go", "goal", 1.0, 0.1), ("a", "risk", "pit", 1.0, 0.0), ("pit", "wait", "pit", 1.0, 0.5),
         ("edge", "slip", "pit", 0.5, 0.1), ("edge", "slip", "goal", 0.5, 0.1)]
    )  # fmt: skip
    with pytest.raises(NoProperPolicy) as caught:
        solve(ssp)
    assert tuple(caught.value.states) == (1, 2)
    assert '"pit"' in str(caught.value)
    assert '"edge"' in str(caught.value)
    assert isinstance(caught.value, InputError)


def test_excluding_them_solves_the_rest() -> None:
    ssp = SSP.from_transitions(
        [("a", "risk", "pit", 1.0, 0.0), ("a", "go", "goal", 1.0, 0.25), ("pit", "wait", "pit", 1.0, 0.0)]
    )
    found = solve(ssp, unreachable="exclude")
    assert found.values.tolist() == [0.25, math.inf, 0.0]
    assert found.hitting_times.tolist() == [1.0, math.inf, 0.0]
    assert found.policy.tolist() == [1, -1]
    assert found.lower[1] == found.upper[1] == math.inf


def test_actions_keep_their_numbers_where_states_have_different_ones() -> None:
    ssp = SSP.from_transitions([(0, 7, 1, 1.0, 0.5), (1, 2, 2, 1.0, 0.5), (1, 4, 2, 1.0, 0.25)])
    found = solve(ssp)
    assert found.policy.tolist() == [7, 4]
    assert found.values.tolist() == pytest.approx([0.75, 0.25, 0.0])
