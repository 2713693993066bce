"""Checks of the planner's arguments: the kind of problem, its size, and policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound import models
from goalbound.errors import ArgumentError, InputError, ModelError
from goalbound.jit.compile import Effort, Run
from goalbound.models import Support  # and models.SSP, models.LinearCSSP, which are loaded when they are asked for
from goalbound.models.validation import as_numeric_array, short_repr

DIRECT_STATES = 300
"""Up to this many states a chain is eliminated directly."""
EFFORT = Effort()
"""The work of all planning in this process: many small problems get compiled kernels as one large one does."""
SHOWN = 12
"""States that an error names."""
Policy = ArrayLike | Mapping[Any, Any]
"""An action for each state: numbers [S], names, or a mapping from states to actions by number or name."""


def require_ssp(problem: Any) -> models.SSP:
    """The problem, if it is one without context; else an error that says what to do."""
    if isinstance(problem, models.SSP):
        return problem
    if isinstance(problem, models.LinearCSSP):
        raise ArgumentError(
            f"this problem has a context ({problem}); plan for one: problem.at([...]) with "
            f"{problem.context_size} weights, or problem.component(0)"
        )
    raise ArgumentError(_not_a_problem(problem, "an SSP"))


def require_contextual(problem: Any) -> models.LinearCSSP:
    """The problem, if it is contextual; else an error that says what to do."""
    if isinstance(problem, models.LinearCSSP):
        return problem
    if isinstance(problem, models.SSP):
        raise ArgumentError("this problem has no context; pass the LinearCSSP itself, or LinearCSSP.mix([problem])")
    raise ArgumentError(_not_a_problem(problem, "a LinearCSSP"))


def engine_for(problem: models.SSP) -> Run:
    """How to run kernels on a problem. Few states are solved directly, with few sweeps, so each may be longer."""
    support = problem.support
    return EFFORT.engine(support.triples // 4 if support.states <= DIRECT_STATES else support.triples)


def _not_a_problem(value: Any, wanted: str) -> str:
    inside = getattr(value, "problem", None)
    if isinstance(inside, models.SSP | models.LinearCSSP):
        return f"a {type(value).__name__} is not a problem itself; pass its .problem"
    return f"a {type(value).__name__} is not a problem; pass {wanted} (goalbound.load reads one from a file)"


def pairs_of(ssp: models.SSP, policy: Policy) -> NDArray[np.int64]:
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
