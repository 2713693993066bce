"""From steps to plausible models: sums, ridge estimates, their projection, confidence sets.

A confidence model of your own is a :class:`ConfidenceModel` (docs/how_to/write_a_room.md).
"""

from typing import TYPE_CHECKING

from goalbound.lazy import load_on_use

if TYPE_CHECKING:
    from goalbound.confidence.balls import confidence_set
    from goalbound.confidence.estimate import Estimate, project, ridge_estimate
    from goalbound.confidence.points import POINT_SLOTS, Points, estimated_loss, estimated_row
    from goalbound.confidence.protocol import ConfidenceModel, Counted, Run, SetSlots
    from goalbound.confidence.statistics import Statistics
    from goalbound.confidence.widths import IntervalPieces, Widths, likelihood, paper, printed, scaled, sharp

__all__ = [
    "POINT_SLOTS",
    "ConfidenceModel",
    "Counted",
    "Estimate",
    "IntervalPieces",
    "Points",
    "Run",
    "SetSlots",
    "Statistics",
    "Widths",
    "confidence_set",
    "estimated_loss",
    "estimated_row",
    "likelihood",
    "paper",
    "printed",
    "project",
    "ridge_estimate",
    "scaled",
    "sharp",
]

load_on_use(
    __name__,
    {
        "goalbound.confidence.balls": "confidence_set",
        "goalbound.confidence.estimate": "Estimate project ridge_estimate",
        "goalbound.confidence.points": "POINT_SLOTS Points estimated_loss estimated_row",
        "goalbound.confidence.protocol": "ConfidenceModel Counted Run SetSlots",
        "goalbound.confidence.statistics": "Statistics",
        "goalbound.confidence.widths": "IntervalPieces Widths likelihood paper printed scaled sharp",
    },
)
