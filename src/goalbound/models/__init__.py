"""Problems: the support, one problem, a contextual problem, sets of plausible ones, and their files."""

from typing import TYPE_CHECKING

from goalbound.lazy import load_on_use

if TYPE_CHECKING:
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

load_on_use(
    __name__,
    {
        "goalbound.models.builder": "Builder",
        "goalbound.models.confidence_set": "BallSet IntervalSet",
        "goalbound.models.linear_cssp": "LinearCSSP",
        "goalbound.models.loss_scale": "LossScale",
        "goalbound.models.ssp": "SSP",
        "goalbound.models.step": "Step",
        "goalbound.models.support": "GOAL Support",
    },
)
