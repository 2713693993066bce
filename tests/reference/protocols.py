"""Two protocols of the Quantitative Verification Benchmark Set, written from their descriptions.

Their expected losses to the goal are published as exact numbers, so they are witnesses from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import NamedTuple

from goalbound.models import SSP


class Move(NamedTuple):
    """One choice: its loss, and where it leads with which probability."""

    loss: float
    to: list[tuple[float, Hashable]]


def explore(first: Hashable, moves: Callable[[Hashable], Iterator[Move]], is_goal: Callable[[Hashable], bool]) -> SSP:
    """The problem of all states that can be reached from the first one, numbered as they are met."""
    met: dict[Hashable, int] = {first: 0}
    waiting = [first]
    found: list[tuple[int, int, Hashable, float, float]] = []
    for state in waiting:  # grows while it is read
        for action, move in enumerate(moves(state)):
            for probability, following in move.to:
                found.append((met[state], action, following, probability, move.loss))
                if not is_goal(following) and following not in met:
                    met[following] = len(met)
                    waiting.append(following)
    return SSP.from_transitions((s, a, "goal" if is_goal(t) else met[t], p, loss) for s, a, t, p, loss in found)


FLIP, WRITE, CHECK, FINISHED = range(4)


def shared_coin(processes: int, spread: int) -> SSP:
    """The shared coin of Aspnes and Herlihy's randomised consensus.

    Each process flips its own fair coin, adds the outcome (-1 or +1) to a shared counter, then looks at the counter:
    near one end (within ``processes`` of it) it is finished, else it flips again. The counter starts in the middle of
    0 to 2 (spread + 1) processes. One process moves at a time; which one is the choice. Each move is a step of loss 1,
    and the goal is that all are finished. ``spread`` is the constant K of the benchmark.
    """
    highest = 2 * (spread + 1) * processes

    def moves(state: Hashable) -> Iterator[Move]:
        counter, doing = state  # type: ignore[misc]
        for who, (phase, coin) in enumerate(doing):

            def after(phase: int, coin: int, counter: int = counter, who: int = who) -> Hashable:
                return counter, (*doing[:who], (phase, coin), *doing[who + 1 :])

            if phase == FLIP:
                yield Move(1.0, [(0.5, after(WRITE, 0)), (0.5, after(WRITE, 1))])
            elif phase == WRITE:
                yield Move(1.0, [(1.0, after(CHECK, 0, counter + (1 if coin else -1)))])
            elif phase == CHECK and counter <= processes:
                yield Move(1.0, [(1.0, after(FINISHED, 0))])
            elif phase == CHECK and counter >= highest - processes:
                yield Move(1.0, [(1.0, after(FINISHED, 1))])
            elif phase == CHECK:
                yield Move(1.0, [(1.0, after(FLIP, coin))])

    def all_finished(state: Hashable) -> bool:
        return all(phase == FINISHED for phase, _ in state[1])  # type: ignore[index]

    return explore((highest // 2, ((FLIP, 0),) * processes), moves, all_finished)


TIMES = {"fast": (76, 85), "slow": (159, 167)}
"""the shortest and the longest wait (in units of 10 ns) of a node that chose so"""


def root_contention(delay: int) -> SSP:
    """The root contention of IEEE 1394 (FireWire), the abstract model with an integer clock.

    Two nodes contend. One after the other, each within ``delay`` of the start, chooses to wait a fast or a slow time
    with probability 1/2 each. If they chose differently, or if the messages cross early enough, one becomes the root:
    the goal. If they chose the same they may also meet again and start afresh. A tick of the clock is a loss of 1;
    choosing, starting afresh and ending are free.
    """

    def moves(state: Hashable) -> Iterator[Move]:
        chosen, clock = state  # type: ignore[misc]
        tick = Move(1.0, [(1.0, (chosen, clock + 1))])
        if None in chosen:
            if clock < delay:
                yield tick
            for node in range(2):
                if chosen[node] is None:
                    both = [(*chosen[:node], speed, *chosen[node + 1 :]) for speed in TIMES]
                    yield Move(0.0, [(0.5, (choice, clock if None in choice else 0)) for choice in both])
            return
        slowest = "slow" if "slow" in chosen else "fast"
        shortest, longest = TIMES[slowest]
        if clock < longest:
            yield tick
        if clock >= shortest and chosen[0] == chosen[1]:
            yield Move(0.0, [(1.0, ((None, None), 0))])
        if clock >= shortest - delay:
            yield Move(0.0, [(1.0, "root")])

    return explore(((None, None), 0), moves, lambda state: state == "root")
