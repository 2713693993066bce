"""The largest value over a simplex that several affine functions allow, over all states."""

import numpy as np

from goalbound.jit.compile import lean

ROUNDING = 2.0**-53


@lean
def max_of_min(bounds, first, second, s, out_where):
    """The largest value over the simplex of the smaller of two of the affine functions of state s.

    It is attained at a corner, or on an edge where the two are equal: ``out_where`` [3] is (corner, corner, share of
    the second). ``bounds`` [U, K, S + 1] has the functions by their values at the corners. O(K^2).
    """
    corners = bounds.shape[1]
    value = -np.inf
    for k in range(corners):
        smaller = min(bounds[first, k, s], bounds[second, k, s])
        if smaller > value:
            value = smaller
            out_where[0] = k
            out_where[1] = k
            out_where[2] = 0.0
    if first == second:
        return value
    for j in range(corners):
        one_j = bounds[first, j, s]
        other_j = bounds[second, j, s]
        gap_j = one_j - other_j
        for k in range(j + 1, corners):
            one_k = bounds[first, k, s]
            other_k = bounds[second, k, s]
            gap_k = one_k - other_k
            if not (min(gap_j, gap_k) < 0.0 and max(gap_j, gap_k) > 0.0):
                continue
            share = gap_j / (gap_j - gap_k)
            # equal but for rounding; the larger is the safe one
            height = max(one_j + share * (one_k - one_j), other_j + share * (other_k - other_j))
            largest = max(max(abs(one_j), abs(one_k)), max(abs(other_j), abs(other_k)))
            height += 16.0 * ROUNDING * largest
            if height > value:
                value = height
                out_where[0] = j
                out_where[1] = k
                out_where[2] = share
    return value


@lean
def max_allowed(bounds, where, out_weights):
    """The largest value over all states and the simplex that is below every one of the functions, as far as pairs of
    them tell. Returns it; ``out_weights`` [K] says where. ``where`` [2, 3] is a work array. O(S U^2 K^2).
    """
    count = bounds.shape[0]
    best = -np.inf
    for s in range(bounds.shape[2] - 1):
        lowest = np.inf
        for first in range(count):
            for second in range(first, count):
                value = max_of_min(bounds, first, second, s, where[0])
                if value < lowest:
                    lowest = value
                    for entry in range(3):
                        where[1, entry] = where[0, entry]
        if lowest > best:
            best = lowest
            for k in range(len(out_weights)):
                out_weights[k] = 0.0
            out_weights[int(where[1, 0])] = 1.0 - where[1, 2]
            if where[1, 2] > 0.0:
                out_weights[int(where[1, 1])] = where[1, 2]
    return best
