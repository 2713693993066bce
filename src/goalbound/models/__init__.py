"""Problems: the support, one problem, a contextual problem, and their files."""

from goalbound.models.builder import Builder
from goalbound.models.errors import FileFormatError, ModelError
from goalbound.models.linear_cssp import LinearCSSP
from goalbound.models.ssp import SSP
from goalbound.models.step import Step
from goalbound.models.support import GOAL, Support

__all__ = ["GOAL", "SSP", "Builder", "FileFormatError", "LinearCSSP", "ModelError", "Step", "Support"]
