"""Experiments: a file that says what to compare, runs, records, and their summary.

Names are loaded when first used: they need the extra ``experiments``.
"""

from typing import TYPE_CHECKING, Any

from goalbound.extras import missing_library

if TYPE_CHECKING:
    from goalbound.experiments.results import Results, load

__all__ = ["Results", "load"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        try:
            from goalbound.experiments import results
        except ModuleNotFoundError as error:
            raise missing_library(error) from error
        return getattr(results, name)
    raise AttributeError(f"module 'goalbound.experiments' has no attribute {name!r}")
