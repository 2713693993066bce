"""Validation errors of experiment files as one line: the key, its value, and what is expected."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from goalbound.errors import ArgumentError
from goalbound.experiments.catalog import hint

_POSITIVE_INT = "a whole number, 1 or more"
_TABLES = 'tables, such as [[{key}]] with use = "..."'
EXPECTED: Mapping[str, str] = {
    "name": "letters, digits, - and _, 64 at most, as it names a folder",
    "question": "text",
    "episodes": _POSITIVE_INT,
    "seeds": f"{_POSITIVE_INT}, or a list of whole numbers, 0 or more, such as [3, 5]",
    "step_limit": _POSITIVE_INT,
    "losses": 'a word such as "bernoulli", or a table such as { law = "bounded", spread = 0.5 }',
    "problems": _TABLES.format(key="problems"),
    "learners": _TABLES.format(key="learners"),
    "contexts": _TABLES.format(key="contexts"),
    "grid": 'a table such as { "learners.scale" = [1.0, 0.1] }',
    "quick": "a table such as { episodes = 50, seeds = 1 }",
}
"""What each key of a file is."""
_COMPONENT_KEYS = {"use": "a name of the catalog, or an import path package.module:function", "label": "text"}


def one_line(error: ValidationError, content: Mapping[str, Any]) -> str:
    """The first error to fix: an unknown key comes before a missing one, of which it may be a misspelling."""
    errors = error.errors(include_url=False, include_context=False)
    for kind in ("extra_forbidden", "missing"):
        for one in errors:
            if one["type"] == kind:
                return _unknown(one["loc"]) if kind == "extra_forbidden" else _missing(one["loc"], content)
    key = errors[0]["loc"][0]
    places = [_place(one["loc"], content) for one in errors if one["loc"][0] == key]
    deepest = max(places, key=len)  # among the alternatives of a union, the one that matches deepest
    return f"{_written(deepest)} is {_value(content, deepest)!r:.80}; it is {_expected(deepest)}"


def check_quick(changes: Any) -> None:
    """The keys that ``--quick`` changes are keys of the file."""
    for key in changes if isinstance(changes, Mapping) else ():
        name = str(key).partition(".")[0]
        if name not in EXPECTED:
            raise ArgumentError(f"quick: {_unknown([name])}")


def _unknown(loc: Sequence[Any]) -> str:
    key = str(loc[-1])
    return f'there is no key "{key}"{hint(key, EXPECTED)}; the keys are {", ".join(EXPECTED)}'


def _missing(loc: Sequence[Any], content: Mapping[str, Any]) -> str:
    table, key = _place(loc[:-1], content), str(loc[-1])
    if not table:
        return f'"{key}" is missing; it is {EXPECTED[key]}'
    misspelled = [name for name in _value(content, table) if hint(key, [name])]
    guess = f' (did you mean it by "{misspelled[0]}"?)' if misspelled else ""
    return f'{_written(table)} has no "{key}"{guess}; it is {_COMPONENT_KEYS[key]}'


def _place(loc: Iterable[Any], content: Any) -> tuple[Any, ...]:
    """The keys and numbers that lead to a value. Others, such as names of types, are skipped."""
    place = []
    for part in loc:
        is_key = isinstance(content, Mapping) and part in content
        if is_key or (isinstance(content, list) and isinstance(part, int) and part < len(content)):
            place.append(part)
            content = content[part]
    return tuple(place)


def _value(content: Any, place: Iterable[Any]) -> Any:
    for part in place:
        content = content[part]
    return content


def _written(place: Sequence[Any]) -> str:
    """As people write it: ``learners[0].use``."""
    first, *rest = place
    parts = [f"[{part}]" if isinstance(part, int) else f".{_key(str(part))}" for part in rest]
    return "".join([_key(str(first)), *parts])


def _key(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name, ensure_ascii=False)


def _expected(place: Sequence[Any]) -> str:
    first, rest = place[0], place[1:]
    if first in ("problems", "learners", "contexts") and rest:
        return _COMPONENT_KEYS[rest[1]] if len(rest) > 1 else 'a table with use = "..."'
    if first == "grid" and rest:
        return "a list of values, at least one, such as [1.0, 0.1]"
    return EXPECTED[first]
