"""Reading, checking and writing the TOML of experiments."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from typing import Any

import tomli_w

from goalbound.errors import ArgumentError
from goalbound.models.validation import short_repr

MAX_DEPTH = 20
"""The deepest nesting of lists and tables; an experiment has at most a handful of levels."""
MAX_INT = 2**63 - 1
"""Of a whole number, as TOML has it."""


def toml_values(text: str) -> dict[str, Any]:
    """Parse a TOML text; every parser failure is a ArgumentError."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ArgumentError(f"not a TOML file: {error}") from None
    except ValueError:  # Python's own limit
        raise ArgumentError("it holds a number of thousands of digits; whole numbers have at most 19") from None
    except RecursionError:
        raise ArgumentError("its lists or tables are nested too deeply") from None


def plain_values(value: Any, where: str = "", depth: int = 0) -> Any:
    """A copy of the values that JSON can hold, or an error that names the key: no dates, NaN or cycles.

    >>> plain_values({"learners": [{"scale": float("nan")}]})
    Traceback (most recent call last):
    ...
    goalbound.errors.ArgumentError: learners[0].scale is nan; an experiment is made of finite numbers
    """
    if depth > MAX_DEPTH:
        raise ArgumentError(f"{where[:80]}...: lists and tables are nested more than {MAX_DEPTH} deep")
    if isinstance(value, Mapping):
        inside = {str(key): f"{where}.{key}" if where else str(key) for key in value}
        return {str(key): plain_values(one, inside[str(key)], depth + 1) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(one, f"{where}[{place}]", depth + 1) for place, one in enumerate(value)]
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        if abs(value) > MAX_INT:
            raise ArgumentError(f"{where} is {short_repr(value)}; whole numbers go up to 2^63 - 1")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ArgumentError(f"{where} is {value}; an experiment is made of finite numbers")
        return value
    raise ArgumentError(
        f"{where} is {short_repr(value)}, a {type(value).__name__}; give a text, a number, true or false"
    )


def toml_text(values: Mapping[str, Any]) -> str:
    """The text of a TOML file.

    >>> print(toml_text({"name": "one", "problems": [{"use": "demo"}], "losses": {"law": "bounded"}}), end="")
    name = "one"
    problems = [
        { use = "demo" },
    ]
    <BLANKLINE>
    [losses]
    law = "bounded"
    """
    try:
        return tomli_w.dumps(values)
    except TypeError as error:
        raise ArgumentError(f"{error}; TOML has texts, numbers, true and false, lists and tables") from None
