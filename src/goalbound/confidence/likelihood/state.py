"""What likelihood-ratio sets keep of the pairs that were played, and scratch arrays.

Arrays have room for all pairs, and memory is taken where something was written (:mod:`goalbound.jit.lazy_arrays`).
Pairs, their numbers, and the cells in which a number was seen are put next to each other, in the order in which they
are seen first: what was never seen shares no page with what was.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.likelihood.lattice import Located, new_located
from goalbound.confidence.sharp_kernels import SharpState
from goalbound.jit.compile import lean
from goalbound.jit.lazy_arrays import lazy_zeros
from goalbound.jit.records import new_record, record_type
from goalbound.jit.struct import Struct
from goalbound.models.files.ranges import matching, within

FORECASTERS = 3
"""How many forecasts there are of a number: see :mod:`goalbound.confidence.likelihood.forecasts`."""
IN_USE = record_type(integers=("pairs", "numbers", "rows"))
"""Fields of :attr:`LikelihoodState.used`: how many there are of each."""
BY_PAIR, BY_NUMBER = (
    ("contexts", "cell_rows"),
    ("log_loss", "estimate", "pending", "ones", "shift", "hit_rows", "miss_rows", "low", "high"),
)
"""Arrays of which only the pairs and numbers in use are part of a learner."""


class LikelihoodWorkspace(Struct):
    """Scratch arrays."""

    target: NDArray[np.float64]
    """[d] the vertex at which a number is bounded, with the sign of the bound"""
    point: NDArray[np.float64]
    """[d] p0"""
    gradient: NDArray[np.float64]
    """[d]"""
    step: NDArray[np.float64]
    """[d]"""
    across: NDArray[np.float64]
    """[d]"""
    trial: NDArray[np.float64]
    """[d]"""
    hessian: NDArray[np.float64]
    """[d, d]"""
    factor: NDArray[np.float64]
    """[d, d] of the Hessian"""
    free: NDArray[np.bool_]
    """[d]"""
    vertices: Located
    """the context of the last set, among the vertices"""
    cells: Located
    """the context of the last step, among the cells"""


class LikelihoodState(Struct):
    """Sums of Q = N + M numbers, the losses of the N pairs and the M next states, over L cells; their bounds at K
    vertices. A *place* is that of a pair among those in use."""

    _unsaved = ("work",)

    sharp: SharpState
    """of the intervals that these sets are intersected with"""

    place: NDArray[np.int64]
    """[N] the place of a pair, plus 1; 0: it was never played"""
    first: NDArray[np.int64]
    """[N] the number of its loss; those of its next states follow, in the order of the support"""
    visits: NDArray[np.int64]
    """[N] how many visits there were whose outcomes are known"""
    fitted: NDArray[np.int64]
    """[N] ``visits`` when ``estimate`` was computed"""
    bounded: NDArray[np.int64]
    """[N] ``visits`` when the bounds of a pair were computed"""
    contexts: NDArray[np.float64]
    """[N, d] by place: the sum of the contexts of the visits"""
    cell_rows: NDArray[np.int32]
    """[N, L] by place: the row of the visits in a cell"""
    log_loss: NDArray[np.float64]
    """[Q, FORECASTERS] cumulative"""
    estimate: NDArray[np.float64]
    """[Q, d] the most likely coefficients when they were computed last"""
    pending: NDArray[np.int64]
    """[Q] what outcomes that are missing may add to both, in UNITs of :mod:`.pending`"""
    ones: NDArray[np.float64]
    """[Q] sum of y"""
    shift: NDArray[np.float64]
    """[Q] sum of - y log(h) - (1 - y) log(h'), h and h' the ratios of :func:`.sets.tilts`"""
    hit_rows: NDArray[np.int32]
    """[Q, L] the row of y c / h in a cell"""
    miss_rows: NDArray[np.int32]
    """[Q, L] the row of (1 - y) c / h' in a cell"""
    low: NDArray[np.float64]
    """[Q, K] the least p c at each vertex"""
    high: NDArray[np.float64]
    """[Q, K] the largest"""
    rows: NDArray[np.float64]
    """[1 + N L + 2 Q L, d + 1] the sums of contexts of a cell, and last their weight: the count of the visits, the sum
    of y, or of 1 - y. Row 0 stays zero: it is that of cells without visits"""
    used: np.void
    """fields: IN_USE; ``rows`` without row 0"""
    work: LikelihoodWorkspace


def new_likelihood_state(
    pairs: int, triples: int, size: int, vertices: int, cells: int, *, sharp: SharpState
) -> LikelihoodState:
    """Nothing was seen."""
    numbers = pairs + triples
    return LikelihoodState(
        sharp=sharp,
        place=np.zeros(pairs, dtype=np.int64),
        first=np.zeros(pairs, dtype=np.int64),
        visits=np.zeros(pairs, dtype=np.int64),
        fitted=np.zeros(pairs, dtype=np.int64),
        bounded=np.zeros(pairs, dtype=np.int64),
        contexts=lazy_zeros((pairs, size)),
        cell_rows=lazy_zeros((pairs, cells), np.int32),
        log_loss=lazy_zeros((numbers, FORECASTERS)),
        estimate=lazy_zeros((numbers, size)),
        pending=lazy_zeros((numbers,), np.int64),
        ones=lazy_zeros((numbers,)),
        shift=lazy_zeros((numbers,)),
        hit_rows=lazy_zeros((numbers, cells), np.int32),
        miss_rows=lazy_zeros((numbers, cells), np.int32),
        low=lazy_zeros((numbers, vertices)),
        high=lazy_zeros((numbers, vertices)),
        rows=lazy_zeros((1 + (pairs + 2 * numbers) * cells, size + 1)),
        used=new_record(IN_USE),
        work=LikelihoodWorkspace(
            target=np.zeros(size),
            point=np.zeros(size),
            gradient=np.zeros(size),
            step=np.zeros(size),
            across=np.zeros(size),
            trial=np.zeros(size),
            hessian=np.zeros((size, size)),
            factor=np.zeros((size, size)),
            free=np.zeros(size, dtype=np.bool_),
            vertices=new_located(size),
            cells=new_located(size),
        ),
    )


def part_in_use(state: LikelihoodState) -> LikelihoodState:
    """The same arrays, as views, without the room that nothing uses yet."""
    pairs, numbers, rows = (int(state.used[name]) for name in ("pairs", "numbers", "rows"))
    shown = {name: getattr(state, name)[:pairs] for name in BY_PAIR}
    shown |= {name: getattr(state, name)[:numbers] for name in BY_NUMBER}
    return state._replace(**shown, rows=state.rows[: 1 + rows])


def claim_in_use(state: LikelihoodState, arrays: Mapping[str, NDArray[Any]]) -> None:
    """As much room is in use as a file says; that its arrays have these shapes is checked when they are read."""
    room = {"pairs": len(state.contexts), "numbers": len(state.ones), "rows": len(state.rows) - 1}
    for field, most in room.items():
        name = f"state.sets.used.{field}"
        claimed = matching(arrays, name, (1,), np.int64)
        within(name, claimed, 0, most)
        state.used[field] = claimed[0]


@lean
def begin_pair(state, pair, next_states):
    """Room for a pair that has none yet, and for the numbers of its loss and of its next states. O(m (d + K + L))."""
    if state.place[pair] > 0:
        return
    place = state.used["pairs"]
    number = state.used["numbers"]
    state.place[pair] = place + 1
    state.first[pair] = number
    state.used["pairs"] = place + 1
    state.used["numbers"] = number + 1 + next_states
    for j in range(state.contexts.shape[1]):
        state.contexts[place, j] = 0.0
    for cell in range(state.cell_rows.shape[1]):
        state.cell_rows[place, cell] = 0
    for k in range(number, number + 1 + next_states):
        reset_number(state, k)


@lean
def reset_number(state, number):
    """Nothing was seen of a number."""
    for k in range(FORECASTERS):
        state.log_loss[number, k] = 0.0
    for j in range(state.estimate.shape[1]):
        state.estimate[number, j] = 0.5
    state.pending[number] = 0
    state.ones[number] = 0.0
    state.shift[number] = 0.0
    for vertex in range(state.low.shape[1]):
        state.low[number, vertex] = 0.0
        state.high[number, vertex] = 1.0
    for cell in range(state.hit_rows.shape[1]):
        state.hit_rows[number, cell] = 0
        state.miss_rows[number, cell] = 0


@lean
def row_of(state, index, cell):
    """The row of a cell, by the rows ``index`` [L] of a number or a pair; a new one, of zeros, if it has none."""
    if index[cell] == 0:
        row = state.used["rows"] + 1
        state.used["rows"] = row
        for j in range(state.rows.shape[1]):
            state.rows[row, j] = 0.0
        index[cell] = row
    return index[cell]


@lean
def reset_likelihood(kept, pair):
    """Nothing was seen of a pair, nor of any other: its room is free."""
    kept.place[pair] = 0
    kept.first[pair] = 0
    kept.visits[pair] = 0
    kept.fitted[pair] = 0
    kept.bounded[pair] = 0
    kept.used["pairs"] = 0
    kept.used["numbers"] = 0
    kept.used["rows"] = 0
