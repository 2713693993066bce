"""Properness: which policies reach the goal with probability one, and from which states."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import NoProperPolicy
from goalbound.models import SSP
from goalbound.planning.chain import ChainSolver
from goalbound.planning.checks import Policy, engine_for, pairs_of, require_ssp
from goalbound.planning.reduction import reduce, rows_of


def no_proper_policy(ssp: SSP, states: NDArray[np.int64]) -> NoProperPolicy:
    """The error for states that cannot reach the goal; the first eight are named."""
    return NoProperPolicy(states.tolist(), [ssp.support.state_name(s) for s in states[:8].tolist()])


def blocking_states(ssp: SSP) -> NDArray[np.int64]:
    """The states from which no policy reaches the goal with probability one, in increasing order. O(M) a round."""
    return np.flatnonzero(reduce(require_ssp(ssp), engine_for(ssp)).lost)


def is_proper(ssp: SSP, policy: Policy) -> bool:
    """Whether a policy (an action for each state, by number or name) reaches the goal with probability one from every
    state. O(M).

    >>> walk = SSP.dense([[0.1, 0.0]], [[[0.5, 0.5], [1.0, 0.0]]])
    >>> is_proper(walk, [0]), is_proper(walk, [1])
    (True, False)
    """
    pairs = pairs_of(require_ssp(ssp), policy)
    if (pairs < 0).any():
        return False
    solver = ChainSolver(rows_of(ssp), engine_for(ssp), None)
    moving = moving_policy(ssp, pairs)
    solver.set_policy(moving)
    reached = solver.reaches_goal()
    return bool(reached[moving >= 0].all() and (moving >= 0).all())


def moving_policy(ssp: SSP, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """The policy with -1 where its pair never leaves the state."""
    support = ssp.support
    lengths = support.next_start[pairs + 1] - support.next_start[pairs]
    starts = np.cumsum(lengths) - lengths
    entry = np.repeat(support.next_start[pairs] - starts, lengths) + np.arange(int(lengths.sum()))
    state = np.repeat(np.arange(support.states), lengths)
    moves = (support.next_state[entry] != state) & (ssp.probabilities[entry] > 0.0)
    out = pairs.copy()
    out[np.bincount(state[moves], minlength=support.states) == 0] = -1
    return out
