"""Problems: the support, one problem, a contextual problem, sets of plausible ones, and their files."""

from goalbound.models.builder import Builder
from goalbound.models.confidence_set import BallSet, IntervalSet
from goalbound.models.linear_cssp import LinearCSSP
from goalbound.models.loss_scale import LossScale
from goalbound.models.ssp import SSP
from goalbound.models.step import Step
from goalbound.models.support import GOAL, Support

__all__ = [
    "GOAL",
    "SSP",
    "BallSet",
    "Builder",
    "IntervalSet",
    "LinearCSSP",
    "LossScale",
    "Step",
    "Support",
]
