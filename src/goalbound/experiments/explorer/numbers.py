"""Numbers for the page: short, and bounds rounded to the side on which they stay bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

DIGITS = 10
"""Of bounds and estimates in the page; models keep all theirs."""
_DOWN, _UP = (Context(prec=DIGITS, rounding=way) for way in (ROUND_FLOOR, ROUND_CEILING))
Number = float | None


def at_least(values: Iterable[float]) -> list[Number]:
    """Lower bounds with 10 digits, rounded down; None where a bound is infinite or unknown.

    >>> at_least([1 / 3, 2 / 3, math.inf])
    [0.3333333333, 0.6666666666, None]
    """
    return [_rounded(value, _DOWN, -math.inf) for value in values]


def at_most(values: Iterable[float]) -> list[Number]:
    """Upper bounds with 10 digits, rounded up.

    >>> at_most([1 / 3, 2 / 3, math.inf])
    [0.3333333334, 0.6666666667, None]
    """
    return [_rounded(value, _UP, math.inf) for value in values]


def about(values: Iterable[float]) -> list[Number]:
    """Other numbers, rounded to the nearest.

    >>> about([1 / 3, math.nan])
    [0.3333333333, None]
    """
    return [float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None for value in values]


def _rounded(value: float, context: Context, towards: float) -> Number:
    if not math.isfinite(value):
        return None
    exact = Decimal(value)
    found = float(context.plus(exact))
    wrong = Decimal(found) > exact if towards < 0.0 else Decimal(found) < exact  # by reading the decimal number back
    return math.nextafter(found, towards) if wrong else found
