"""A lattice on the simplex of contexts: its vertices, the cell of a context, and interpolation between vertices."""

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import lean
from goalbound.jit.struct import Struct

FINEST = 12
"""The most steps of a lattice from corner to corner."""


class Lattice(Struct):
    """Points of the simplex whose entries are whole numbers of steps."""

    steps: int
    """from corner to corner"""
    vertices: NDArray[np.int64]
    """[K, d] in steps: each sums to ``steps``"""


class Located(Struct):
    """Where a context lies in a lattice, and scratch arrays to find it."""

    context: NDArray[np.float64]
    """[d] the context; negative: none yet"""
    index: NDArray[np.int64]
    """[d] the vertices around it"""
    share: NDArray[np.float64]
    """[d] the weight of each"""
    levels: NDArray[np.int64]
    """[d] scratch"""
    order: NDArray[np.int64]
    """[d] scratch"""
    weights: NDArray[np.float64]
    """[d] scratch"""


def new_located(size: int) -> Located:
    """No context yet."""
    return Located(
        context=np.full(size, -1.0),
        index=np.zeros(size, dtype=np.int64),
        share=np.zeros(size),
        levels=np.zeros(size, dtype=np.int64),
        order=np.zeros(size, dtype=np.int64),
        weights=np.zeros(size),
    )


def new_lattice(size: int, most: int) -> Lattice:
    """The finest lattice of at most ``most`` vertices on the simplex of ``size`` corners; the corners at least.

    >>> new_lattice(3, 6)
    Lattice(steps=2, vertices=array([[0, 0, 2],
           [0, 1, 1],
           [0, 2, 0],
           [1, 0, 1],
           [1, 1, 0],
           [2, 0, 0]]))
    """
    steps = 1
    while size > 1 and steps < FINEST and _lattice_count(size, steps + 1) <= most:
        steps += 1
    vertices = np.array(_compositions(steps, size), dtype=np.int64).reshape(-1, size)
    vertices.setflags(write=False)
    return Lattice(steps, vertices)


def _lattice_count(size: int, steps: int) -> int:
    """(steps + size - 1) choose steps."""
    count = 1
    for k in range(1, steps + 1):
        count = count * (size - 1 + k) // k
    return count


def _compositions(total: int, parts: int) -> list[tuple[int, ...]]:
    if parts == 1:
        return [(total,)]
    return [(first, *rest) for first in range(total + 1) for rest in _compositions(total - first, parts - 1)]


@lean
def locate(lattice, at, context):
    """The vertices around a context and their weights into ``at.index`` and ``at.share``. O(K d^2); O(d) if it is
    the context of last time.

    The triangulation of Freudenthal: with u_j the sum of the entries from j on, in steps, the vertices are the floors
    of u, raised by one in the order of falling fractions.
    """
    size = len(context)
    same = True
    for j in range(size):
        same = same and at.context[j] == context[j]
        at.context[j] = context[j]
    if same:
        return
    total = 0.0
    for j in range(size - 1, 0, -1):  # at.share: fractions of u_1 to u_{d-1}; at.levels: floors
        total += context[j]
        u = min(total, 1.0) * lattice.steps
        whole = min(int(u), lattice.steps)
        at.levels[j] = whole
        at.share[j] = u - whole
    for j in range(size - 2, 0, -1):  # u may not rise: rounding of sums
        if at.levels[j] < at.levels[j + 1]:
            at.levels[j] = at.levels[j + 1]
            at.share[j] = 0.0
    for j in range(1, size):  # sorted by falling fractions; ties: the lower j first, which keeps u falling
        place = j - 1
        while place > 0 and at.share[at.order[place - 1]] < at.share[j]:
            at.order[place] = at.order[place - 1]
            place -= 1
        at.order[place] = j
    at.levels[0] = lattice.steps
    before = 1.0
    for k in range(size):
        following = at.share[at.order[k]] if k < size - 1 else 0.0
        at.index[k] = vertex_index(lattice, at.levels)
        at.weights[k] = max(before - following, 0.0)
        before = following
        if k < size - 1:
            at.levels[at.order[k]] += 1
    for k in range(size):
        at.share[k] = at.weights[k]


@lean
def vertex_index(lattice, levels):
    """The vertex whose entries from j on sum to ``levels[j]``, or -1."""
    size = len(levels)
    for k in range(len(lattice.vertices)):
        rest = lattice.steps
        found = True
        for j in range(size):
            if rest != levels[j]:
                found = False
                break
            rest -= lattice.vertices[k, j]
        if found:
            return k
    return -1


@lean
def nearest_vertex(at):
    """Of the vertices of :func:`locate` the one with the largest weight: the cell of the context."""
    best = 0
    for k in range(1, len(at.share)):
        if at.share[k] > at.share[best]:
            best = k
    return at.index[best]


@lean
def interpolate(at, values):
    """A number at the vertices [K], between the vertices of :func:`locate`."""
    total = 0.0
    for k in range(len(at.share)):
        if at.share[k] > 0.0:
            total += at.share[k] * values[at.index[k]]
    return total
