"""A learner and the learners inside it; and one that begins anew, with the settings of another and all around it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from goalbound.errors import ArgumentError


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


def made_anew(learner: Any) -> Any:
    """A learner with the same settings, and all that is around it, that has seen nothing.

    >>> from goalbound import GreedyRidge, Step, Support
    >>> learner = GreedyRidge(Support.full(2, 2), 1, loss_floor=0.1)
    >>> learner.learn([1.0], Step(0, 0, 0.5, 1))
    >>> made_anew(learner)
    GreedyRidge(2 states, 4 pairs, 12 next states, 1 components, 0 steps)
    """
    anew = getattr(learner, "anew", None)
    if anew is None:
        raise ArgumentError(
            f"a {type(learner).__name__} cannot be made anew; make one that has seen nothing, and let it learn"
        )
    return anew()


def learned_since(learner: Any, log: Any, time: Any) -> Any:
    """A learner like another one that has learned the steps of a log from a time on, and nothing else."""
    window = getattr(log, "window", None)
    if window is None:
        raise ArgumentError(
            f"log is of the type {type(log).__name__}; give a Log of read_log, which knows when its steps were made"
        )
    fresh = made_anew(learner)
    fresh.learn_log(window(since=time))
    return fresh
