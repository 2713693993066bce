"""Reduction of a problem by its graph: lost states left out, free states and free loops collapsed.

- A state without a proper policy is *lost*; pairs that may lead there are never played by a proper policy.
- A state from which pairs without loss reach the goal with probability one is *free*: its value is exactly 0.
- States that can reach each other without loss and without leaving their set (a zero-loss end component) have the
  same value; looping inside it is never of use, so they become one state with the pairs of all of them.

In what remains every policy that never ends pays forever, so its best policy is proper, and a vector below all its
own backups is below every proper policy's value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import NoProperPolicy
from goalbound.jit.compile import Run
from goalbound.models import SSP
from goalbound.models.arrays import Reverse, Rows
from goalbound.planning.checks import engine_for, require_ssp
from goalbound.planning.kernels import graph

SHALLOW = 1e-4
"""The least chance of a way to the goal that counts as good, see ``sweep_reach``."""


def rows_of(ssp: SSP) -> Rows:
    """The arrays of a problem as kernels take them."""
    support = ssp.support
    return Rows(support.pair_start, support.next_start, support.next_state, ssp.losses, ssp.probabilities)


def reverse_of(rows: Rows, usable: NDArray[np.bool_], run: Run) -> Reverse:
    """The reverse edges of usable pairs. O(M) time, M + S numbers of memory at most."""
    start = np.empty(len(rows.pair_start) + 1, dtype=np.int64)
    pair = np.empty(int(np.diff(rows.next_start)[usable].sum()), dtype=np.int32)
    edges = run(graph.reverse_edges)(rows, usable, start, pair)
    return Reverse(start, pair[:edges])


def entries_of(next_start: NDArray[np.int64], pairs: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The entries of the rows of these pairs, one row after the other, and the length of each row."""
    lengths = next_start[pairs + 1] - next_start[pairs]
    begin = np.cumsum(lengths) - lengths
    return np.repeat(next_start[pairs] - begin, lengths) + np.arange(int(lengths.sum())), lengths


def states_of(rows: Rows) -> NDArray[np.int32]:
    """[N] the state of each pair."""
    return np.repeat(np.arange(len(rows.pair_start) - 1, dtype=np.int32), np.diff(rows.pair_start))


@dataclass(frozen=True, eq=False)
class Reduction:
    """A problem in which every improper policy has infinite loss somewhere and every state a proper policy.

    Attributes:
        rows, usable: the reduced problem with Q states; pairs that are not usable never move or lead to lost states.
            Lost states still count where nothing was collapsed.
        lost: [S] states without a proper policy.
        short_path_policy: [Q] a pair of each state on a good way to the goal; None if some state has none
            (:func:`reach_by_sweeps`).
        reverse: reverse edges of ``rows``, if the analysis needed them; None if not.
        class_of: [S] reduced state of each state; Q if it is free, -1 if lost. None if nothing was collapsed.
        origin: pair of the problem that each reduced pair was; None if nothing was collapsed.
        loops: [N] pairs that stay inside a collapsed component at no loss (empty if nothing was collapsed).
        free_choice: [S] the pair that leads free states on, -1 elsewhere (empty likewise).
    """

    rows: Rows
    usable: NDArray[np.bool_]
    lost: NDArray[np.bool_]
    short_path_policy: NDArray[np.int64] | None
    reverse: Reverse | None = None
    class_of: NDArray[np.int32] | None = None
    origin: NDArray[np.int64] | None = None
    loops: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=bool))
    free_choice: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))


def reach_by_sweeps(rows: Rows, usable: NDArray[Any], run: Run) -> tuple[NDArray[np.int64], bool]:
    """[S] for each state a usable pair on a way to the goal (-1: none was seen), and whether all ways are good.

    A way is good if it is short and likely (``sweep_reach``). A few passes over the states: cheap, and enough for
    problems that are shallow, where all are good, or numbered along their paths.
    """
    states = len(rows.pair_start) - 1
    choice = np.full(states, -1, dtype=np.int64)
    chance = np.zeros(states)
    found = 0
    for least in (SHALLOW, 0.0):
        for sweep in range(4):
            new = run(graph.sweep_reach)(rows, usable, sweep % 2 == 1, least, choice, chance)
            found += new
            if found == states:
                return choice, least > 0.0
            if sweep > 0 and new < states // 10:
                break
    return choice, False


def reduce(ssp: SSP, run: Run) -> Reduction:
    """Analyse the graph of a problem and reduce it. O(M) per round of each kind; usually one or two rounds."""
    rows, pair_state = rows_of(ssp), ssp.support.pair_state
    states = len(rows.pair_start) - 1
    usable = np.empty(len(rows.losses), dtype=bool)
    smallest = run(graph.moving_pairs)(rows, usable)
    choice, good = reach_by_sweeps(rows, usable, run)
    scratch = np.empty(states + 1, dtype=np.int64)
    reverse = None
    if (choice < 0).any():
        reverse = reverse_of(rows, usable, run)
        run(graph.proper_states)(reverse, pair_state, usable, choice, scratch)
    lost = choice < 0
    unreduced = Reduction(rows, usable, lost=lost, reverse=reverse, short_path_policy=choice if good else None)
    if smallest > 0.0:
        return unreduced
    free_choice = np.empty(states, dtype=np.int64)
    at_no_loss = usable & (rows.losses == 0.0)
    loss_free_edges = reverse_of(rows, at_no_loss, run)
    run(graph.proper_states)(loss_free_edges, pair_state, at_no_loss.copy(), free_choice, scratch)
    loops = _free_loops(rows, pair_state, loss_free_edges, at_no_loss & (free_choice < 0)[pair_state], run)
    if not loops.any() and not (free_choice >= 0).any():
        return unreduced
    return _collapse(unreduced, loops, free_choice, run)


def _free_loops(
    rows: Rows, pair_state: NDArray[np.int32], reverse: Reverse, candidates: NDArray[Any], run: Run
) -> NDArray[np.bool_]:
    """The pairs of the end components among the candidates: they can be played forever without leaving."""
    component = np.empty(len(rows.pair_start) - 1, dtype=np.int64)
    while True:
        run(graph.drop_dead_ends)(rows, reverse, pair_state, candidates)
        if not candidates.any():
            return candidates
        run(graph.components)(rows, candidates, component)
        if not run(graph.leaving_pairs)(rows, component, candidates):
            return candidates


def _collapse(whole: Reduction, loops: NDArray[np.bool_], free_choice: NDArray[np.int64], run: Run) -> Reduction:
    rows, usable, lost = whole.rows, whole.usable, whole.lost
    states = len(lost)
    component = np.empty(states, dtype=np.int64)
    run(graph.components)(rows, loops, component)
    kept = (free_choice < 0) & ~lost
    _, first, inverse = np.unique(component[kept], return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)  # classes in the order of their first states
    classes = len(first)
    class_of = np.full(states, -1, dtype=np.int32)
    class_of[kept] = rank[inverse]
    class_of[free_choice >= 0] = classes
    members = np.flatnonzero(kept)
    members = members[np.argsort(class_of[members], kind="stable")]
    room = Rows(
        np.empty(classes + 1, dtype=np.int64),
        np.empty_like(rows.next_start),
        np.empty_like(rows.next_state),
        np.empty_like(rows.losses),
        np.empty_like(rows.probabilities),
    )
    origin = np.empty(len(rows.losses), dtype=np.int64)
    triples = run(graph.fill_quotient)(rows, usable, members, class_of, classes, room, origin)
    pairs = int(room.pair_start[-1])
    small = room._replace(
        next_start=room.next_start[: pairs + 1],
        next_state=room.next_state[:triples],
        losses=room.losses[:pairs],
        probabilities=room.probabilities[:triples],
    )
    for array in small._asdict().values():  # read-only as a problem's are: one compiled form serves both
        array.flags.writeable = False
    all_pairs = np.ones(pairs, dtype=bool)
    choice, good = reach_by_sweeps(small, all_pairs, run)
    return Reduction(
        small,
        all_pairs,
        lost=lost,
        short_path_policy=choice if good else None,
        class_of=class_of,
        origin=origin[:pairs],
        loops=loops,
        free_choice=free_choice,
    )


def expand_values(reduction: Reduction, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """[Q + 1] values of reduced states as [S + 1] values of states: 0 where free, infinite where lost."""
    out = np.empty(len(reduction.lost) + 1)
    out[:-1] = values[:-1] if reduction.class_of is None else values[reduction.class_of]
    out[:-1][reduction.lost] = np.inf
    out[-1] = 0.0
    return out


def expand_policy(ssp: SSP, reduction: Reduction, policy: NDArray[np.int64], run: Run) -> NDArray[np.int64]:
    """[Q] reduced pairs as [S] pairs: in a collapsed component the others go, at no loss, to the one that leaves."""
    if reduction.class_of is None or reduction.origin is None:
        return policy
    rows = rows_of(ssp)
    support = ssp.support
    chosen = reduction.origin[policy]
    out = reduction.free_choice.copy()
    out[support.pair_state[chosen]] = chosen
    scratch = np.empty(support.states + 1, dtype=np.int64)
    scratch[: len(chosen)] = support.pair_state[chosen]
    if reduction.loops.any():
        reverse = reverse_of(rows, reduction.loops, run)
        run(graph.backward_reach)(reverse, support.pair_state, reduction.loops, len(chosen), out, scratch)
    return out


def no_proper_policy(ssp: SSP, states: NDArray[np.int64]) -> NoProperPolicy:
    """The error for states that cannot reach the goal; the first eight are named."""
    return NoProperPolicy(states.tolist(), [ssp.support.state_name(s) for s in states[:8].tolist()])


def blocking_states(ssp: SSP) -> NDArray[np.int64]:
    """The states from which no policy reaches the goal with probability one, in increasing order. O(M) a round."""
    return np.flatnonzero(reduce(require_ssp(ssp), engine_for(ssp)).lost)
