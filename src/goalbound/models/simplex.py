"""Points of the simplex of contexts that are looked at where there are too many components for a grid."""

from __future__ import annotations

from itertools import combinations

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
