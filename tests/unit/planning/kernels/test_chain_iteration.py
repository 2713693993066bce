"""The steps of policy iteration against what they are made of, and against dense matrices."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.planning.kernels import bellman
from goalbound.planning.kernels import chain as iteration
from goalbound.planning.kernels.chain import CoarseFactor, Evaluated, new_chain
from tests.reference import kernels as twin
from tests.support import drawn
from tests.support.strategies import examples

NOTHING = np.empty(0)
FLOOR = 0.125
positive = st.floats(0.1, 1.0)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Evaluated, NDArray[np.bool_], NDArray[np.int64]]:
    """A proper problem whose chain is not set yet, its moving pairs, and its policy of first pairs."""
    rows = draw(drawn.problems(proper=True, loss=positive))
    states = len(rows.pair_start) - 1
    order, rank = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)
    if draw(st.booleans()):
        order = np.array(draw(st.permutations(range(states))), dtype=np.int32)
        rank = np.argsort(order).astype(np.int32)
    values = draw(drawn.values(states))
    low = values * draw(st.floats(-(2.0**-54), 2.0**-54)) if draw(st.booleans()) else NOTHING
    chain = new_chain(rows, order if len(order) else None)
    chain.column[:], chain.weight[:] = 0, 0.0
    known = np.full(states, -1, dtype=np.int64)
    state = Evaluated(rows, chain, known, order, rank, values, low, *np.ones((6, states)))
    return state, drawn.moving(rows), drawn.first_pairs(rows)


def copied(state: Evaluated) -> Evaluated:
    chain = state.chain._make(array.copy() for array in state.chain)
    return state._make([state.rows, chain, *(array.copy() for array in list(state)[2:])])


def same(one: Evaluated, other: Evaluated) -> bool:
    mine, others = [*one.chain, *list(one)[2:]], [*other.chain, *list(other)[2:]]
    return all(a.tobytes() == b.tobytes() for a, b in zip(mine, others, strict=True))


def set_in_parts(state: Evaluated, policy: NDArray[np.int64]) -> float:
    bellman.update_chain.python(state.rows, policy, state.known, state.order, state.rank, state.chain)
    largest: float = bellman.policy_residual.python(
        state.rows, policy, state.values, state.low, FLOOR, state.residual, state.unit
    )
    return largest


@given(cases())
@examples(40)
def test_setting_a_policy_updates_the_chain_and_measures_the_residual(case: tuple) -> None:
    state, _, policy = case
    parts = copied(state)
    assert iteration.set_policy.python(state, policy, FLOOR) == set_in_parts(parts, policy)
    assert same(state, parts)


@given(cases(), st.sampled_from([1e-2, 1e-6]), st.sampled_from([1, 50]))
@examples(40)
def test_a_solved_step_has_the_residual_that_it_says(case: tuple, target: float, sweeps: int) -> None:
    state, _, policy = case
    iteration.set_policy.python(state, policy, FLOOR)
    coarse = drawn.room_for(state.chain, np.zeros(len(policy), dtype=np.int32))
    how, reached = iteration.solve_step.python(state, coarse, False, False, target, sweeps, 30.0, 1e4)
    if how != iteration.SOLVED:
        return
    order = state.order if len(state.order) else np.arange(len(policy))
    assert state.rhs.tobytes() == state.residual[order].tobytes()
    assert state.scale.tobytes() == state.unit[order].tobytes()
    left = state.rhs + twin.dense(state.chain) @ state.x - state.x
    slip = 1e-12 * (np.abs(state.rhs) + np.abs(state.x)).max()
    # The change of a sweep is the residual before it; behind it each residual is a mean of later changes.
    units = state.scale.max() / state.scale.min()
    assert (np.abs(left) <= reached * units * state.scale + slip).all()


def slow_case() -> tuple[Evaluated, NDArray[np.int64], CoarseFactor]:
    """Two states that send all but 1/1000 to each other: sweeps are given up."""
    rows = drawn.rows_from([[(1.0, [(1, 0.999), (2, 0.001)])], [(0.5, [(0, 0.999), (2, 0.001)])]])
    none = np.empty(0, dtype=np.int32)
    start = np.array([0, 2, 4])
    chain = iteration.Chain(start, start[:-1].copy(), np.zeros(4, dtype=np.int32), np.zeros(4), np.ones(2))
    known, policy = np.full(2, -1), np.array([0, 1])
    state = Evaluated(rows, chain, known, none, none, np.zeros(3), NOTHING, *np.ones((6, 2)))
    iteration.set_policy.python(state, policy, 0.0)
    coarse = drawn.room_for(state.chain, np.array([0, 1], dtype=np.int32))
    return state, policy, coarse


def test_a_chain_that_never_ends_stalls_and_nothing_is_added() -> None:
    state, policy, coarse = slow_case()
    state.chain.weight[:] = 1.0
    state.chain.exit[:] = 0.0
    with np.errstate(all="ignore"):  # as in the planner
        how, reached, span, own = iteration.evaluate_step.python(
            state, coarse, False, False, policy, 0.0, 1e-6, True, 20, 30.0, 1e4
        )
    assert (how, span, own) == (iteration.STALLED, 0.0, False)
    assert reached > 0.1
    assert not state.values.any()
