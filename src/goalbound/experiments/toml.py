"""Reading, checking and writing the TOML of experiments (Python reads TOML but does not write it)."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from goalbound.models import ModelError
from goalbound.models.validation import short_repr

MAX_DEPTH = 20
"""The deepest nesting of lists and tables; an experiment has at most a handful of levels."""
MAX_INT = 2**63 - 1
"""Of a whole number, as TOML has it."""
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_values(text: str) -> dict[str, Any]:
    """Parse a TOML text; every parser failure is a ModelError."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ModelError(f"not a TOML file: {error}") from None
    except ValueError:  # Python's own limit
        raise ModelError("it holds a number of thousands of digits; whole numbers have at most 19") from None
    except RecursionError:
        raise ModelError("its lists or tables are nested too deeply") from None


def plain_values(value: Any, where: str = "", depth: int = 0) -> Any:
    """A copy of the values that JSON can hold, or an error that names the key: no dates, NaN or cycles.

    >>> plain_values({"learners": [{"scale": float("nan")}]})
    Traceback (most recent call last):
    ...
    goalbound.models.errors.ModelError: learners[0].scale is nan; an experiment is made of finite numbers
    """
    if depth > MAX_DEPTH:
        raise ModelError(f"{where[:80]}...: lists and tables are nested more than {MAX_DEPTH} deep")
    if isinstance(value, Mapping):
        inside = {str(key): f"{where}.{key}" if where else str(key) for key in value}
        return {str(key): plain_values(one, inside[str(key)], depth + 1) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(one, f"{where}[{place}]", depth + 1) for place, one in enumerate(value)]
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        if abs(value) > MAX_INT:
            raise ModelError(f"{where} is {short_repr(value)}; whole numbers go up to 2^63 - 1")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ModelError(f"{where} is {value}; an experiment is made of finite numbers")
        return value
    raise ModelError(f"{where} is {short_repr(value)}, a {type(value).__name__}; give a text, a number, true or false")


def toml_text(values: Mapping[str, Any]) -> str:
    """The text of a TOML file: single values first, then tables, then lists of tables.

    >>> print(toml_text({"name": "one", "losses": {"law": "bounded"}, "problems": [{"use": "demo"}]}), end="")
    name = "one"
    <BLANKLINE>
    [losses]
    law = "bounded"
    <BLANKLINE>
    [[problems]]
    use = "demo"
    """
    tables = {key: value for key, value in values.items() if isinstance(value, Mapping)}
    lists = {key: value for key, value in values.items() if _is_tables(value)}
    parts = [_lines({key: value for key, value in values.items() if key not in tables and key not in lists})]
    parts += [f"[{_key(key)}]\n{_lines(table)}" for key, table in tables.items()]
    parts += [f"[[{_key(key)}]]\n{_lines(table)}" for key, several in lists.items() for table in several]
    return "\n".join(parts)


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, Mapping) for one in value)


def _lines(values: Mapping[str, Any]) -> str:
    return "".join(f"{_key(key)} = {_inline(value)}\n" for key, value in values.items())


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")  # JSON may hold it as it is, TOML may not


def _inline(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int | float):
        return repr(value)  # 1e-09, inf and nan are TOML as well
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_inline(one)}" for key, one in value.items()) + " }"
    if isinstance(value, Sequence):
        return "[" + ", ".join(_inline(one) for one in value) + "]"
    raise ModelError(f"{value!r} cannot be written as TOML; it has texts, numbers, true and false, lists and tables")
