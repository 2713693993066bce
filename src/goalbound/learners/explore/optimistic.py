"""The paper's rule: the best policy of the most optimistic plausible model."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

from goalbound.jit.compile import lean
from goalbound.learners.explore.protocol import ExplorationRule, ExploreSlots
from goalbound.learners.loop import count_interval


@lean
def counts_unknown_steps(constants, state, view, known):
    """An unknown step begins an interval of the proof, though the plan stays."""
    if not known:
        count_interval(state, view)


@dataclass(frozen=True)
class Optimistic(ExplorationRule):
    """Plan in the most optimistic model of the confidence sets."""

    name = "optimistic"
    ceiling = inf
    is_optimistic = True

    def room(self, constants: Any) -> None:
        """The confidence model of the learner."""

    def slots(self, constants: Any) -> ExploreSlots:
        """Those that count intervals as the proof does."""
        return SLOTS

    def draw(self, learner: Any, view: Any) -> None:
        """Nothing."""

    def select(self, learner: Any, view: Any, state: int) -> int:
        """The pair of the plan."""
        return int(view.iteration.policy[state])


SLOTS = ExploreSlots(goes_on=counts_unknown_steps)
