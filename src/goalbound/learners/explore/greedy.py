"""No exploration: the best policy of the estimate."""

from __future__ import annotations

from dataclasses import dataclass

from goalbound.learners.explore.protocol import ExplorationRule, check_rule

CEILING = 1000.0
"""Estimates may have no way to the goal under some context, so values of plans are capped."""


@dataclass(frozen=True)
class Greedy(ExplorationRule):
    """Plan in the estimate as it is.

    Attributes:
        ceiling: no value of a plan is above it.
    """

    ceiling: float = CEILING
    name = "greedy"

    def __post_init__(self) -> None:
        check_rule(self)
