"""The largest value over a simplex of the smaller of affine functions: by whole arrays, and by a linear program."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Floats = NDArray[np.float64]


def max_allowed_by_arrays(bounds: Floats) -> tuple[float, Floats]:
    """Of ``bounds`` [U, K, S + 1] the largest value that all pairs of functions allow, and its weights [K]."""
    functions = bounds[:, :, :-1]
    count, states = functions.shape[1:]
    lowest, weights = np.full(states, np.inf), np.zeros((states, count))
    for one, other in itertools.combinations_with_replacement(range(len(functions)), 2):
        value, where = _max_of_min(functions[one], functions[other])
        smaller = value < lowest
        lowest[smaller], weights[smaller] = value[smaller], where[smaller]
    state = int(np.argmax(lowest))
    return float(lowest[state]), weights[state]


def _max_of_min(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    count, states = first.shape
    smaller = np.minimum(first, second)
    corner, every = np.argmax(smaller, axis=0), np.arange(states)
    value, weights = smaller[corner, every], np.zeros((states, count))
    weights[every, corner] = 1.0
    gap = first - second
    for j, k in itertools.combinations(range(count), 2):
        cross = np.flatnonzero((np.minimum(gap[j], gap[k]) < 0.0) & (np.maximum(gap[j], gap[k]) > 0.0))
        share = gap[j, cross] / (gap[j, cross] - gap[k, cross])
        height = np.maximum(
            first[j, cross] + share * (first[k, cross] - first[j, cross]),
            second[j, cross] + share * (second[k, cross] - second[j, cross]),
        )
        ends = np.abs(np.stack((first[j], first[k], second[j], second[k]))[:, cross])
        height += 16.0 * 2.0**-53 * ends.max(axis=0, initial=0.0)
        better = height > value[cross]
        at, share = cross[better], share[better]
        value[at], weights[at] = height[better], 0.0
        weights[at, j], weights[at, k] = 1.0 - share, share
    return value, weights


def max_of_min_by_linear_program(functions: Floats) -> float:
    """The largest z with z <= sum of w_k f_uk for all functions u [U, K], over weights w of the simplex."""
    count = functions.shape[1]
    answer = linprog(
        np.append(np.zeros(count), -1.0), A_ub=np.column_stack((-functions, np.ones(len(functions)))),
        b_ub=np.zeros(len(functions)), A_eq=[[*np.ones(count), 0.0]], b_eq=[1.0],
        bounds=[(0.0, None)] * count + [(None, None)],
    )  # fmt: skip
    assert answer.status == 0
    return float(-answer.fun)
