"""Problems too large to be run as Python."""

import numpy as np
from numpy.typing import NDArray

from goalbound import SSP
from goalbound.models.triples import from_triples


def problem(states: int, *edges: tuple[NDArray, NDArray, NDArray, float | NDArray], losses: object) -> SSP:
    """From groups of (states, actions, next states, probability); losses is a function of the number of pairs."""
    parts = [np.broadcast_arrays(*edge) for edge in edges]
    s, a, t = (np.concatenate([part[k] for part in parts]).astype(np.int64) for k in range(3))
    built = from_triples(s, a, t, np.concatenate([part[3] for part in parts]).astype(float), states=states)
    return SSP(built.support, losses(built.support.pairs), built.probabilities)  # type: ignore[operator]


def grid(side: int, slip: float, losses: object, seed: int = 0) -> SSP:
    """Four moves on a square, each replaced by a random one with probability slip; shuffled; the last corner is S."""
    cells = side * side
    y, x = np.divmod(np.arange(cells - 1), side)
    order = np.append(np.random.default_rng(seed).permutation(cells - 1), cells - 1)
    targets = [
        np.clip(y + dy, 0, side - 1) * side + np.clip(x + dx, 0, side - 1)
        for dy, dx in ((-1, 0), (0, 1), (1, 0), (0, -1))
    ]
    edges = [
        (order[:-1], np.int64(a), order[targets[b]], slip / 4 + (1 - slip) * (a == b))
        for a in range(4)
        for b in range(4)
    ]
    return problem(cells - 1, *edges, losses=losses)


def corridor(length: int, forward: float) -> SSP:
    place = np.arange(length)
    edges = [(place, 0, place + 1, forward), (place, 0, np.maximum(place - 1, 0), 1 - forward)]
    return problem(length, *edges, losses=np.ones)  # type: ignore[arg-type]


def random_exits(states: int, goal: float, seed: int = 0) -> SSP:
    rng = np.random.default_rng(seed)
    edges: list = []
    for action in range(3):
        share = rng.dirichlet(np.ones(3), states) * (1 - goal)
        edges += [(np.arange(states), action, rng.integers(0, states, states), share[:, k]) for k in range(3)]
        edges.append((np.arange(states), action, np.int64(states), goal))
    return problem(states, *edges, losses=lambda n: rng.uniform(0.1, 1.0, n))


uniform = lambda n: np.random.default_rng(1).uniform(0.1, 1.0, n)  # noqa: E731


mostly_zero = lambda n: np.random.default_rng(1).uniform(0.0, 1.0, n) * (np.random.default_rng(2).random(n) < 0.5)  # noqa: E731
