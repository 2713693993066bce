"""Learn to reach the goal, with bounds: linear contextual stochastic shortest path problems.

Names are loaded when first used, so that ``import goalbound`` is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goalbound.models import SSP, Builder, FileFormatError, LinearCSSP, ModelError, Step, Support

__version__ = "0.1.0"

_HOMES = {
    "Builder": "goalbound.models",
    "FileFormatError": "goalbound.models",
    "LinearCSSP": "goalbound.models",
    "ModelError": "goalbound.models",
    "SSP": "goalbound.models",
    "Step": "goalbound.models",
    "Support": "goalbound.models",
}

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'goalbound' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
