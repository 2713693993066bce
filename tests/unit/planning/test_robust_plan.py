"""The policy that loses least in the worst plausible model, against all policies and all corners, exactly."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.models import BallSet, IntervalSet, Support
from goalbound.planning import Status, robust_plan
from tests.reference.pessimism import least_worst_losses
from tests.support.strategies import examples


@st.composite
def interval_sets(draw: st.DrawFn) -> IntervalSet:
    """Two or three states of one or two actions; rows and intervals in quarters, losses in eighths, some of them 0."""
    states = draw(st.integers(1, 2))
    following = st.lists(st.integers(0, states), min_size=1, max_size=3, unique=True)
    support = Support.from_pairs([{a: draw(following) for a in range(draw(st.integers(1, 2)))} for _ in range(states)])
    low, high = [], []
    for pair in range(support.pairs):
        count = len(support.next_state[support.row(pair)])
        row = np.diff([0, *sorted(draw(st.lists(st.integers(0, 4), min_size=count - 1, max_size=count - 1))), 4])
        wide = draw(st.sampled_from([0, 0, 1, 4]))
        low.append(np.maximum(row - wide, 0) / 4.0)
        high.append(np.minimum(row + wide, 4) / 4.0)
    losses = np.array(draw(st.lists(st.integers(0, 7), min_size=support.pairs, max_size=support.pairs))) / 8.0
    return IntervalSet(support, losses, losses, np.concatenate(low), np.concatenate(high))


@examples(120)
@given(interval_sets())
def test_no_policy_has_a_smaller_largest_loss(sets: IntervalSet) -> None:
    found = robust_plan(sets)
    wanted = [float(value) for value in least_worst_losses(sets)]
    assert found.status is Status.CONVERGED
    assert found.may_never_arrive.tolist() == [s for s, value in enumerate(wanted) if math.isinf(value)]
    np.testing.assert_allclose(found.upper, wanted, rtol=1e-6, atol=1e-8)


def test_a_wide_ball_is_avoided_where_a_narrow_one_is_worse_on_average() -> None:
    # action 0: 0.1 and back with 0.5, 0.2 in all; with radius 0.45, 0.1 / 0.05 = 2 at worst. Action 1: 0.4, sure.
    support = Support.from_pairs([{0: [0, 1], 1: [1]}])
    for radius, action, value in ((0.0, 0, 0.2), (0.45, 1, 0.4)):
        sets = BallSet(support, [0.1, 0.4], [0.1, 0.4], [0.5, 0.5, 1.0], [radius, 0.0])
        found = robust_plan(sets)
        assert found.policy.tolist() == [action]
        assert found.upper[0] == pytest.approx(value, rel=1e-6)


def test_states_that_are_not_safe_are_named_and_the_others_are_planned_for() -> None:
    support = Support.from_pairs([{0: [0, 2], 1: [1]}, {0: [2], 1: [0, 2]}])
    sets = BallSet(support, [0.1] * 4, [0.2] * 4, [0.5, 0.5, 1.0, 1.0, 0.9, 0.1], [0.6, 0.0, 0.0, 0.6])
    found = robust_plan(sets)
    assert found.policy.tolist() == [1, 0]  # to state 1, then to the goal
    np.testing.assert_allclose(found.upper, [0.4, 0.2, 0.0], rtol=1e-6)
    lost = Support.from_pairs([{0: [0, 2]}, {0: [2]}])
    found = robust_plan(BallSet(lost, [0.1] * 2, [0.2] * 2, [0.5, 0.5, 1.0], [0.6, 0.0]))
    assert found.may_never_arrive.tolist() == [0]


def test_values_that_tie_up_to_rounding_do_not_hide_the_safest_action() -> None:
    # state 2 leads to state 3 at no loss, so both are worth 0.43 / 0.14; the other action of state 0 loses 1 + 0.43
    support = Support.from_pairs([{0: [1, 2, 3], 1: [4]}, {0: [5]}, {0: [2, 3]}, {0: [3, 5]}, {0: [5]}])
    losses = [0.1, 1.0, 0.1, 0.0, 0.43, 0.43]
    low = [0.6, 0.0, 0.0, 1.0, 1.0, 0.0, 0.67, 0.46, 0.12, 1.0]
    high = [1.0, 0.21, 0.24, 1.0, 1.0, 0.27, 0.92, 0.86, 0.28, 1.0]
    found = robust_plan(IntervalSet(support, losses, losses, low, high))
    assert found.policy[0] == 0
    assert found.upper[0] == pytest.approx(0.1 + 0.6 * 0.1 + 0.4 * 0.43 / 0.14, rel=1e-6)
