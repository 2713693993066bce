"""Arrays that take no negative index: arrays of indices are unsigned in compiled code, which would read elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from goalbound.jit.compile import Kernel
from goalbound.jit.struct import Struct


class Checked(np.ndarray):
    """An array whose indices are counted from its beginning."""

    def __getitem__(self, index: Any) -> Any:
        check(index)
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        check(index)
        super().__setitem__(index, value)


def check(index: Any) -> None:
    """Refuse a number, or a number among several, that is negative."""
    for one in index if isinstance(index, tuple) else (index,):
        if isinstance(one, int | np.integer) and one < 0:
            raise IndexError(f"a kernel used the index {index}; compiled code takes those below 0 as they are")


def checked(given: Any) -> Any:
    """The same memory, as arrays that check their indices."""
    if isinstance(given, np.ndarray):
        return given.view(Checked)
    if isinstance(given, Struct):
        return given._make(checked(one) for one in given)
    return given


def with_checked_indices(kernel: Kernel) -> Callable[..., Any]:
    """A kernel as Python, on arrays that check their indices."""
    return lambda *arguments: kernel.python(*[checked(one) for one in arguments])


CHECKED: dict[str, Any] = {"TOY_WORK": 10**18, "_ready": with_checked_indices}
"""Run all kernels so: ``with kernels(CHECKED): ...``"""
