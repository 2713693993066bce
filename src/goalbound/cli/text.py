"""Plain text for people: short numbers, safe names, errors."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from goalbound.terminal import escape_controls, one_line

NAME_WIDTH = 40
_PASSWORD = re.compile(r"(:/*[^\s:/@]*:)\S*(?=@)|(password\s*=\s*)[^\s&]+", re.IGNORECASE)  # in addresses of databases


def column(values: Sequence[float]) -> list[str]:
    """Numbers formatted for a column: as many digits after the point as give the largest about six.

    >>> column([0.25, 12.5, float("inf")])
    ['0.2500', '12.5000', 'infinite']
    """
    sizes = [abs(value) for value in values if math.isfinite(value) and value != 0.0]
    spread = bool(sizes) and (min(sizes) < 1e-3 * min(1.0, max(sizes)) or max(sizes) >= 1e6)
    digits = 5 - math.floor(math.log10(max(sizes))) if sizes and not spread else 0
    return [_formatted(value, f".{max(0, min(digits, 6))}f" if sizes and not spread else ".6g") for value in values]


def number(value: float) -> str:
    """A number with six digits."""
    return _formatted(value, ".6g")


def safe_name(name: str) -> str:
    """A name that fits into a table: one line, control characters as escapes, not too long.

    >>> print(safe_name("bell" + chr(7)))
    bell\\u0007
    """
    safe = escape_controls(name[: NAME_WIDTH + 1], lines=False)
    return safe if len(safe) <= NAME_WIDTH else safe[: NAME_WIDTH - 3] + "..."


def print_error(message: str) -> None:
    """One line on stderr, without the passwords of addresses of databases, whichever command they were given to."""
    with suppress(BrokenPipeError):
        print(f"goalbound: {_PASSWORD.sub(_hidden, one_line(message))}", file=sys.stderr)


def _hidden(found: re.Match[str]) -> str:
    return f"{found[1] or found[2]}***"


def caveats_of(learner: Any) -> tuple[str, ...]:
    """Why nothing of what a learner has learned is proven, if it says so."""
    from goalbound.learners.layers import unwrap

    caveats: tuple[str, ...] = () if learner is None else getattr(unwrap(learner), "caveats", ())
    return caveats


def json_number(value: float) -> float | str:
    """A number for strict JSON: as it is, or the string "Infinity" or "NaN", which ``float`` reads.

    >>> json_number(0.1), json_number(float("inf"))
    (0.1, 'Infinity')
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0.0 else "-Infinity"
    return value


def _formatted(value: float, form: str) -> str:
    if math.isnan(value):
        return "unknown"
    return "infinite" if math.isinf(value) else format(value, form)
