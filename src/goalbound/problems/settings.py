"""Checks of the settings of a problem family: what is wrong, and what would be right."""

from __future__ import annotations

import numpy as np

from goalbound.models import ModelError


def whole(value: object, name: str, *, least: int, most: int | None = None) -> int:
    """A whole number from ``least`` to ``most``, or an error that names the setting.

    >>> whole(2.5, "rows", least=1)
    Traceback (most recent call last):
    ...
    goalbound.models.errors.ModelError: rows is 2.5; it needs a whole number, at least 1
    """
    limits = f"at least {least}" if most is None else f"from {least} to {most}"
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ModelError(f"{name} is {value!r}; it needs a whole number, {limits}")
    if value < least or (most is not None and value > most):
        raise ModelError(f"{name} is {value}; it needs a whole number, {limits}")
    return int(value)


def real(value: object, name: str, *, least: float, most: float) -> float:
    """A number from ``least`` to ``most``, or an error that names the setting.

    >>> real(1.5, "drift_loss", least=0.0, most=1.0)
    Traceback (most recent call last):
    ...
    goalbound.models.errors.ModelError: drift_loss is 1.5; it needs a number from 0 to 1
    """
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not (is_number and least <= float(value) <= most):  # type: ignore[arg-type]  # false for NaN
        raise ModelError(f"{name} is {value!r}; it needs a number from {least:g} to {most:g}")
    return float(value)  # type: ignore[arg-type]
