"""Words become things here: the names and settings that an experiment file may use."""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from goalbound.experiments.toml import plain_values
from goalbound.models import ModelError
from goalbound.models.validation import number, shown

Value = str | int | float | bool | list[Any] | None


@dataclass(frozen=True)
class Entry:
    """Something that a spec may name.

    Attributes:
        name: as people type it, or the import path of a third party's function.
        summary: one line.
        make: the function that makes it. Its keyword parameters with a default are the settings; those without one
            (and positional ones) are given by the run.
    """

    name: str
    summary: str
    make: Callable[..., Any]

    @property
    def settings(self) -> dict[str, Value]:
        """The settings with their defaults, in the order of the function."""
        parameters = inspect.signature(self.make).parameters.values()
        return {one.name: one.default for one in parameters if one.default is not one.empty}

    @property
    def open(self) -> bool:
        """Whether the function takes settings of any name."""
        return any(one.kind is one.VAR_KEYWORD for one in inspect.signature(self.make).parameters.values())

    def checked(self, given: Mapping[str, Any], where: str) -> dict[str, Value]:
        """All settings: those given, checked, and the defaults of the others."""
        defaults = self.settings
        for name in given:
            if name not in defaults and not self.open:
                listing = ", ".join(f"{key} = {default!r}" for key, default in defaults.items()) or "no settings"
                guess = meant(name, defaults)
                raise ModelError(f'{where}: {self.name} has no setting "{name}"{guess}; it has {listing}')
        checked = {name: _typed(value, defaults.get(name), f"{where}.{name}") for name, value in given.items()}
        unset = {
            name: _plain_default(value, f"{where}.{name}") for name, value in defaults.items() if name not in given
        }
        return {name: checked[name] if name in checked else unset[name] for name in (*defaults, *checked)}


class Catalog:
    """Entries by name; an import path ``package.module:function`` is an entry too."""

    def __init__(self, kind: str, entries: Iterable[Entry]) -> None:
        self.kind = kind
        self.entries = {entry.name: entry for entry in entries}

    def entry(self, name: str, where: str) -> Entry:
        """The entry of a name; an unknown one is an error that lists the known ones."""
        if ":" in name:
            return Entry(name, "", _imported(name, where))
        if name not in self.entries:
            listing = ", ".join(self.entries)
            raise ModelError(
                f'{where}.use: no {self.kind} is called "{name}"{meant(name, self.entries)}; there are {listing}, or '
                'give an import path "package.module:function"'
            )
        return self.entries[name]


def meant(name: str, known: Iterable[str]) -> str:
    """A guess what was meant, for the end of a message."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f' (did you mean "{close[0]}"?)' if close else ""


def _imported(path: str, where: str) -> Callable[..., Any]:
    module, _, name = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ModelError(
            f'{where}.use: "{path}" cannot be imported ({error}); is it installed, or on PYTHONPATH?'
        ) from None
    if not callable(found):
        raise ModelError(f'{where}.use: "{path}" is a {type(found).__name__}, not a function that makes something')
    return found


def _plain_default(default: Any, where: str) -> Any:
    """The default of a function; results are recorded with it, so a file must be able to hold it."""
    try:
        return plain_values(default, where)
    except ModelError as error:
        raise ModelError(f"{error} (the default of the function); set it in the file, or change the function") from None


def _typed(value: Any, default: Any, where: str) -> Any:
    """A setting has the type of its default; where the default is a word or None, other types are for the function."""
    wanted = type(default)
    if wanted is bool and not isinstance(value, bool):
        raise ModelError(f"{where} is {shown(value)}; it needs true or false")
    if wanted is int and (isinstance(value, bool) or not isinstance(value, int)):
        raise ModelError(f"{where} is {shown(value)}; it needs a whole number")
    if wanted is float and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ModelError(f"{where} is {shown(value)}; it needs a number")
    return number(value, where, "a number") if wanted is float else value
