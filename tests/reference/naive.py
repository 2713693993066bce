"""The textbook methods, as the textbook has them, in NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goalbound.models import SSP
from tests.reference import graph


def dense_tables(ssp: SSP) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """losses[S, A] and transitions[S, A, S + 1]; an action that a state lacks has loss inf."""
    support = ssp.support
    losses = np.full((support.states, support.actions), np.inf)
    transitions = np.zeros((support.states, support.actions, support.states + 1))
    for state in range(support.states):
        for pair in range(support.pair_start[state], support.pair_start[state + 1]):
            action = support.pair_action[pair]
            losses[state, action] = ssp.losses[pair]
            for triple in range(support.next_start[pair], support.next_start[pair + 1]):
                transitions[state, action, support.next_state[triple]] += ssp.probabilities[triple]
    return losses, transitions


def policy_values(ssp: SSP, policy: list[int]) -> NDArray[np.float64]:
    """[S + 1] the values of a proper policy: (1 - P) v = l."""
    losses, transitions = dense_tables(ssp)
    states = np.arange(ssp.support.states)
    moves = transitions[states, policy][:, :-1]
    return np.append(np.linalg.solve(np.eye(len(states)) - moves, losses[states, policy]), 0.0)


def value_iteration(ssp: SSP, sweeps: int) -> NDArray[np.float64]:
    """[S + 1] the optimal values over proper policies of a problem in which every state has one.

    It starts from the values of a proper policy and comes down. From zero it would settle on the values of the best
    policy of any kind, which are smaller where a loop is free.
    """
    losses, transitions = dense_tables(ssp)
    policy = graph.proper_policy(ssp)
    values = policy_values(ssp, [policy[state] for state in range(ssp.support.states)])
    for _ in range(sweeps):
        values[:-1] = np.minimum(values[:-1], (losses + transitions @ values).min(axis=1))
    return values
