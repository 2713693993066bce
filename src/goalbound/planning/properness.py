"""Properness: which policies reach the goal with probability one, and from which states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ArgumentError, InputError, ModelError, NoProperPolicy
from goalbound.models import SSP, Support
from goalbound.models.validation import as_numeric_array, short_repr
from goalbound.planning.chain import ChainSolver
from goalbound.planning.checks import engine_for, require_ssp
from goalbound.planning.reduction import reduce, rows_of

SHOWN = 12
"""States that an error names."""
Policy = ArrayLike | Mapping[Any, Any]
"""An action for each state: numbers [S], names, or a mapping from states to actions by number or name."""


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


def pairs_of(ssp: SSP, policy: Policy) -> NDArray[np.int64]:
    """The pairs [S] that a policy plays; an action number of -1 stays -1. An action that a state lacks is an error."""
    return support_pairs(ssp.support, policy)


def support_pairs(support: Support, policy: Policy) -> NDArray[np.int64]:
    """:func:`pairs_of` where there is only a support."""
    if isinstance(policy, Mapping):
        return _named_pairs(support, policy)
    if isinstance(policy, list | tuple) and any(isinstance(action, str) for action in policy):
        if len(policy) != support.states:
            raise ArgumentError(f"policy has {len(policy)} actions; it needs one for each of {support.states} states")
        return _named_pairs(support, dict(enumerate(policy)))
    return _numbered_pairs(support, policy)


def _named_pairs(support: Support, policy: Mapping[Any, Any]) -> NDArray[np.int64]:
    """The pairs of a mapping from states to actions; it has one for every state."""
    pairs = np.full(support.states, -1, dtype=np.int64)
    for state, action in policy.items():
        try:
            pair = support.pair(state, action)
        except InputError as error:
            raise ModelError(f"policy[{short_repr(state)}]: {error}") from None
        pairs[support.pair_state[pair]] = pair
    missing = [support.state_name(int(s)) for s in np.flatnonzero(pairs < 0)]
    if missing:
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        raise ModelError(f"policy has no action for {', '.join(missing[:SHOWN])}{more}; it needs one for every state")
    return pairs


def _numbered_pairs(support: Support, policy: ArrayLike) -> NDArray[np.int64]:
    """The pairs of action numbers [S]."""
    actions = as_numeric_array(policy, "policy", "one action number for each state")
    if actions.shape != (support.states,) or actions.dtype.kind not in "iu":
        raise ModelError(
            f"policy has shape {actions.shape} and type {actions.dtype}; it needs one action number for each of the "
            f"{support.states} states"
        )
    span = np.int64(support.actions + 1)
    keys = support.pair_state.astype(np.int64) * span + support.pair_action
    wanted = np.arange(support.states, dtype=np.int64) * span + actions
    found = np.minimum(np.searchsorted(keys, wanted), support.pairs - 1)
    wrong = ((keys[found] != wanted) | (actions < 0) | (actions >= support.actions)) & (actions != -1)
    if wrong.any():
        state = int(np.flatnonzero(wrong)[0])
        try:
            support.pair(state, int(actions[state]))  # says what the state has instead
        except InputError as error:
            raise ModelError(f"policy[{state}]: {error}") from None
    return np.where(actions == -1, -1, found)
