"""Fresh arrays for the kernels of the context-free learners."""

from typing import Any

import numpy as np

from goalbound.kernels.elimination import FEW_STATES, fresh_bench
from goalbound.kernels.optimism import BALL, TAKE, Plausible
from goalbound.kernels.rooms import fresh_outlook, fresh_plausible
from goalbound.kernels.tabular.layout import (
    HOEFFDING,
    STALE,
    UC,
    ULCVI,
    Bonus,
    Counts,
    Front,
    Learned,
    Room,
    Rules,
    Walk,
)


def fresh_learned(rules: Rules, *, ceiling: float = np.inf) -> Learned:
    """Nothing seen yet; plans will have no value above ``ceiling``. O(M + H S)."""
    pairs, triples = len(rules.pair_state), len(rules.next_state)
    main = _fresh_front(_fresh_plausible(rules, ceiling), rules.floor)
    tally = np.zeros(9, dtype=np.int64)
    tally[STALE] = 1
    return Learned(
        counts=Counts(
            visits=np.zeros(pairs, dtype=np.int64),
            loss_sums=np.zeros(pairs),
            square_sums=np.zeros(pairs),
            seen=np.zeros(pairs, dtype=np.int64),
            goals=np.zeros(pairs, dtype=np.int64),
            slot=np.full(triples, -1, dtype=np.int32),
            slot_state=np.zeros(triples, dtype=np.int32),
            slot_count=np.zeros(triples, dtype=np.int64),
        ),
        looked=np.zeros(pairs, dtype=np.int64),
        main=main,
        unit=_fresh_front(main.plausible._replace(losses=np.ones(pairs)), 1.0),
        bonus=Bonus(np.zeros(pairs), np.zeros(pairs), np.zeros(pairs)),
        room=_fresh_room(rules),
        bound=np.array([rules.loss_bound]),
        tally=tally,
    )


def fresh_walk(states: int) -> Walk:
    """Room for one episode. O(S)."""
    return Walk(np.zeros(states, dtype=np.int64), np.zeros(6, dtype=np.int64))


def _fresh_plausible(rules: Rules, ceiling: float) -> Plausible:
    """Nothing was seen: all mass goes to the goal."""
    shape = TAKE if rules.method in (UC, HOEFFDING) else BALL
    return fresh_plausible(rules.pair_start, rules.next_start, shape=shape, ceiling=ceiling)


def _fresh_front(plausible: Plausible, least: float) -> Front:
    """All pairs wait to be looked at; values start at the least loss."""
    states, pairs = len(plausible.pair_start) - 1, len(plausible.used)
    outlook = fresh_outlook(states, pairs)
    outlook.values[:-1] = least
    outlook.policy[:] = plausible.pair_start[:-1]
    return Front(plausible, outlook, np.arange(pairs), np.ones(pairs, dtype=np.bool_), np.array([pairs]))


def _fresh_room(rules: Rules) -> Room:
    states, triples = len(rules.pair_start) - 1, len(rules.next_state)
    return Room(
        row=np.zeros(triples),
        values=np.zeros((2, states + 1)),
        upper=np.zeros((2, states + 1)),
        table=np.zeros((rules.horizon if rules.method == ULCVI else 0, states), dtype=np.int32),
        bench=fresh_bench(states if states <= FEW_STATES else 0),
    )


def copied(learned: Learned) -> Learned:
    """The same state in other arrays, to try something in. What is shared in it stays shared. O(M + H S)."""
    copies: dict[int, object] = {}

    def copy(part: Any) -> Any:
        if isinstance(part, tuple):
            return part._make(map(copy, part))  # type: ignore[attr-defined]
        if not isinstance(part, np.ndarray) or not part.flags.writeable:
            return part
        if id(part) not in copies:
            copies[id(part)] = part.copy()
        return copies[id(part)]

    return copy(learned)
