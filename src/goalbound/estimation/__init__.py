"""From steps to plausible models: sums, ridge estimates, their projection, confidence sets."""

from goalbound.estimation.confidence import confidence_set
from goalbound.estimation.estimate import Estimate, project, ridge_estimate
from goalbound.estimation.statistics import Statistics
from goalbound.estimation.widths import IntervalPieces, Widths, likelihood, paper, printed, scaled, sharp

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
