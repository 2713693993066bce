"""Checks of the settings of a problem family: what is wrong, and what would be right."""

from __future__ import annotations

import numpy as np

from goalbound.errors import ArgumentError, InputError
from goalbound.models import validation
from goalbound.models.validation import check_memory, short_repr

MAX_INT = 10_000_000
"""The largest whole number that makes sense as a setting of a family."""
MAX_ENTRIES = 2**31
"""Of which a problem may be made: 16 GiB."""


def check_int(value: object, name: str, *, least: int, most: int | None = None) -> int:
    """A whole number from ``least`` to ``most``, or an error that names the setting.

    >>> check_int(2.5, "rows", least=1)
    Traceback (most recent call last):
    ...
    goalbound.errors.ArgumentError: rows is 2.5; it needs a whole number, at least 1
    """
    too_large = isinstance(value, int | np.integer) and value > MAX_INT
    limits = f"at least {least}" if most is None and not too_large else f"from {least} to {most or MAX_INT}"
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ArgumentError(f"{name} is {short_repr(value)}; it needs a whole number, {limits}")
    if value < least or too_large or (most is not None and value > most):
        raise ArgumentError(f"{name} is {short_repr(value)}; it needs a whole number, {limits}")
    return int(value)


def check_entries(entries: int, name: str) -> None:
    """An error where a problem would be made of more numbers than a machine can hold."""
    check_memory(entries, name, most=MAX_ENTRIES)


def check_float(value: object, name: str, *, least: float, most: float) -> float:
    """A number from ``least`` to ``most``, or an error that names the setting.

    >>> check_float(1.5, "drift_loss", least=0.0, most=1.0)
    Traceback (most recent call last):
    ...
    goalbound.errors.ArgumentError: drift_loss is 1.5; it needs a number from 0 to 1
    """
    wanted = f"it needs a number from {least:g} to {most:g}"
    try:
        found = validation.check_float(value, name, "")
    except InputError:
        raise ArgumentError(f"{name} is {short_repr(value)}; {wanted}") from None
    if not least <= found <= most:  # NaN is not
        raise ArgumentError(f"{name} is {short_repr(value)}; {wanted}")
    return found
