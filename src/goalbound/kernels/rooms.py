"""Fresh arrays for the kernels that learn."""

import numpy as np
from numpy.typing import NDArray

from goalbound.kernels.active_set import Desk
from goalbound.kernels.gram import Memory
from goalbound.kernels.learned import JOURNAL, Excess, Learned, View
from goalbound.kernels.optimism import BALL, BOX, Outlook, Plausible
from goalbound.kernels.pending import Pending
from goalbound.kernels.watch import Ledger


def fresh_memory(pairs: int, triples: int, size: int, regularization: float) -> Memory:
    """No data: Gram matrices lambda I (Algorithm 1, line 2). O(N d^2 + M d)."""
    unit = np.eye(size)
    return Memory(
        gram=np.repeat((unit * regularization)[None], pairs, axis=0),
        gram_low=np.zeros((pairs, size, size)),
        inverse=np.repeat((unit / regularization)[None], pairs, axis=0),
        loss_sums=np.zeros((pairs, size)),
        loss_low=np.zeros((pairs, size)),
        next_sums=np.zeros((triples, size)),
        next_low=np.zeros((triples, size)),
        goal_sums=np.zeros((pairs, size)),
        goal_low=np.zeros((pairs, size)),
        visits=np.zeros(pairs, dtype=np.int64),
        seen=np.zeros(pairs, dtype=np.int64),
        slot=np.full(triples, -1, dtype=np.int32),
        slot_state=np.zeros(triples, dtype=np.int32),
    )


def fresh_learned(
    memory: Memory,
    pair_start: NDArray[np.int64],
    loss_floor: float,
    loss_bound: float,
    *,
    variance: bool = False,
    parts: int = 0,
) -> Learned:
    """Nothing learned; the radii have still to be set."""
    pairs, size = memory.loss_sums.shape
    states = len(pair_start) - 1
    values = np.full(states + 1, loss_floor)
    values[states] = 0.0
    return Learned(
        memory=memory,
        pending=fresh_pending(pairs, size),
        losses=np.zeros((pairs, size)),
        rows=np.zeros_like(memory.next_sums),
        loss_radius=np.zeros(pairs),
        next_radius=np.zeros(pairs),
        doubt=np.zeros(pairs),
        changes=np.zeros(pairs, dtype=np.int64),
        volume=np.zeros(pairs),
        variance=np.zeros((len(memory.next_sums) if variance else 0, size, size)),
        level=np.zeros(len(memory.next_sums) if variance else 0),
        excess=fresh_excess(pairs, len(memory.next_sums), parts),
        values=values,
        policy=np.array(pair_start[:-1]),
        bound=np.array([loss_bound]),
        restart_log=np.zeros(1),
        tally=np.zeros(6, dtype=np.int64),
        journal=np.zeros(JOURNAL, dtype=np.int64),
    )


def fresh_pending(pairs: int, size: int) -> Pending:
    """All outcomes are known."""
    return Pending(
        visits=np.zeros(pairs, dtype=np.int64),
        contexts=np.zeros((pairs, size), dtype=np.int64),
        norms=np.zeros(pairs, dtype=np.int64),
    )


def fresh_excess(pairs: int, triples: int, parts: int) -> Excess:
    """Nothing was seen. ``parts`` 0: nothing is tested."""
    tested = parts > 0
    return Excess(
        steps=np.zeros((pairs if tested else 0, parts), dtype=np.int64),
        losses=np.zeros((pairs if tested else 0, parts, 3)),
        rows=np.zeros((triples if tested else 0, parts, 2)),
        alarm=np.full(4, -1, dtype=np.int64),
    )


def fresh_outlook(states: int, pairs: int) -> Outlook:
    """Value iteration that has not begun."""
    return Outlook(
        values=np.zeros(states + 1),
        policy=np.zeros(states, dtype=np.int64),
        backup=np.full(pairs, -np.inf),
        fallen=np.zeros(pairs),
        pull=np.zeros(pairs),
        meter=np.array([np.inf, 0.0]),
    )


def fresh_plausible(
    pair_start: NDArray[np.int64],
    next_start: NDArray[np.int64],
    *,
    shape: int,
    ceiling: float,
) -> Plausible:
    """Nothing was seen: all mass may go to the goal."""
    pairs, triples = len(next_start) - 1, int(next_start[-1])
    return Plausible(
        shape=shape,
        ceiling=ceiling,
        pair_start=pair_start,
        next_start=next_start,
        used=np.zeros(pairs, dtype=np.int64),
        state=np.zeros(triples, dtype=np.int32),
        centre=np.zeros(triples),
        ball=np.zeros(pairs),
        mass=np.zeros(pairs),
        losses=np.zeros(pairs),
        low=np.zeros(triples if shape == BOX else 0),
        high=np.zeros(triples if shape == BOX else 0),
    )


def fresh_view(
    pair_start: NDArray[np.int64],
    next_start: NDArray[np.int64],
    size: int,
    *,
    shape: int = BALL,
    ceiling: float = np.inf,
    sampled: bool = False,
) -> View:  # fmt: skip
    """Room for one episode. O(M + N)."""
    states, pairs, triples = len(pair_start) - 1, len(next_start) - 1, int(next_start[-1])
    plausible = fresh_plausible(pair_start, next_start, shape=shape, ceiling=ceiling)
    return View(
        context=np.zeros(size),
        plausible=plausible,
        outlook=fresh_outlook(states, pairs),
        norm=np.zeros(pairs),
        doubt=np.zeros(pairs),
        version=np.full(pairs, -1, dtype=np.int64),
        volume=np.zeros(pairs),
        loss_high=np.zeros(pairs if shape == BOX else 0),
        noise=np.zeros(triples + pairs if sampled else 0),
        direction=np.zeros(size),
        residual=np.zeros(size),
        gauge=np.zeros(2),
        tally=np.zeros(9, dtype=np.int64),
    )


def fresh_desk(longest: int, size: int) -> Desk:
    """Room to project rows of up to ``longest`` next states."""
    longest = max(longest, 1)
    return Desk(
        target=np.zeros((longest, size)),
        fixed=np.zeros((longest, size), dtype=np.bool_),
        tight=np.zeros(size, dtype=np.bool_),
        parts=np.zeros((longest, size, size)),
        block=np.zeros((size, size)),
        total=np.zeros((size, size)),
        solved=np.zeros((size, size)),
        sums=np.zeros(size),
        multiplier=np.zeros(size),
        vector=np.zeros(size),
        free=np.zeros(size, dtype=np.int64),
        trial=np.zeros((longest, size)),
        scale=np.ones(1),
    )


def fresh_ledger(pairs: int, size: int = 1, *, watch: bool = False, loss_bound: float = 1.0) -> Ledger:
    """An empty ledger; without ``watch`` it stays empty."""
    return Ledger(
        watch=watch,
        loss_bound=loss_bound,
        terms=np.zeros(5),
        counts=np.zeros(7, dtype=np.int64),
        sums=np.zeros(7),
        uncovered=np.zeros(pairs, dtype=np.bool_),
        unknown=np.zeros(pairs, dtype=np.int64),
        room=np.zeros(size),
    )
