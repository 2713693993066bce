"""Strategies for what kernels take: rows with zeros and repeated next states, masks, chains with junk in their room."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from goalbound.models.arrays import Reverse, Rows
from goalbound.planning.kernels import graph
from goalbound.planning.kernels.chain import Chain, CoarseFactor, coarse_envelope
from tests.support.strategies import losses

Entries = list[tuple[int, float]]


def rows_from(states: list[list[tuple[float, Entries]]]) -> Rows:
    """Of (loss, [(next state, weight)]) for each pair of each state; weights are divided by their sum."""
    flat = [pair for pairs in states for pair in pairs]
    return Rows(
        np.cumsum([0, *map(len, states)], dtype=np.int64),
        np.cumsum([0, *(len(entries) for _, entries in flat)], dtype=np.int64),
        np.array([t for _, entries in flat for t, _ in entries], dtype=np.int32),
        np.array([loss for loss, _ in flat], dtype=float),
        np.array([w / sum(w for _, w in entries) for _, entries in flat for _, w in entries]),
    )


@st.composite
def entry_lists(draw: st.DrawFn, states: int, most: int = 4) -> Entries:
    """Weights are often zero, now and then tiny; a next state may stand twice. Some weight is positive."""
    weight = st.sampled_from([0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 5.0, 1e-9])
    entries = draw(st.lists(st.tuples(st.integers(0, states), weight), min_size=1, max_size=most))
    if not any(w for _, w in entries):
        entries[0] = (entries[0][0], 1.0)
    return entries


@st.composite
def problems(
    draw: st.DrawFn, *, proper: bool = False, most_states: int = 5, loss: st.SearchStrategy[float] = losses
) -> Rows:
    """Rows; with ``proper`` the first pair of each state leads, among others, to a smaller state or to the goal."""
    states = draw(st.integers(1, most_states))
    made = []
    for s in range(states):
        pairs = [(draw(loss), draw(entry_lists(states))) for _ in range(draw(st.integers(1, 3)))]
        if proper:
            ahead = draw(st.sampled_from([states, *range(s)]))
            pairs[0] = (pairs[0][0], [*pairs[0][1], (ahead, float(draw(st.integers(1, 4))))])
        made.append(pairs)
    return rows_from(made)


def first_pairs(rows: Rows) -> NDArray[np.int64]:
    """The policy of first pairs, which is proper if the problem was drawn as such."""
    return rows.pair_start[:-1].copy()


def masks(size: int) -> st.SearchStrategy[NDArray[np.bool_]]:
    """Mostly true."""
    one = st.sampled_from([True, True, True, False])
    return st.lists(one, min_size=size, max_size=size).map(lambda mask: np.array(mask, dtype=bool))


def moving(rows: Rows) -> NDArray[np.bool_]:
    usable = np.empty(len(rows.losses), dtype=bool)
    graph.moving_pairs.python(rows, usable)
    return usable


def reverse_of(rows: Rows, usable: NDArray[np.bool_]) -> Reverse:
    start, pair = np.empty(len(rows.pair_start) + 1, dtype=np.int64), np.empty(len(rows.next_state), dtype=np.int32)
    edges = graph.reverse_edges.python(rows, usable, start, pair)
    return Reverse(start, pair[:edges])


def pair_states(rows: Rows) -> NDArray[np.int32]:
    return np.repeat(np.arange(len(rows.pair_start) - 1, dtype=np.int32), np.diff(rows.pair_start))


def vectors(size: int, least: float = 0.0, most: float = 100.0) -> st.SearchStrategy[NDArray[np.float64]]:
    one = st.floats(least, most, allow_subnormal=False)
    return st.lists(one, min_size=size, max_size=size).map(np.array)


def values(states: int) -> st.SearchStrategy[NDArray[np.float64]]:
    """[S + 1] 0 at the goal; sizes from 1e-6 to 1e6, so that sums round."""
    one = st.builds(lambda x, e: x * 10.0**e, st.floats(0.1, 1.0), st.integers(-6, 6))
    return st.lists(one, min_size=states, max_size=states).map(lambda v: np.array([*v, 0.0]))


@st.composite
def policies(draw: st.DrawFn, rows: Rows, usable: NDArray[np.bool_]) -> NDArray[np.int64]:
    """A usable pair for each state, -1 if there is none."""
    chosen = []
    for s in range(len(rows.pair_start) - 1):
        pairs = [i for i in range(rows.pair_start[s], rows.pair_start[s + 1]) if usable[i]]
        chosen.append(draw(st.sampled_from(pairs)) if pairs else -1)
    return np.array(chosen, dtype=np.int64)


@st.composite
def chains(draw: st.DrawFn, *, most_states: int = 7) -> Chain:
    """A chain that ends: each state goes, among others, to a smaller one or exits. Room after a row holds NaN."""
    states = draw(st.integers(1, most_states))
    rows: list[dict[int, float]] = []
    for s in range(states):
        row = draw(st.dictionaries(st.integers(0, states), st.integers(1, 6).map(float), max_size=4))
        row[draw(st.sampled_from([states, *range(s)]))] = float(draw(st.integers(1, 6)))
        row.pop(s, None)
        rows.append({t: w / sum(row.values()) for t, w in row.items()})
    room = draw(st.lists(st.integers(0, 2), min_size=states, max_size=states))
    start = np.cumsum([0, *(len(row) + extra for row, extra in zip(rows, room, strict=True))], dtype=np.int64)
    chain = Chain(
        start, start[:-1].copy(), np.full(start[-1], states, dtype=np.int32), np.full(start[-1], np.nan),
        np.array([row.get(states, 0.0) for row in rows]),
    )  # fmt: skip
    for s, row in enumerate(rows):
        for t, w in row.items():
            if t != states:
                chain.column[chain.stop[s]], chain.weight[chain.stop[s]] = t, w
                chain.stop[s] += 1
    return chain


def cluster_numbers(states: int) -> st.SearchStrategy[NDArray[np.int32]]:
    """[S] clusters numbered from 0 without holes, in any order."""
    some = st.lists(st.integers(0, 3), min_size=states, max_size=states)
    return some.map(lambda numbers: np.unique(numbers, return_inverse=True)[1].astype(np.int32))


def room_for(chain: Chain, cluster: NDArray[np.int32]) -> CoarseFactor:
    """A coarse matrix with its envelope, not yet factored."""
    first = np.empty(int(cluster.max()) + 1, dtype=np.int64)
    coarse_envelope.python(chain, cluster, first)
    start = np.concatenate(([0], np.cumsum(np.arange(len(first)) - first)))
    return CoarseFactor(cluster, first, start, np.empty(start[-1]), np.empty(start[-1]), np.empty(len(first)))
