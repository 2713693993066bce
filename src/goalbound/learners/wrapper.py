"""Learners that stand before another one, their ``inner``: what they share, and how to get at what is inside."""

from __future__ import annotations

from typing import Any

from goalbound.learners.copying import deep_copy


class InnerAttribute:
    """An attribute that is that of the learner inside (``self.inner``); one that it lacks is lacking here too.

    >>> class Shown:
    ...     visits = InnerAttribute("How often each pair was played.")
    ...     def __init__(self, inner):
    ...         self.inner = inner
    >>> Shown("no learner").visits
    Traceback (most recent call last):
    AttributeError: a Shown has the visits of the learner inside, and a str has none
    """

    def __init__(self, meaning: str) -> None:
        self.__doc__ = meaning

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, wrapper: Any, owner: type | None = None) -> Any:
        if wrapper is None:
            return self
        if not hasattr(wrapper.inner, self._name):
            raise AttributeError(
                f"a {type(wrapper).__name__} has the {self._name} of the learner inside, and a "
                f"{type(wrapper.inner).__name__} has none"
            )
        return getattr(wrapper.inner, self._name)

    def __set__(self, wrapper: Any, value: Any) -> None:
        raise AttributeError(f"{self._name} of a {type(wrapper).__name__} is that of the learner inside; set it there")


class Wrapper:
    """A learner that plays with another one, ``inner``, which does all the learning.

    A subclass has ``begin(context)`` and ``card``; and, where it can be saved, ``save(path)`` and ``restored(path)``.
    The attributes of the learner inside are attributes of the wrapper, if the learner inside has them.
    """

    inner: Any
    """The learner inside."""

    support = InnerAttribute("The pairs of the learner inside, and where each may lead.")
    open_episodes = InnerAttribute("Its episodes that were begun and have not ended; also those of a file.")
    statistics = InnerAttribute("What it has seen, under the contexts that it was shown.")
    estimate = InnerAttribute("Its estimate, for contexts as it is shown them.")
    alarm = InnerAttribute("What first contradicted its model; None while nothing has.")

    __copy__ = deep_copy  # all that learns is inside


def unwrap(learner: Any) -> Any:
    """The learner inside all wrappers; a learner that is none is itself.

    >>> from goalbound import LRCSSP, Support
    >>> from goalbound.learners.context_map import ContextBlind
    >>> inner = LRCSSP(Support.full(2, 2), 1, loss_floor=0.1)
    >>> unwrap(ContextBlind(inner)) is inner, unwrap(inner) is inner
    (True, True)
    """
    while isinstance(learner, Wrapper):
        learner = learner.inner
    return learner
