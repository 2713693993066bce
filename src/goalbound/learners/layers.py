"""A learner and the learners inside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def layers(learner: Any) -> Iterator[Any]:
    """A learner, the one inside it, and so on to the one that is around none."""
    yield learner
    while getattr(learner, "is_around", False):
        learner = learner.inner
        yield learner


def unwrap(learner: Any) -> Any:
    """The learner inside all that is around it.

    >>> from goalbound import LRCSSP, ContextBlind, Support
    >>> inner = LRCSSP(Support.full(2, 2), 1, loss_floor=0.1)
    >>> unwrap(ContextBlind(inner)) is inner, unwrap(inner) is inner
    (True, True)
    """
    *_, inside = layers(learner)
    return inside
