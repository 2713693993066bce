"""Plain values as TOML. Python reads TOML but does not write it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from goalbound.models import ModelError

_BARE = re.compile(r"[A-Za-z0-9_-]+")


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
