"""From steps to plausible models: sums, ridge estimates, their projection, confidence sets."""

from typing import TYPE_CHECKING

from goalbound.lazy import load_on_use

if TYPE_CHECKING:
    from goalbound.confidence.balls import confidence_set
    from goalbound.confidence.estimate import Estimate, project, ridge_estimate
    from goalbound.confidence.statistics import Statistics
    from goalbound.confidence.widths import IntervalPieces, Widths, likelihood, paper, printed, scaled, sharp

__all__ = [
    "Estimate",
    "IntervalPieces",
    "Statistics",
    "Widths",
    "confidence_set",
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
        "goalbound.confidence.statistics": "Statistics",
        "goalbound.confidence.widths": "IntervalPieces Widths likelihood paper printed scaled sharp",
    },
)
