"""From the arrays of a file to those of a learner, each checked on its way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import FileFormatError
from goalbound.kernels.records import field_arrays

CODES = {
    np.dtype(np.float64): "<f8", np.dtype(np.int64): "<i8", np.dtype(np.int32): "<i4", np.dtype(np.bool_): "|b1",
}  # fmt: skip
"""The types that arrays of learners have, as files name them."""
MANY = np.iinfo(np.int64).max // 4
"""More than is ever counted."""
_MAY_BE_INFINITE = (".backup", ".residual", ".mass")  # where value iteration knows nothing yet; NO_GOAL


def fill(targets: Iterable[tuple[str, NDArray[Any]]], arrays: dict[str, NDArray[Any]]) -> None:
    """Every target takes the numbers of the array of its name; one that is missing or does not fit is an error."""
    for name, target in targets:
        if name not in arrays:
            raise FileFormatError(f"{name} is missing")
        if arrays[name].shape != target.shape:
            raise FileFormatError(f"{name} has shape {arrays[name].shape}; the support asks for {target.shape}")
        if target.dtype == np.float64:
            fine = ~np.isnan(arrays[name]) if name.endswith(_MAY_BE_INFINITE) else np.isfinite(arrays[name])
            if not fine.all():
                raise FileFormatError(f"{name} holds {arrays[name][~fine][0]}")
        target[...] = arrays[name]


def within(name: str, array: NDArray[Any], low: Any, high: Any) -> None:
    """Every number that kernels use as an index lies where it must."""
    if not ((array >= low) & (array <= high)).all():
        raise FileFormatError(f"{name} holds {array[(array < low) | (array > high)][0]}, which is out of range")


def within_record(name: str, record: np.void, **limits: tuple[float, float]) -> None:
    """Every field of a record is between its limits, or not negative where none are given."""
    for field, array in field_arrays(record).items():
        most = np.finfo(np.float64).max if array.dtype == np.float64 else MANY
        may_be_infinite = f".{field}".endswith(_MAY_BE_INFINITE)
        within(f"{field} of {name}", array, *limits.get(field, (0, np.inf if may_be_infinite else most)))
