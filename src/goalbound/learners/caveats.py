"""Reasons why what was learned proves nothing, whatever the widths of the confidence sets.

A learner keeps them for good: in its files, in its copies, and in every learner that takes over its data.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from goalbound.errors import ArgumentError
from goalbound.models.validation import short_repr

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
