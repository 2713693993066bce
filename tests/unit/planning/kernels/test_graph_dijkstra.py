"""Shortest ways against Bellman-Ford."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalbound.planning.kernels import graph
from tests.reference import kernels as twin
from tests.support import drawn
from tests.support.strategies import examples


def ways(rows: drawn.Rows, usable: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray]:
    states = twin.states_of(rows)
    policy, distance = np.full(states, -7, dtype=np.int64), np.empty(states + 1)
    reverse = drawn.reverse_of(rows, np.ones(len(usable), dtype=bool))
    graph.dijkstra_policy.python(rows, reverse, drawn.pair_states(rows), usable, floor, policy, distance)
    return policy, distance


@given(drawn.problems(most_states=8), st.sampled_from([0.0, 1e-3, 0.5]), st.data())
@examples(35)
def test_distances_are_those_of_bellman_and_ford(rows: drawn.Rows, floor: float, data: st.DataObject) -> None:
    usable = data.draw(drawn.masks(len(rows.losses)))
    policy, distance = ways(rows, usable, floor)
    pairs, goal = twin.pairs_of(rows, usable), twin.states_of(rows)
    np.testing.assert_allclose(distance, twin.shortest(pairs, goal, floor), rtol=1e-13)
    assert set(np.flatnonzero(policy >= 0)) == twin.can_reach(pairs, {goal}).keys() - {goal}
    chosen = [pair for pair in pairs if policy[pair.state] == pair.number]
    assert len(chosen) == np.count_nonzero(policy >= 0)
    for pair in chosen:  # the pair is the first of a way of that length
        steps = twin.shortest([pair], goal, floor)  # only straight to the goal, if at all
        lengths = [
            distance[t] + (float(pair.loss) + floor) / float(sum(p for u, p in pair.entries if u == t))
            for t in pair.edges - {pair.state}
        ]
        assert min(lengths) == pytest.approx(distance[pair.state], rel=1e-13)
        assert steps[pair.state] >= distance[pair.state] * (1.0 - 1e-13)


def test_a_likely_way_at_a_loss_beats_an_unlikely_one() -> None:
    # Pair 0: 0.1 a try, one in eight succeeds, 0.8 in all. Pair 1: by state 1, 0.3 + 0.4 = 0.7.
    rows = drawn.rows_from([[(0.1, [(0, 7.0), (2, 1.0)]), (0.3, [(1, 1.0)])], [(0.4, [(2, 1.0)])]])
    policy, distance = ways(rows, np.ones(3, dtype=bool), 0.0)
    assert policy.tolist() == [1, 2]
    np.testing.assert_allclose(distance, [0.7, 0.4, 0.0])
    # With a floor of 0.01: 0.11 * 8 = 0.88 against 0.31 + 0.41 = 0.72.
    np.testing.assert_allclose(ways(rows, np.ones(3, dtype=bool), 0.01)[1], [0.72, 0.41, 0.0])
