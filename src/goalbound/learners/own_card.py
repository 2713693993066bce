"""How a learner comes to its card (:mod:`goalbound.learners.card`, which is loaded when somebody asks): what describes
its class, and the reasons why nothing is proven of what it has learned."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from goalbound.errors import ArgumentError
from goalbound.models.validation import short_repr

if TYPE_CHECKING:
    from goalbound.learners.card import LearnerCard

LONGEST = 1000
"""The most characters of one reason."""
MOST = 1000
"""The most reasons of one learner."""
SILENT_OVERRIDE = (
    "a step was reported with another action than the proposed one, which episode.begins(action) had not said, while "
    "other episodes were open or after others were learned from (which steps are reported early may depend on their "
    "outcomes)"
)
"""That of a learner with confidence sets, whose proof needs visits to count in the order in which they begin."""


class Card:
    """``card = Card(describe)`` in a class: a learner of exactly this class has the card ``describe(learner)``; a text
    names a function of :mod:`goalbound.learners.card`.

    A subclass may do anything else, so it has that of a third party until it says what it is.

    >>> from goalbound import LearnerCard
    >>> class Uniform:
    ...     card = Card(lambda learner: LearnerCard(sees="nothing", guarantee="none"))
    >>> class Tuned(Uniform):
    ...     pass
    >>> Uniform().card.guarantee, Tuned().card.guarantee
    ('none', 'unknown')
    """

    def __init__(self, describe: str | Callable[[Any], LearnerCard]) -> None:
        self._describe = describe
        self.__doc__ = "What the learner is: see :class:`goalbound.learners.card.LearnerCard`."

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner = owner

    def __get__(self, learner: Any, owner: type | None = None) -> Any:
        if learner is None:
            return self
        cards = import_module("goalbound.learners.card")
        if type(learner) is not self._owner:
            return cards.THIRD_PARTY
        describe = self._describe
        return getattr(cards, describe)(learner) if isinstance(describe, str) else describe(learner)


def checked_caveats(reasons: Any, name: str) -> tuple[str, ...]:
    """The reasons, each once, in their order; an error names ``name`` unless each is a text that is not empty.

    >>> checked_caveats(["the support was inferred", "the support was inferred"], "caveats")
    ('the support was inferred',)
    """
    if isinstance(reasons, str) or not isinstance(reasons, tuple | list):
        raise ArgumentError(f"{name} is {short_repr(reasons)}; it is a list of texts, empty where nothing is wrong")
    for one in reasons:
        if not isinstance(one, str) or not one.strip() or len(one) > LONGEST:
            raise ArgumentError(
                f"{name} holds {short_repr(one)}; each reason is a text of 1 to {LONGEST} characters, without a full "
                "stop"
            )
    found = tuple(dict.fromkeys(map(str, reasons)))
    if len(found) > MOST:
        raise ArgumentError(f"{name} holds {len(found)} reasons; there are at most {MOST}: sum them up")
    return found


def united_caveats(*of_learners: Iterable[str]) -> tuple[str, ...]:
    """All reasons of several learners, each once.

    >>> united_caveats(("a", "b"), ("b", "c"))
    ('a', 'b', 'c')
    """
    return tuple(dict.fromkeys(one for reasons in of_learners for one in reasons))[:MOST]
