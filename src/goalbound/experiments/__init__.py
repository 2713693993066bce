"""Experiments: a file that says what to compare, runs, records, and their summary.

Names are loaded when first used: they need the extra ``experiments``.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goalbound.experiments.results import Results, load

__all__ = ["Results", "load"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from goalbound.experiments import results

        return getattr(results, name)
    raise AttributeError(f"module 'goalbound.experiments' has no attribute {name!r}")
