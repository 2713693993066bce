"""Problems to time planners on, each for any number of states n and a seed.

``random`` is shallow, ``grid`` is deep, ``shuffled_grid`` is the grid without the help of a good numbering,
``free_loops`` has loops of zero loss (the best policy of all never ends, the best *proper* one differs),
``tiny_exits`` ends with probability 1e-6 a step (a small residual says nothing about the error), and
``no_proper_policy`` has states from which no policy reaches the goal.

>>> random(1000)
SSP(1000 states, 4000 pairs, 1... next states)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound import SSP, Support

ACTIONS = 4
SUCCESSORS = 4
EXIT = 0.01
"""Goal probability of a pair of the random families, on average."""
SLIP = 0.2
"""Probability that a move on the grid goes to one of the two sides instead."""
TINY_EXIT = 1e-6

Rows = tuple[NDArray[np.int32], NDArray[np.float64]]
"""Next states [N, K] and their probabilities [N, K]; a next state may stand twice in a row, or have probability 0."""


def random(n: int, seed: int = 0) -> SSP:
    """Four actions, four random successors each, and the goal with a probability around 0.01."""
    rng = np.random.default_rng(seed)
    return _problem(_random_rows(n, EXIT * rng.uniform(0.2, 1.8, n * ACTIONS), rng), _losses(n, rng))


def grid(n: int, seed: int = 0) -> SSP:
    """A square of about n cells; moves slip to the sides or stop at walls; the last corner is the goal."""
    side = _side(n)
    return _problem(_grid_rows(side), _losses(side * side - 1, np.random.default_rng(seed)))


def shuffled_grid(n: int, seed: int = 0) -> SSP:
    """The grid with its states renumbered at random."""
    side = _side(n)
    states = side * side - 1
    rng = np.random.default_rng(seed)
    losses = _losses(states, rng)
    following, probabilities = _grid_rows(side)
    old = rng.permutation(states).astype(np.int32)  # the old number of each new state
    new = np.full(states + 1, states, dtype=np.int32)
    new[old] = np.arange(states, dtype=np.int32)
    pair = (old[:, None].astype(np.int64) * ACTIONS + np.arange(ACTIONS)).reshape(-1)
    return _problem((new[following[pair]], probabilities[pair]), losses[pair])


def free_loops(n: int, seed: int = 0) -> SSP:
    """The random family, where action 0 of most states goes round in a loop at no loss.

    By blocks of 20 states: 4 stay where they are, 6 are three two-cycles, 8 are a ring where action 0 goes one or two
    steps on and action 1 one step back, 2 are left as they are. One in fifty of the other pairs has no loss either.
    """
    rng = np.random.default_rng(seed)
    following, probabilities = _random_rows(n, EXIT * rng.uniform(0.2, 1.8, n * ACTIONS), rng)
    losses = _losses(n, rng)
    losses[rng.random(len(losses)) < 0.02] = 0.0
    state = np.arange(n - n % 20, dtype=np.int32)  # the states after the last whole block stay as they are
    place, first = state % 20, state - state % 20
    ring, swap = (place >= 10) & (place < 18), (place >= 4) & (place < 10)

    def loop(chosen: NDArray[np.bool_], action: int, *targets: NDArray[np.int32]) -> None:
        pair = state[chosen].astype(np.int64) * ACTIONS + action
        following[pair] = targets[-1][chosen, None]
        probabilities[pair] = 0.0
        for column, target in enumerate(targets):
            following[pair, column] = target[chosen]
            probabilities[pair, column] = 1.0 / len(targets)
        losses[pair] = 0.0

    loop(place < 4, 0, state)
    loop(swap, 0, first + (place ^ 1))
    loop(ring, 0, first + 10 + (place - 9) % 8, first + 10 + (place - 8) % 8)
    loop(ring, 1, first + 10 + (place - 11) % 8)
    return _problem((following, probabilities), losses)


def tiny_exits(n: int, seed: int = 0) -> SSP:
    """The random family with a goal probability of 1e-6 for every pair: about a million steps to the goal."""
    rng = np.random.default_rng(seed)
    return _problem(_random_rows(n, np.full(n * ACTIONS, TINY_EXIT), rng), _losses(n, rng))


def no_proper_policy(n: int, seed: int = 0) -> SSP:
    """The random family, where every pair may fall into the last hundredth of the states: a trap."""
    rng = np.random.default_rng(seed)
    following, probabilities = _random_rows(n, EXIT * rng.uniform(0.2, 1.8, n * ACTIONS), rng)
    trap = n - max(2, n // 100)
    following[:, 0] = rng.integers(trap, n, len(following))
    following[trap * ACTIONS :] = trap + following[trap * ACTIONS :] % (n - trap)
    return _problem((following, probabilities), _losses(n, rng))


def input_bytes(ssp: SSP) -> int:
    """The memory that the arrays of a problem take."""
    support = ssp.support
    arrays = (support.pair_start, support.pair_action, support.next_start, support.next_state)
    return sum(array.nbytes for array in (*arrays, ssp.losses, ssp.probabilities))


def _losses(states: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return rng.uniform(0.1, 1.0, states * ACTIONS)


def _random_rows(states: int, exits: NDArray[np.float64], rng: np.random.Generator) -> Rows:
    """Random successors with random weights, the goal in the last column with the probabilities given."""
    pairs = states * ACTIONS
    following = np.empty((pairs, SUCCESSORS + 1), dtype=np.int32)
    following[:, :-1] = rng.integers(0, states, (pairs, SUCCESSORS), dtype=np.int32)
    following[:, -1] = states
    probabilities = np.empty((pairs, SUCCESSORS + 1))
    weights = rng.uniform(0.1, 1.0, (pairs, SUCCESSORS))
    probabilities[:, :-1] = weights * ((1.0 - exits) / weights.sum(axis=1))[:, None]
    probabilities[:, -1] = exits
    return following, probabilities


def _side(n: int) -> int:
    return max(2, round(n**0.5))


def _grid_rows(side: int) -> Rows:
    """Up, right, down, left: ahead with probability 1 - SLIP, else to one of the sides; walls stop."""
    row, column = np.divmod(np.arange(side * side - 1, dtype=np.int32), side)
    moves = ((-1, 0), (0, 1), (1, 0), (0, -1))
    reached = [np.clip(row + down, 0, side - 1) * side + np.clip(column + right, 0, side - 1) for down, right in moves]
    following = np.stack(
        [np.stack([reached[move], reached[move - 1], reached[(move + 1) % 4]], axis=1) for move in range(ACTIONS)],
        axis=1,
    ).reshape(-1, 3)
    return following.astype(np.int32), np.tile([1.0 - SLIP, SLIP / 2, SLIP / 2], (len(following), 1))


def _problem(rows: Rows, losses: NDArray[np.float64]) -> SSP:
    """Sort each row, sum repeats, drop zeros; the arrays are made read-only so that nothing is copied."""
    following, probabilities = rows
    order = np.argsort(following, axis=1)
    following = np.take_along_axis(following, order, axis=1)
    probabilities = np.take_along_axis(probabilities, order, axis=1)
    repeated = following[:, 1:] == following[:, :-1]
    for column in range(following.shape[1] - 1, 0, -1):
        repeat = repeated[:, column - 1]
        probabilities[repeat, column - 1] += probabilities[repeat, column]
        probabilities[repeat, column] = 0.0
    kept = probabilities > 0.0
    pairs = len(following)
    next_start = np.zeros(pairs + 1, dtype=np.int64)
    np.cumsum(kept.sum(axis=1), out=next_start[1:])
    support = Support(
        _read_only(np.arange(0, pairs + 1, ACTIONS, dtype=np.int64)),
        _read_only(np.tile(np.arange(ACTIONS, dtype=np.int32), pairs // ACTIONS)),
        _read_only(next_start),
        _read_only(following[kept]),
    )
    return SSP(support, _read_only(losses), _read_only(probabilities[kept]))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array
