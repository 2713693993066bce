"""Learn to reach the goal, with bounds: linear contextual stochastic shortest path problems.

Names are loaded when first used, so that ``import goalbound`` is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goalbound.models import SSP, Builder, FileFormatError, LinearCSSP, ModelError, Step, Support
    from goalbound.models.files import load, save
    from goalbound.planning import (
        Bound,
        BoundStatus,
        ContextBounds,
        Evaluation,
        NoProperPolicy,
        Solution,
        Status,
        blocking_states,
        context_bounds,
        evaluate,
        hitting_times,
        is_proper,
        solve,
    )

__version__ = "0.1.0"

_NAMES = {
    "goalbound.models": ("SSP", "Builder", "FileFormatError", "LinearCSSP", "ModelError", "Step", "Support"),
    "goalbound.models.files": ("load", "save"),
    "goalbound.planning": (
        "Bound",
        "BoundStatus",
        "ContextBounds",
        "Evaluation",
        "NoProperPolicy",
        "Solution",
        "Status",
        "blocking_states",
        "context_bounds",
        "evaluate",
        "hitting_times",
        "is_proper",
        "solve",
    ),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'goalbound' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
