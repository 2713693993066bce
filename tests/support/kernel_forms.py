"""Kernels as Python, and compiled from the first call on."""

from __future__ import annotations

from typing import Any
from unittest import mock

from goalbound.jit import compile as compilation

PYTHON: dict[str, Any] = {"TOY_WORK": 10**18, "_ready": compilation.python}
"""Run all kernels as Python: ``with kernels(PYTHON): ...``"""

COMPILED: dict[str, Any] = {"TOY_WORK": -1}
"""Run all kernels compiled."""


def kernels(way: dict[str, Any]) -> Any:
    """Inside, kernels run this way."""
    return mock.patch.multiple(compilation, **way)
