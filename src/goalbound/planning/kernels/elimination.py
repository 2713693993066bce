"""Policy evaluation by eliminating states one after the other. O(S^3); for small S."""

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import kernel, lean
from goalbound.jit.struct import Struct

MOST_ELIMINATED_STATES = 100
"""Up to this many states plans are made by policy iteration: elimination costs less than the sweeps it saves."""


class EvaluationWorkspace(Struct):
    """Work arrays to evaluate a policy of S states."""

    matrix: NDArray[np.float64]
    """[S, S]"""
    leaving: NDArray[np.float64]
    """[S]"""
    pivot: NDArray[np.float64]
    """[S]"""
    values: NDArray[np.float64]
    """[S + 1] of the policy evaluated last"""
    steps: NDArray[np.float64]
    """[S + 1] likewise"""
    row: NDArray[np.float64]
    """[S + 1] of a pair"""


def new_evaluation_workspace(states: int) -> EvaluationWorkspace:
    """Work arrays for so many states; empty for 0."""
    return EvaluationWorkspace(np.empty((states, states)), *np.empty((2, states)), *np.empty((3, states + 1)))


@kernel
def evaluate_policy(rows, policy, matrix, leaving, pivot, out_values, out_steps):
    """The values and the expected steps of a policy (pairs [S]); False if it is not proper."""
    return evaluate_pairs(rows, policy, matrix, leaving, pivot, out_values, out_steps, True)


@kernel
def evaluate_pairs(rows, policy, matrix, leaving, pivot, out_values, out_steps, with_steps):
    """:func:`evaluate_policy`, the steps only ``with_steps``; the values have the same bits either way.

    State reduction (Grassmann, Taksar, Heyman): nothing is subtracted, so tiny exits keep their relative accuracy.
    ``matrix[S, S]``, ``leaving[S]`` and ``pivot[S]`` are work arrays; ``out_values`` and ``out_steps`` are [S + 1].
    """
    states = len(policy)
    for s in range(states):
        i = policy[s]
        for t in range(states):
            matrix[s, t] = 0.0
        leaving[s] = 0.0
        moving = 0.0
        staying = 0.0
        for k in range(rows.next_start[i], rows.next_start[i + 1]):
            t = rows.next_state[k]
            p = rows.probabilities[k]
            if t == s:
                staying += p
            elif t == states:
                moving += p
                leaving[s] += p
            else:
                moving += p
                matrix[s, t] += p
        if moving <= 0.0:
            return False
        for t in range(states):
            matrix[s, t] /= moving
        leaving[s] /= moving
        steps = (moving + staying) / moving  # how often the pair is played until it moves
        out_values[s] = rows.losses[i] * steps
        if with_steps:
            out_steps[s] = steps
    return eliminate(matrix, leaving, pivot, out_values, out_steps, with_steps)


@lean
def first_nonzero(matrix, k):
    """The first of the entries ``matrix[k, :k]`` that is not 0, or k: where states are numbered along the way, as on a
    grid, nearly all are, and adding them changes nothing."""
    for j in range(k):
        if matrix[k, j] != 0.0:
            return j
    return k


@lean
def eliminate(matrix, leaving, pivot, out_values, out_steps, with_steps):
    """Solve what :func:`evaluate_pairs` has set up: where each state moves to, and what it loses until then."""
    states = len(leaving)
    for k in range(states - 1, -1, -1):
        pivot[k] = leaving[k]
        for j in range(k):
            pivot[k] += matrix[k, j]
        if pivot[k] <= 0.0:
            return False
        first = first_nonzero(matrix, k)
        for s in range(k):
            share = matrix[s, k] / pivot[k]
            if share == 0.0:
                continue
            for j in range(first, k):
                matrix[s, j] += share * matrix[k, j]
            leaving[s] += share * leaving[k]
            out_values[s] += share * out_values[k]
            if with_steps:
                out_steps[s] += share * out_steps[k]
    for k in range(states):
        for j in range(first_nonzero(matrix, k), k):
            out_values[k] += matrix[k, j] * out_values[j]
            if with_steps:
                out_steps[k] += matrix[k, j] * out_steps[j]
        out_values[k] /= pivot[k]
        if with_steps:
            out_steps[k] /= pivot[k]
    out_values[states] = 0.0
    if with_steps:
        out_steps[states] = 0.0
    return True
