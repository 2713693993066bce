"""Learners with a unit."""

from typing import Any

from goalbound.models import LossScale


def in_units(learner: Any, scale: LossScale) -> Any:
    """The learner, which takes and shows losses in a unit from now on."""
    learner.loss_scale = scale
    return learner
