"""Learn to reach the goal, with bounds: linear contextual stochastic shortest path problems.

Names are loaded when first used, so that ``import goalbound`` is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goalbound.models import SSP, Builder, FileFormatError, LinearCSSP, ModelError, Step, Support
    from goalbound.planning import (
        Evaluation,
        NoProperPolicy,
        Solution,
        Status,
        blocking_states,
        evaluate,
        hitting_times,
        is_proper,
        solve,
    )

__version__ = "0.1.0"

_HOMES = {
    "Builder": "goalbound.models",
    "FileFormatError": "goalbound.models",
    "LinearCSSP": "goalbound.models",
    "ModelError": "goalbound.models",
    "SSP": "goalbound.models",
    "Step": "goalbound.models",
    "Support": "goalbound.models",
    "Evaluation": "goalbound.planning",
    "NoProperPolicy": "goalbound.planning",
    "Solution": "goalbound.planning",
    "Status": "goalbound.planning",
    "blocking_states": "goalbound.planning",
    "evaluate": "goalbound.planning",
    "hitting_times": "goalbound.planning",
    "is_proper": "goalbound.planning",
    "solve": "goalbound.planning",
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
