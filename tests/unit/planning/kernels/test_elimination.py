"""The worth of a policy against exact elimination in fractions."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from goalbound.models import SSP
from goalbound.planning import is_proper
from goalbound.planning.kernels import elimination
from goalbound.planning.reduction import rows_of
from tests.reference import exact, graph
from tests.support.strategies import examples, ssps


def worth(ssp: SSP, pairs: np.ndarray) -> tuple[bool, np.ndarray, np.ndarray]:
    states = len(pairs)
    values, steps = np.full(states + 1, np.nan), np.full(states + 1, np.nan)
    room = np.full((states, states), np.nan), np.full(states, np.nan), np.full(states, np.nan)
    return elimination.evaluate_policy.python(rows_of(ssp), pairs, *room, values, steps), values, steps


@given(st.one_of(ssps(proper=False, most_states=6), ssps(proper=True, tiny=True)), st.data())
@examples(35)
def test_values_and_steps_are_right_to_the_last_digits_however_tiny_the_exits(ssp: SSP, data: st.DataObject) -> None:
    support = ssp.support
    pairs = np.array([
        data.draw(st.integers(int(support.pair_start[s]), int(support.pair_start[s + 1]) - 1))
        for s in range(support.states)
    ])  # fmt: skip
    actions = support.pair_action[pairs].tolist()
    proper, values, steps = worth(ssp, pairs)
    assert proper == graph.is_proper(ssp, actions)
    if proper:
        for found, expected in ((values, exact.policy_losses(ssp, actions)), (steps, exact.policy_steps(ssp, actions))):
            assert all(value != math.inf for value in expected)
            np.testing.assert_allclose(found, [float(value) for value in expected], rtol=1e-13)


@examples(100)
@given(ssps(proper=False, most_states=5, tiny=True), st.data())
def test_elimination_gives_exact_values_and_steps_or_says_that_the_policy_is_not_proper(
    ssp: SSP, data: st.DataObject
) -> None:
    support = ssp.support
    n = support.states
    ranges = [(int(support.pair_start[s]), int(support.pair_start[s + 1]) - 1) for s in range(n)]
    policy = np.array([data.draw(st.integers(first, last)) for first, last in ranges])
    values, steps = np.empty(n + 1), np.empty(n + 1)
    room = np.empty((n, n)), np.empty(n), np.empty(n)
    proper = elimination.evaluate_policy.python(rows_of(ssp), policy, *room, values, steps)
    actions = support.pair_action[policy].astype(np.int64)
    assert proper == is_proper(ssp, actions)
    if proper:
        np.testing.assert_allclose(values, np.array(exact.policy_losses(ssp, actions.tolist()), float), rtol=1e-13)
        np.testing.assert_allclose(steps, np.array(exact.policy_steps(ssp, actions.tolist()), float), rtol=1e-13)
