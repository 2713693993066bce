"""Exploration by chance: now and then any action of the state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.protocol import Run
from goalbound.jit.compile import lean
from goalbound.jit.struct import Struct
from goalbound.learners.explore.greedy import CEILING
from goalbound.learners.explore.protocol import ExplorationRule, ExploreSlots, check_rule
from goalbound.models.simulated import uniform_pair


class EpsilonConstants(Struct):
    """How often any action is played."""

    explore: float
    """share of steps, in the first episode, that play any pair"""
    fade: float
    """in episode k it is explore * k^-fade"""


@lean
def select_any(constants, view, state, rng):
    """The pair of the plan, or now and then any."""
    rule = constants.explore
    if rng.random() < rule.explore * view.progress["number"] ** -rule.fade:
        return uniform_pair(constants.pair_start, state, rng.random())
    return view.iteration.policy[state]


SLOTS = ExploreSlots(select=select_any)


@dataclass(frozen=True)
class Epsilon(ExplorationRule):
    """Plan in the estimate; in episode k a share explore * k^-fade of the steps plays any action of the state.

    Attributes:
        explore: the share of steps in the first episode, in [0, 1].
        fade: how fast it falls.
        ceiling: no value of a plan is above it.
    """

    explore: float
    fade: float
    ceiling: float = CEILING
    name = "epsilon"

    def __post_init__(self) -> None:
        check_rule(self)

    @property
    def draws(self) -> bool:  # type: ignore[override]
        """Unless it never explores."""
        return self.explore > 0.0

    def constants(self, run: Run) -> EpsilonConstants:
        """The share and its fading."""
        return EpsilonConstants(self.explore, self.fade)

    def slots(self, constants: Any) -> ExploreSlots:
        """Those that play any pair now and then."""
        return SLOTS if self.draws else ExploreSlots()

    def select_among(self, learner: Any, view: Any, state: int, allowed: NDArray[np.int64]) -> int:
        """Any of the possible pairs now and then."""
        number = int(view.progress["number"])
        if self.explore > 0.0 and learner._rng.random() < self.explore * number**-self.fade:
            return int(allowed[int(learner._rng.random() * len(allowed))])
        planned = int(view.iteration.policy[state])
        return planned if planned in allowed else int(learner.best_pair(view, allowed))

    def card_numbers(self) -> dict[str, float]:
        """The share and its fading."""
        return {"explore": self.explore, "fade": self.fade}

    def describe(self) -> list[str]:
        """The share and its fading."""
        return [f"explore {self.explore:.3g}", f"fade {self.fade:.3g}"]
