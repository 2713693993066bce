"""Kernels as Python, and compiled from the first call on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

from goalbound.jit import compile as compilation


def python(kernel: compilation.Kernel) -> Callable[..., Any]:
    """Run a kernel uncompiled."""
    return kernel.python


PYTHON: dict[str, Any] = {"TOY_WORK": 10**18, "_ready": python}
"""Run all kernels as Python: ``with kernels(PYTHON): ...``"""

COMPILED: dict[str, Any] = {"TOY_WORK": -1}
"""Run all kernels compiled."""


def kernels(way: dict[str, Any]) -> Any:
    """Inside, kernels run this way."""
    return mock.patch.multiple(compilation, **way)
