"""Checks of arrays that were read from a file: their form, and the range of their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from goalbound.errors import FileFormatError
from goalbound.jit.records import field_arrays

MANY = np.iinfo(np.int64).max // 4
"""More than is ever counted."""
LARGEST = np.finfo(np.float64).max
HUGE = 2.0**500
"""More than any number that is learned; its square is still a number."""
_MAY_BE_INFINITE = (".backup", ".residual", ".mass")  # where value iteration knows nothing yet; NO_GOAL


def matching(arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """The array of a name, which must have this shape and type; squares of its real numbers are finite, unless it is
    one that may be infinite."""
    if name not in arrays:
        raise FileFormatError(f"{name} is missing")
    array = arrays[name]
    if array.dtype != dtype:
        raise FileFormatError(f"{name} holds {array.dtype} numbers; it needs {np.dtype(dtype)}")
    if array.shape != shape:
        raise FileFormatError(f"{name} has shape {array.shape}; the support asks for {shape}")
    if array.dtype == np.float64:
        fine = ~np.isnan(array) if name.endswith(_MAY_BE_INFINITE) else np.abs(array) <= HUGE
        if not fine.all():
            raise FileFormatError(f"{name} holds {array[~fine][0]}")
    return array


def within(name: str, array: NDArray[Any], low: Any, high: Any) -> None:
    """An error unless all entries are in a range: every number that kernels use as an index lies where it must."""
    fine = (array >= low) & (array <= high)
    if not fine.all():
        raise FileFormatError(f"{name} holds {array[~fine][0]}, which is out of range")


def within_record(name: str, record: np.void | NDArray[np.void], **limits: tuple[Any, Any]) -> None:
    """:func:`within` for every field of a record, or of an array of them; a field without limits is not negative."""
    for field, array in field_arrays(record).items():
        most = LARGEST if array.dtype == np.float64 else MANY
        may_be_infinite = f".{field}".endswith(_MAY_BE_INFINITE)
        within(f"{field} of {name}", array, *limits.get(field, (0, np.inf if may_be_infinite else most)))


def around(middle: Any, by: Any) -> tuple[Any, Any]:
    """The range of all numbers that are at most ``by`` from ``middle``."""
    return middle - by, middle + by
