"""Points of the simplex of contexts that are looked at where there are too many components for a grid."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray


def simplex_landmarks(size: int, *, most: int = 100) -> NDArray[np.float64]:
    """[K, d] the corners, the centre and the middles of the edges, in this order; at most so many.

    >>> simplex_landmarks(2)
    array([[1. , 0. ],
           [0. , 1. ],
           [0.5, 0.5],
           [0.5, 0.5]])
    """
    corners = np.eye(size)
    if size == 1:
        return corners
    middles = [(corners[i] + corners[j]) / 2.0 for i, j in combinations(range(size), 2)]
    return np.array([*corners, corners.mean(axis=0), *middles][:most])


def simplex_lattice(size: int, *, most: int, finest: int = 40) -> NDArray[np.float64]:
    """[K, d] the points whose weights are multiples of 1 / n, for the largest n (up to ``finest``) with at most
    ``most`` of them; at least the corners. The last component comes first, as in the contexts of records.

    >>> simplex_lattice(3, most=6)
    array([[0. , 0. , 1. ],
           [0. , 0.5, 0.5],
           [0. , 1. , 0. ],
           [0.5, 0. , 0.5],
           [0.5, 0.5, 0. ],
           [1. , 0. , 0. ]])
    """
    steps = lattice_steps(size, most=most, finest=finest)
    found = list(combinations(range(steps + size - 1), size - 1))  # stars and bars
    bars = np.array(found, dtype=np.int64).reshape(len(found), size - 1)
    ends = np.full((len(bars), 1), steps + size - 1)
    return (np.diff(bars, axis=1, prepend=-1, append=ends) - 1) / steps


def lattice_steps(size: int, *, most: int, finest: int = 40) -> int:
    """The n of :func:`simplex_lattice`.

    >>> lattice_steps(2, most=100), lattice_steps(3, most=66), lattice_steps(5, most=100)
    (40, 10, 4)
    """
    return max((n for n in range(1, finest + 1) if comb(n + size - 1, size - 1) <= most), default=1)
