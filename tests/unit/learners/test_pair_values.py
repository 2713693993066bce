"""Losses and rows of single pairs, as users give them: by names, by numbers, or as tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from goalbound import PriorKnowledge, Support
from goalbound.errors import ArgumentError, InputError
from goalbound.learners.pair_values import pair_number, values_by_pair
from goalbound.problems import dense_random

PROBLEM = dense_random(3, actions=2, context_size=2, seed=4)
NOTHING = PriorKnowledge.nothing(PROBLEM.support, 2)


def test_a_mapping_names_its_pairs_and_a_table_has_all() -> None:
    support = Support.full(2, 2)
    assert values_by_pair(support, 3, {(1, 0): 0.5}, "losses") == [(2, 0.5)]
    assert [pair for pair, _ in values_by_pair(support, 3, [0.1, 0.2, 0.3, 0.4], "losses")] == [0, 1, 2, 3]
    with pytest.raises(ArgumentError, match=r"losses has shape \(2,\); give \[N\] = \(4,\)"):
        values_by_pair(support, 3, [0.1, 0.2], "losses")
    with pytest.raises(ArgumentError, match=r"floors has the key 1; keys are pairs: \(state, action\)"):
        pair_number(support, 1, "floors")


def test_the_rows_of_all_pairs_may_be_given_in_the_order_of_the_support() -> None:
    known = NOTHING.with_rows(PROBLEM.probabilities)
    assert known.row_known.all()
    np.testing.assert_allclose(known.rows, PROBLEM.probabilities, rtol=1e-15)
    known.check_problem(PROBLEM)
    same = NOTHING.with_rows(PROBLEM.component(0).probabilities)
    np.testing.assert_allclose(same.rows, np.repeat(PROBLEM.component(0).probabilities[:, None], 2, axis=1), rtol=1e-15)


def test_a_table_of_rows_that_is_wrong_says_where() -> None:
    support, wrong = PROBLEM.support, np.array(PROBLEM.probabilities)
    wrong[support.next_start[1], 1] += 0.25
    with pytest.raises(InputError, match=r"the row of state 0, action 1(, next state 0: probability| sums to 1\.25)"):
        NOTHING.with_rows(wrong)


NAMED = Support.from_names({"new": {"ask": ["new", "open", "goal"]}, "open": {"close": ["open", "goal"]}})


def test_a_row_may_be_given_by_its_next_states() -> None:
    nothing = PriorKnowledge.nothing(NAMED, 2)
    by_place = nothing.with_rows({("new", "ask"): [[0.0, 0.0], [0.9, 0.3], [0.1, 0.7]]})
    for row in ({"open": [0.9, 0.3], "goal": [0.1, 0.7]}, {1: [0.9, 0.3], 2: [0.1, 0.7]}):
        assert nothing.with_rows({("new", "ask"): row}) == by_place
    guess = nothing.with_guesses({("open", "close"): 0.2}, {("open", "close"): {"goal": 1.0}}, strength=3)
    assert guess == nothing.with_guesses({("open", "close"): 0.2}, {("open", "close"): [0.0, 0.0, 1.0]}, strength=3)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"goal": 0.5}, "sums to 0.5, not 1"),
        ({"closed": 1.0}, 'the row of .*no state is called "closed".* the goal is "goal"'),
        ({"goal": 0.5, 2: 0.5}, "has goal twice"),
        ({"goal": "all"}, "next state 'goal'"),
        ({"goal": [0.5, 0.3, 0.2]}, "one for each of 2 components"),
        ({"new": 1.0}, "the support does not allow"),
        ({}, "sums to 0, not 1"),
    ],
)
def test_a_row_by_next_states_that_is_wrong_says_where(row: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        PriorKnowledge.nothing(NAMED, 2).with_rows({("open", "close"): row})
