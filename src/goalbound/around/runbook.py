"""Runbooks of learners that act by one: how they are read, and around which learners they are put."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.around.wrapper import Wrapper
from goalbound.errors import InputError
from goalbound.models import Support
from goalbound.models.support_match import match_support
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


def extended_runbook(
    support: Support, runbook: NDArray[np.int64], larger: Support, given: ArrayLike | Mapping[Any, Any] | None
) -> ArrayLike | Mapping[Any, Any]:
    """The runbook of a learner that is put on a larger support: the one that is given, or else the same actions in the
    states that were there before.

    >>> smaller, larger = (Support.from_names(dict.fromkeys(names, {"go": ["goal"]})) for names in ("b", "ab"))
    >>> extended_runbook(smaller, np.array([0]), larger, None)
    {1: 0}
    """
    if given is not None:
        return given
    places = match_support(larger, support, name="the learner")
    pairs = places.pairs[policy_pairs(support, runbook)]
    return dict(zip(larger.pair_state[pairs].tolist(), larger.pair_action[pairs].tolist(), strict=True))


def wrapped_learner_error(learner: Wrapper, what: str) -> str:
    """Return the error for a learner that is wrapped already; ``what`` goes directly around the innermost one."""
    around: list[Any] = []
    inside: Any = learner
    while isinstance(inside, Wrapper):
        around.append(inside)
        inside = inside.inner
    runbooks = [type(one).__name__ for one in around if "runbook" in vars(one)]
    others = [type(one).__name__ for one in around if "runbook" not in vars(one)]
    text = f"learner is of the type {type(learner).__name__}"
    if runbooks:
        text += f", and the {runbooks[0]} acts by a runbook already: use it alone, or"
    else:
        text += ";"
    text += f" give the {type(inside).__name__} inside, {'.'.join(['learner', *(len(around) * ['inner'])])}"
    if others:
        text += f", and put the {' around the '.join(others)} around the {what} instead"
    return text
