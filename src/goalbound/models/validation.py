"""Checks at the door. Data from outside is looked at once, here, and then trusted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.models.errors import ModelError

ROW_TOLERANCE = 1e-9
"""How far a row of probabilities may sum from 1 before it is an error."""


def frozen(array: NDArray[Any], dtype: type) -> NDArray[Any]:
    """The array as read-only and contiguous; copied unless it is that already and nobody can write to it."""
    if array.dtype == dtype and array.flags.c_contiguous and not _writable(array):
        return array
    copy: NDArray[Any] = np.array(array, dtype=dtype, order="C")
    copy.flags.writeable = False
    return copy


def _writable(array: Any) -> bool:
    """Whether the array, or one that it is a view of, can be written to."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return True
        array = array.base
    return False


def sealed(array: NDArray[Any]) -> NDArray[Any]:
    """An array nobody else holds, made read-only in place."""
    array.flags.writeable = False
    return array


def integers(values: ArrayLike, name: str, dtype: type) -> NDArray[Any]:
    """A one-dimensional array of whole numbers that fit the type."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ModelError(f"{name} has {array.ndim} dimensions; it needs one")
    if array.dtype.kind not in "iu":
        if array.size and array.dtype.kind != "f":
            raise ModelError(f"{name} holds {array.dtype}; it needs whole numbers")
        if array.size and not np.array_equal(array, np.rint(array)):
            raise ModelError(f"{name} holds {array[array != np.rint(array)][0]}; it needs whole numbers")
    limit = np.iinfo(dtype)
    if array.size and (array.min() < limit.min or array.max() > limit.max):
        raise ModelError(f"{name} holds {array.max()}, which does not fit {np.dtype(dtype).name}")
    return array


def whole(value: object, what: str) -> int:
    """A whole number, from Python or NumPy."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ModelError(f"{what} {value!r} is not a whole number")
    return int(value)


def fraction(value: object, name: str, meaning: str) -> float:
    """A number strictly between 0 and 1, from Python or NumPy."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.floating) or not 0.0 < value < 1.0:
        raise ModelError(f"{name} {value!r} is not between 0 and 1; it is {meaning}")
    return float(value)


def numbers(values: ArrayLike, name: str, shape: tuple[int | None, ...], meaning: str) -> NDArray[np.float64]:
    """An array of float64 of the shape given (None: any size), or an error that says what it should have been."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name} is not an array of numbers ({error}); it needs {meaning}") from None
    if array.ndim != len(shape) or any(
        want is not None and have != want for want, have in zip(shape, array.shape, strict=True)
    ):
        raise ModelError(f"{name} has shape {array.shape}; it needs {meaning}")
    return array


def check_range(
    values: NDArray[np.float64],
    low: float,
    high: float,
    what: str,
    place: Callable[[tuple[int, ...]], str],
    *,
    slack: float = 0.0,
) -> None:
    """Every value is a number in [low, high], up to ``slack`` above; else an error that names the place and value."""
    good = (values >= low) & (values <= high + slack)  # false for NaN
    if not good.all():
        at = tuple(int(i) for i in np.argwhere(~good)[0])
        remedy = "; divide all losses by the largest, and give that as loss_scale" if what == "loss" else ""
        raise ModelError(f"{place(at)}: {what} {values[at]} is not in [{low:g}, {high:g}]{remedy}")


def normalised_rows(
    probabilities: NDArray[np.float64], next_start: NDArray[np.int64], place: Callable[[tuple[int, ...]], str]
) -> NDArray[np.float64]:
    """Rows that sum to 1 within 1e-9, divided by their sum; anything worse is an error naming the row and its sum.

    Shape [M] or [M, d]; rows are ``next_start[i]:next_start[i + 1]``. A row that already sums to 1 up to rounding
    is left as it is, so that reading back what was written changes nothing.
    """
    sums = np.add.reduceat(probabilities, next_start[:-1], axis=0)
    off = np.abs(sums - 1.0)
    if (off > ROW_TOLERANCE).any():
        at = tuple(int(i) for i in np.argwhere(off > ROW_TOLERANCE)[0])
        raise ModelError(
            f"{place(at)}: probabilities sum to {sums[at]:.12g}, not 1; "
            "each row is a distribution over the S + 1 next states, the goal last"
        )
    sizes = np.diff(next_start).astype(np.float64)
    rounding = (sizes + 4.0) * 2.0**-52
    if probabilities.ndim == 2:
        rounding = rounding[:, None]
    crooked = off > rounding
    if (probabilities > 1.0).any():
        crooked |= np.maximum.reduceat(probabilities, next_start[:-1], axis=0) > 1.0
    if not crooked.any():
        return probabilities
    return probabilities / np.repeat(np.where(crooked, sums, 1.0), np.diff(next_start), axis=0)


def distribution(values: ArrayLike, name: str, size: int, of: str) -> NDArray[np.float64]:
    """A point of the simplex: finite, not negative, sum 1 within 1e-9, then divided by its sum."""
    array = numbers(values, name, (size,), f"{size} numbers, one per {of}")
    check_range(array, 0.0, 1.0, "weight", lambda at: f"{name}[{at[0]}]", slack=ROW_TOLERANCE)
    total = float(array.sum())
    if abs(total - 1.0) > ROW_TOLERANCE:
        raise ModelError(f"{name} sums to {total:.12g}, not 1; it is a distribution over the {size} {of}s")
    straight = abs(total - 1.0) <= (size + 4) * 2.0**-52 and array.max(initial=0.0) <= 1.0
    return array if straight else array / total


def check_names(names: Sequence[str] | None, size: int, name: str, reserved: str | None) -> tuple[str, ...] | None:
    """Names, one per thing, all different, none reserved."""
    if names is None:
        return None
    if isinstance(names, str) or not all(isinstance(one, str) for one in names):
        raise ModelError(f"{name} must be a sequence of strings")
    if len(names) != size:
        raise ModelError(f"{name} has {len(names)} names for {size}")
    seen: set[str] = set()
    for one in names:
        if one == reserved:
            raise ModelError(f'"{one}" in {name} is reserved; name that state otherwise')
        if one in seen:
            raise ModelError(f'"{one}" stands twice in {name}; names must differ')
        seen.add(one)
    return tuple(names)
