"""What a learner that stands before another one passes on of it."""

from __future__ import annotations

from typing import Any


class InnerAttribute:
    """An attribute that is that of the learner inside (``self.learner``); one that it lacks is lacking here too.

    >>> class Shown:
    ...     visits = InnerAttribute("How often each pair was played.")
    ...     def __init__(self, learner):
    ...         self.learner = learner
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
        if not hasattr(wrapper.learner, self._name):
            raise AttributeError(
                f"a {type(wrapper).__name__} has the {self._name} of the learner inside, and a "
                f"{type(wrapper.learner).__name__} has none"
            )
        return getattr(wrapper.learner, self._name)

    def __set__(self, wrapper: Any, value: Any) -> None:
        raise AttributeError(f"{self._name} of a {type(wrapper).__name__} is that of the learner inside; set it there")
