"""KWIK-Rmax (Modi et al., 2018): the estimate where it is known, else straight to the goal."""

from __future__ import annotations

from dataclasses import dataclass
from math import e, log, sqrt
from typing import Any

from goalbound.confidence.points import POINT_SLOTS, Points, estimated_row
from goalbound.confidence.protocol import Run
from goalbound.errors import ArgumentError
from goalbound.jit.compile import lean
from goalbound.jit.struct import Struct
from goalbound.learners.explore.greedy import CEILING
from goalbound.learners.explore.protocol import ExplorationRule, ExploreSlots, check_rule
from goalbound.models.validation import check_float, check_fraction, check_size

LOG_2 = 0.6931471805599


class KwikConstants(Struct):
    """When a pair is known."""

    threshold: float
    """where the sum of |V^-1 c| is at most this"""


@lean
def l1_width(inverse, context):
    """The sum of |V^-1 c|."""
    total = 0.0
    for r in range(len(context)):
        part = 0.0
        for c in range(len(context)):
            part += inverse[r, c] * context[c]
        total += abs(part)
    return total


@lean
def kwik_row(constants, state, view, pair):
    """The estimated row of a known pair; any other leads straight to the goal, at its loss floor."""
    sets = view.sets
    sets.ball[pair] = 0.0
    estimated_row(constants, state, view, pair)
    width = l1_width(state.regression.inverse[pair], view.context)
    if width > constants.explore.threshold:
        sets.used[pair] = 0
        sets.mass[pair] = 0.0
        sets.losses[pair] = constants.declared.floor[pair]
    return width


@lean
def kwik_width(constants, state, view, pair, low, high, width):
    """The sum of |V^-1 c|."""
    return l1_width(state.regression.inverse[pair], view.context)


@lean
def is_known_by_threshold(constants, state, view, pair):
    """Whether the sum of |V^-1 c| is at most the threshold."""
    return view.known_width[pair] <= constants.explore.threshold


@lean
def outgrown_at_twice(constants, state, view, pair, known):
    """As by the paper's rule where the pair is not known. What is known here is not known for sure, so it may not go
    round for ever: a new plan is due when its determinant has doubled."""
    grown = state.log_det[pair] - view.log_det[pair]
    enough = LOG_2 if known else constants.growth
    return grown >= enough or grown < 0.0


ROOM = Points(
    POINT_SLOTS._replace(
        row_set=kwik_row, known_width=kwik_width, loss_width=kwik_width, is_known=is_known_by_threshold
    )
)
SLOTS = ExploreSlots(outgrown=outgrown_at_twice)


@dataclass(frozen=True)
class Kwik(ExplorationRule):
    """Plan in the estimate where it is known; a pair that is not leads straight to the goal, at the loss floor.

    Attributes:
        threshold: a pair is known under a context c where the sum of |V^-1 c| is at most this.
        ceiling: no value of a plan is above it.
    """

    threshold: float
    ceiling: float = CEILING
    name = "rmax"

    def __post_init__(self) -> None:
        check_rule(self)

    def constants(self, run: Run) -> KwikConstants:
        """The threshold."""
        return KwikConstants(self.threshold)

    def room(self, constants: Any) -> Points:
        """Estimates of known pairs."""
        return ROOM

    def slots(self, constants: Any) -> ExploreSlots:
        """Those that plan anew at known pairs too."""
        return SLOTS

    def card_numbers(self) -> dict[str, float]:
        """The threshold."""
        return {"threshold": self.threshold}

    def describe(self) -> list[str]:
        """The threshold."""
        return [f"threshold {self.threshold:.3g}"]


def kwik_threshold(context_size: int, *, accuracy: float, delta: float) -> float:
    """Return the width at which online linear regression knows an answer to within ``accuracy``, with probability
    1 - delta: min(a^2 / d^(3/2), a^2 / (sqrt(d) log(max(d, e) / delta)), a / (2 sqrt(d))).

    Source: Strehl and Littman (2007), as used by Modi et al. (2018); their text leaves two constants open, which are 1
    here.
    """
    context_size = check_size(context_size, "context_size", "a context has at least one entry")
    delta = check_fraction(delta, "delta", "the probability of failure allowed")
    accuracy = check_float(accuracy, "accuracy", "the error of a probability that is let pass, in (0, 1]")
    if not 0.0 < accuracy <= 1.0:
        raise ArgumentError(f"accuracy {accuracy} is not in (0, 1]; it is the error of a probability that is let pass")
    root, square = sqrt(context_size), accuracy * accuracy
    return min(square / root**3, square / (root * log(max(context_size, e) / delta)), accuracy / (2.0 * root))
