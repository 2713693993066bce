"""Argument checks. Data from outside is checked once, here, and trusted afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ArgumentError, InputError, ModelError

T = TypeVar("T")

MOST_COUNTED = 2**31 - 1
"""States, actions, components and steps are numbered by 32 bits."""
MOST_ENTRIES = 2**36
"""The most numbers that are allocated at once: 512 GiB."""
ROW_TOLERANCE = 1e-9
"""How far a row of probabilities may sum from 1 before it is an error."""


def readonly_copy(array: NDArray[Any], dtype: type) -> NDArray[Any]:
    """A read-only, contiguous copy; the array itself if it is that already and no writable view of it exists."""
    if array.dtype == dtype and array.flags.c_contiguous and not is_writable(array):
        return array
    copy: NDArray[Any] = np.array(array, dtype=dtype, order="C")
    copy.flags.writeable = False
    return copy


def is_writable(array: Any) -> bool:
    """Whether the array, or one that it is a view of, can be written to."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return True
        array = array.base
    return False


def set_readonly(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array that has no other owner read-only, in place; returns it."""
    array.flags.writeable = False
    return array


def restore_readonly(data: Any, state: dict[str, Any]) -> None:
    """``__setstate__`` of frozen dataclasses: copies have read-only arrays, as the original has.

    :mod:`copy` and :mod:`pickle` make arrays that can be written to.
    """
    for value in state.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    vars(data).update(state)


def share_frozen(data: Any, memo: dict[int, Any]) -> Any:
    """``__deepcopy__`` of frozen dataclasses: they never change, so each is its own copy."""
    return data


def short_repr(value: object, most: int = 80) -> str:
    """The repr of a wrong value for an error message: shortened, or its type where repr fails."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # repr may fail in any way; int has a limit of digits
        text = f"a value of the type {type(value).__name__}"
    return text if len(text) <= most else f"{text[:most]}..."


def check_type(value: object, wanted: type[T], name: str, remedy: str) -> T:
    """The value if it is of the type; else an error with the remedy."""
    if not isinstance(value, wanted):
        raise ArgumentError(f"{name} is of the type {type(value).__name__}; {remedy}")
    return value


def as_numeric_array(values: Any, name: str, meaning: str) -> NDArray[Any]:
    """The values as a NumPy array of real numbers or of objects; else an error."""
    try:
        array = np.asarray(values)
    except Exception as error:  # __array__ may raise anything
        raise ArgumentError(f"{name} is not an array of numbers ({error!s:.200}); it needs {meaning}") from None
    if array.dtype.kind not in "biufO":
        raise ArgumentError(f"{name} is not an array of numbers ({short_repr(values)}); it needs {meaning}")
    return array


def check_int_array(values: ArrayLike, name: str, dtype: type) -> NDArray[Any]:
    """A one-dimensional array of whole numbers that fit the type."""
    array = as_numeric_array(values, name, "whole numbers")
    if array.ndim != 1:
        raise ArgumentError(f"{name} has {array.ndim} dimensions; it needs one")
    if array.dtype.kind not in "iu":
        if array.size and array.dtype.kind != "f":
            raise ArgumentError(f"{name} holds {array.dtype}; it needs whole numbers")
        if array.size and not np.array_equal(array, np.rint(array)):
            raise ArgumentError(f"{name} holds {array[array != np.rint(array)][0]}; it needs whole numbers")
    limit = np.iinfo(dtype)
    if array.size and (array.min() < limit.min or array.max() > limit.max):
        raise ArgumentError(f"{name} holds {array.max()}, which does not fit {np.dtype(dtype).name}")
    return array


def check_int(value: object, what: str, *, least: int | None = None, most: int | None = None) -> int:
    """A whole number, from Python or NumPy, not below ``least`` nor above ``most`` where these are given."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ArgumentError(f"{what} {short_repr(value)} is not a whole number")
    if (least is not None and value < least) or (most is not None and value > most):
        limits = f"from {least} on" if most is None else f"to {most}" if least is None else f"from {least} to {most}"
        raise ArgumentError(f"{what} {short_repr(value)} does not fit; it is a whole number {limits}")
    return int(value)


def check_size(value: object, name: str, meaning: str, *, most: int = MOST_COUNTED) -> int:
    """A count or a length: at least 1, and at most ``most``."""
    size = check_int(value, name)
    if size < 1:
        raise ArgumentError(f"{name} is {short_repr(size)}; {meaning}")
    if size > most:
        raise ArgumentError(f"{name} is {short_repr(size)}, which is more than the {most} that can be numbered")
    return size


def check_memory(entries: int, name: str, *, most: int = MOST_ENTRIES) -> None:
    """An error if more numbers would be allocated at once than any machine can hold."""
    if entries > most:
        raise ArgumentError(f"{name} is too large: more than {most:.1e} numbers would have to be kept at once")


def check_float(value: object, name: str, meaning: str) -> float:
    """A number, from Python or NumPy, as a float; infinity and NaN pass, and are for the caller to refuse."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise ArgumentError(
            f"{name} is {short_repr(value)}, of the type {type(value).__name__}; it is a number: {meaning}"
        )
    try:
        return float(value)
    except OverflowError:
        raise ArgumentError(f"{name} is {short_repr(value)}, which is too large; it is {meaning}") from None


def check_fraction(value: object, name: str, meaning: str) -> float:
    """A number strictly between 0 and 1, from Python or NumPy."""
    if not 0.0 < (found := check_float(value, name, meaning)) < 1.0:
        raise ArgumentError(f"{name} {short_repr(value)} is not between 0 and 1; it is {meaning}")
    return found


def check_bool(value: object, name: str) -> bool:
    """True or False, from Python or NumPy."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(f"{name} is {short_repr(value)}; it is True or False")
    return bool(value)


def check_callable(value: object, name: str, meaning: str) -> None:
    """An error unless the value can be called."""
    if not callable(value):
        raise ArgumentError(f"{name} is {short_repr(value)}; it is {meaning}")


def check_generator(value: object, name: str = "rng") -> np.random.Generator:
    """A NumPy random generator; else an error."""
    return check_type(value, np.random.Generator, name, "it is a generator: np.random.default_rng(seed)")


def generator_from_seed(seed: object, name: str = "seed") -> np.random.Generator:
    """The generator of a seed, a whole number from 0 on; a generator is returned unchanged."""
    if isinstance(seed, np.random.Generator):
        return seed
    if check_int(seed, name) < 0:
        raise ArgumentError(f"{name} {short_repr(seed)} is negative; it is a whole number from 0 on")
    return np.random.default_rng(seed)  # type: ignore[arg-type]


def check_list(values: Any, name: str, meaning: str) -> list[Any]:
    """Any iterable but a string, as a list."""
    if isinstance(values, str | bytes):
        raise ArgumentError(f"{name} is {short_repr(values)}; it is {meaning}")
    try:
        return list(values)
    except TypeError:
        raise ArgumentError(f"{name} is of the type {type(values).__name__}; it is {meaning}") from None


def check_array(values: ArrayLike, name: str, shape: tuple[int | None, ...], meaning: str) -> NDArray[np.float64]:
    """An array of float64 of the shape given (None: any size), or an error that says what it should have been."""
    try:
        array = as_numeric_array(values, name, meaning).astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise ArgumentError(f"{name} is not an array of numbers ({error}); it needs {meaning}") from None
    if array.ndim != len(shape) or any(
        want is not None and have != want for want, have in zip(shape, array.shape, strict=True)
    ):
        raise ArgumentError(f"{name} has shape {array.shape}; it needs {meaning}")
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
        raise ArgumentError(f"{place(at)}: {what} {values[at]} is not in [{low:g}, {high:g}]{remedy}")


def normalise_rows(
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


def check_distribution(values: ArrayLike, name: str, size: int, of: str) -> NDArray[np.float64]:
    """A point of the simplex: finite, not negative, sum 1 within 1e-9, then divided by its sum."""
    if isinstance(values, Mapping):
        raise ArgumentError(
            f"{name} is a mapping, and the names of the {of}s are not known here; give {size} numbers in their order, "
            "such as problem.check_context({...}) makes of names"
        )
    array = check_array(values, name, (size,), f"{size} numbers, one per {of}")
    inside = array.min(initial=0.0) >= 0.0 and array.max(initial=0.0) <= 1.0  # false for NaN
    if not inside:
        check_range(array, 0.0, 1.0, "weight", lambda at: f"{name}[{at[0]}]", slack=ROW_TOLERANCE)
    total = float(array.sum())
    if abs(total - 1.0) > ROW_TOLERANCE:
        raise ArgumentError(f"{name} sums to {total:.12g}, not 1; it is a distribution over the {size} {of}s")
    return array if inside and abs(total - 1.0) <= (size + 4) * 2.0**-52 else array / total


def check_names(names: Sequence[str] | None, size: int, name: str, reserved: str | None) -> tuple[str, ...] | None:
    """``size`` names, all different, none reserved."""
    if names is None:
        return None
    given = [] if isinstance(names, str) else check_list(names, name, "a sequence of strings")
    if isinstance(names, str) or not all(isinstance(one, str) for one in given):
        raise ArgumentError(f"{name} must be a sequence of strings")
    if len(given) != size:
        raise ArgumentError(f"{name} has {len(given)} names for {size}")
    seen: set[str] = set()
    for one in given:
        if one == reserved:
            raise ArgumentError(f'"{one}" in {name} is reserved; name that state otherwise')
        if one in seen:
            raise ArgumentError(f'"{one}" appears twice in {name}; names must differ')
        seen.add(one)
    return tuple(given)
