"""Runbooks of learners that act by one: how they are read, and around which learners they are put."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import InputError
from goalbound.learners.wrapper import Wrapper
from goalbound.models import Support
from goalbound.models.validation import set_readonly
from goalbound.planning.policy_bounds import policy_pairs


def checked_runbook(support: Support, runbook: ArrayLike | Mapping[Any, Any]) -> NDArray[np.int64]:
    """[S] the action of each state, from numbers or names; an error names the argument.

    >>> checked_runbook(Support.full(2, 2), {0: 1, 1: 0})
    array([1, 0])
    """
    try:
        pairs = policy_pairs(support, runbook)
    except InputError as error:
        raise type(error)(f"runbook: {error}") from None
    return set_readonly(support.pair_action[pairs].astype(np.int64))


def wrapped_learner_error(learner: Wrapper, what: str) -> str:
    """The error of a learner that is inside others; ``what`` is to be put around it directly."""
    inside: Any = learner
    place = "learner"
    while isinstance(inside, Wrapper):
        inside, place = inside.inner, f"{place}.inner"
    name = type(learner).__name__
    return (
        f"learner is a {name}; give the {type(inside).__name__} inside, {place}, and put the {name} around the {what} "
        "instead"
    )
