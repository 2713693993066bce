"""Contexts one by one: the largest optimal loss and the longest optimal time over a grid, by trying every policy."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.models import SSP, LinearCSSP
from tests.reference import graph, naive


class Largest(NamedTuple):
    """The largest optimal loss and, over policies that are optimal to 1e-12, the most expected steps."""

    loss: float
    time: float


def grid(size: int, parts: int) -> Iterator[NDArray[np.float64]]:
    """The contexts whose weights are multiples of 1 / parts."""
    for bars in itertools.combinations(range(parts + size - 1), size - 1):
        ends = np.array([-1, *bars, parts + size - 1])
        yield (np.diff(ends) - 1) / parts


def faces(size: int) -> Iterator[NDArray[np.float64]]:
    """The middle of each face of the simplex: one context for each set of active components."""
    for active in itertools.product((0.0, 1.0), repeat=size):
        if any(active):
            yield np.array(active) / sum(active)


def largest_at(ssp: SSP) -> Largest:
    """Over the states of one context, by trying every deterministic proper policy. For a handful of states."""
    losses, transitions = naive.dense_tables(ssp)
    states = np.arange(ssp.support.states)
    choices = [np.flatnonzero(np.isfinite(row)) for row in losses]
    found = []
    for policy in itertools.product(*choices):
        moves = transitions[states, policy][:, :-1]
        if _reaches_the_goal(transitions[states, policy]):
            inverse = np.linalg.inv(np.eye(len(states)) - moves)
            found.append((inverse @ losses[states, policy], inverse.sum(axis=1)))
    best = np.min([values for values, _ in found], axis=0)
    optimal = [steps for values, steps in found if (values <= best * (1.0 + 1e-12) + 1e-15).all()]
    return Largest(float(best.max()), float(np.max(optimal)))


def _reaches_the_goal(chain: NDArray[np.float64]) -> bool:
    """Whether every state of a chain [S, S + 1] has a way to the goal."""
    reached = np.append(np.zeros(len(chain), dtype=bool), True)
    for _ in range(len(chain)):
        reached[:-1] |= (chain[:, reached] > 0.0).any(axis=1)
    return bool(reached.all())


def largest_on_grid(problem: LinearCSSP, parts: int) -> Largest:
    """The largest of both over a grid of contexts."""
    found = [largest_at(problem.at(context)) for context in grid(problem.context_size, parts)]
    return Largest(max(one.loss for one in found), max(one.time for one in found))


def proper_at_every_face(problem: LinearCSSP) -> bool:
    """Whether each of the 2^d - 1 faces has a proper policy for every state."""
    return all(not graph.blocking_states(problem.at(context)) for context in faces(problem.context_size))
