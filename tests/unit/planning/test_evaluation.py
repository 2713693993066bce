"""The values of a policy: proper, improper, and idle for ever."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.errors import InputError
from goalbound.models import SSP
from goalbound.planning import Status, evaluate, hitting_times
from tests.reference import exact, graph
from tests.support.strategies import examples, ssps


def a_policy(data: st.DataObject, ssp: SSP) -> list[int]:
    support = ssp.support
    return [
        int(data.draw(st.sampled_from(support.pair_action[support.pair_start[s] : support.pair_start[s + 1]].tolist())))
        for s in range(support.states)
    ]


def assert_close(found: np.ndarray, wanted: list[exact.Value], rtol: float = 1e-9) -> None:
    """Infinite where it should be, zero where it should be, else close."""
    for one, other in zip(found.tolist(), wanted, strict=True):
        if other == math.inf or other == 0:
            assert one == other
        else:
            assert one == pytest.approx(float(other), rel=rtol)


@examples(60)
@given(st.data())
def test_any_policy_has_its_exact_values_and_steps(data: st.DataObject) -> None:
    ssp = data.draw(ssps(proper=False))
    policy = a_policy(data, ssp)
    found = evaluate(ssp, np.array(policy))
    assert_close(found.values, exact.policy_losses(ssp, policy))
    assert_close(found.hitting_times, exact.policy_steps(ssp, policy))
    assert_close(hitting_times(ssp, np.array(policy)), exact.policy_steps(ssp, policy))


@given(ssps(proper=True, tiny=True, most_states=3))
def test_tiny_exits_are_evaluated_to_their_last_digits(ssp: SSP) -> None:
    chosen = graph.proper_policy(ssp)
    policy = [chosen[state] for state in range(ssp.support.states)]
    found = evaluate(ssp, np.array(policy))
    if found.status == Status.CONVERGED:
        assert_close(found.values, exact.policy_losses(ssp, policy), rtol=1e-7)
        assert_close(found.hitting_times, exact.policy_steps(ssp, policy), rtol=1e-7)


def test_an_improper_policy_pays_for_ever_or_idles_for_ever() -> None:
    # state 0 loops for 1/2, state 1 loops for nothing, state 2 tosses between the goal and state 1 for 1/4,
    # state 3 tosses between the goal and state 0
    ssp = SSP.from_transitions(
        [(0, 0, 0, 1.0, 0.5), (1, 0, 1, 1.0, 0.0), (2, 0, 4, 0.5, 0.25), (2, 0, 1, 0.5, 0.25),
         (3, 0, 4, 0.5, 0.0), (3, 0, 0, 0.5, 0.0)]
    )  # fmt: skip
    found = evaluate(ssp, np.zeros(4, dtype=np.int64))
    assert found.values.tolist() == [math.inf, 0.0, 0.25, math.inf, 0.0]
    assert found.hitting_times.tolist() == [math.inf, math.inf, math.inf, math.inf, 0.0]


def test_a_policy_with_an_action_that_its_state_lacks_is_refused() -> None:
    ssp = SSP.from_transitions([(0, 0, 1, 1.0, 0.1), (1, 5, 2, 1.0, 0.1)])
    with pytest.raises(InputError, match="state 1"):
        evaluate(ssp, np.array([0, 0]))
