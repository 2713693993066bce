"""What may come in: no context, and a problem that leads nowhere else than the support says."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from goalbound.models import LinearCSSP, ModelError, Support
from goalbound.models.validation import ROW_TOLERANCE, numbers


def check_context_free(context: ArrayLike) -> None:
    """An error unless the context is the single number 1."""
    array = numbers(context, "context", (None,), "the single number 1.0: this learner knows no contexts")
    if len(array) != 1:
        raise ModelError(
            f"the context has {len(array)} entries, and this learner knows no contexts; wrap it in ContextBlind to "
            "play as if there were none, or in PerCell to have one learner for each part of the simplex"
        )
    if not abs(float(array[0]) - 1.0) <= ROW_TOLERANCE:
        raise ModelError(f"the context is [{array[0]}]; without contexts it is the single number 1.0")


def check_leads(support: Support, problem: LinearCSSP) -> None:
    """An error unless the problem has the pairs of the support and leads only where it may."""
    if not support.same_pairs(problem.support):
        raise ModelError("the problem has other states or actions than the learner's support")
    if support is problem.support or support == problem.support:
        return
    width = support.states + 1
    theirs = np.repeat(np.arange(support.pairs), np.diff(problem.support.next_start))
    mine = np.repeat(np.arange(support.pairs), np.diff(support.next_start)) * width + support.next_state
    allowed = np.isin(theirs * width + problem.support.next_state, mine)
    outside = np.flatnonzero(~allowed & (problem.probabilities > 0.0).any(axis=1))
    if len(outside):
        name = support.pair_name(int(theirs[outside[0]]))
        following = support.state_name(int(problem.support.next_state[outside[0]]))
        raise ModelError(f"{name} may lead to {following} in the problem, but not in the learner's support")
