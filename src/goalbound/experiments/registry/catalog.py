"""Catalogs: the names and settings that an experiment file may use, mapped to factories."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from goalbound.errors import ArgumentError, InputError
from goalbound.experiments.plugins import NO_PLUGINS, Plugin, Plugins, entry_points, load_entry_point
from goalbound.experiments.toml import plain_values
from goalbound.models.validation import check_float, short_repr

Value = str | int | float | bool | list[Any] | None


@dataclass(frozen=True)
class Entry:
    """A component that a spec may name.

    Attributes:
        name: the registered name, or the import path of a plug-in.
        summary: one line.
        make: its factory. Its keyword parameters with a default are the settings; those without one
            (and positional ones) are given by the run.
        plugin: the plug-in of a third party; None for built-in entries.
        is_file: whether it is a problem in a file, whose content is part of the ids of its runs.
        also: other words that people may type for it; they are no names (a run has one id): an error suggests the name.
    """

    name: str
    summary: str
    make: Callable[..., Any]
    plugin: Plugin | None = None
    also: tuple[str, ...] = ()
    is_file: bool = False

    @classmethod
    def from_plugin(cls, name: str, plugin: Plugin, where: str) -> Entry:
        """The entry of a plug-in; its settings must be inspectable and serialisable."""
        try:
            inspect.signature(plugin.make)
        except (TypeError, ValueError) as error:
            raise ArgumentError(
                f"{where}: the settings of {name} cannot be inspected ({error}); make it a function"
            ) from None
        entry = cls(name, "", plugin.make, plugin)
        for key, default in entry.settings.items():
            try:
                plain_values(default, key)
            except InputError:
                raise ArgumentError(
                    f"{where}: {name} has {key} = {short_repr(default)} by default, which no record can hold; "
                    "let it be a finite number, a text, a truth value, a list of these, or None"
                ) from None
        return entry

    @property
    def settings(self) -> dict[str, Value]:
        """The settings with their defaults, in the order of the function."""
        parameters = inspect.signature(self.make).parameters.values()
        return {one.name: one.default for one in parameters if one.default is not one.empty}

    @property
    def accepts_any_setting(self) -> bool:
        """Whether the function takes settings of any name."""
        return any(one.kind is one.VAR_KEYWORD for one in inspect.signature(self.make).parameters.values())

    def checked_settings(self, given: Mapping[str, Any], where: str) -> dict[str, Value]:
        """All settings: those given, checked, and the defaults of the others."""
        defaults = self.settings
        for name in given:
            if name not in defaults and not self.accepts_any_setting:
                listing = ", ".join(f"{key} = {default!r}" for key, default in defaults.items()) or "no settings"
                guess = hint(name, defaults)
                raise ArgumentError(f'{where}: {self.name} has no setting "{name}"{guess}; it has {listing}')
        checked_settings = {
            name: _checked_type(value, defaults.get(name), f"{where}.{name}") for name, value in given.items()
        }
        return {**defaults, **checked_settings}


class Catalog:
    """Entries by name. Plug-ins are entries too: by the name of an entry point, or by ``package.module:function``.

    Args:
        kind: what an entry is, for messages.
        entries: the built-in ones; plug-ins cannot override them.
        group: the entry points of other packages are those of ``goalbound.<group>``.
        from_file: the entry of a file of this name, or None where it is not the name of one.
    """

    def __init__(
        self, kind: str, entries: Iterable[Entry], *, group: str,
        from_file: Callable[[str, str, Plugins], Entry | None] | None = None,
    ) -> None:  # fmt: skip
        self.kind, self.group, self._from_file = kind, group, from_file
        self.entries = {entry.name: entry for entry in entries}

    def entry(self, name: str, where: str, plugins: Plugins = NO_PLUGINS) -> Entry:
        """The entry of a name; an unknown one is an error that lists the known ones."""
        if name in self.entries:
            return self.entries[name]
        from_file = None if self._from_file is None else self._from_file(name, where, plugins)
        if from_file is not None:
            return from_file
        if ":" in name:
            return Entry.from_plugin(name, plugins.load(name, where), where)
        offered = entry_points(self.group)
        if name in offered:
            return Entry.from_plugin(name, load_entry_point(offered[name], where), where)
        known = [*self.entries, *offered]
        meant = self.meant(name)
        guess = hint(name, known) if meant is None else f' (did you mean "{meant.name}"?)'
        file = "" if self._from_file is None else ', or a file beside that of the experiment, "mine.npz"'
        raise ArgumentError(
            f'{where}.use: no {self.kind} is called "{name}"{guess}; there are {", ".join(known)}, or '
            f'give an import path "package.module:function"{file}'
        )

    def meant(self, word: str) -> Entry | None:
        """The built-in entry that a word is another word for; upper case, spaces and underscores do not matter."""
        plain = "-".join(word.lower().replace("_", " ").replace("-", " ").split())
        return next((entry for entry in self.entries.values() if plain in (entry.name, *entry.also)), None)


def hint(name: str, known: Iterable[str]) -> str:
    """A suggestion of a close match, appended to an error message."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f' (did you mean "{close[0]}"?)' if close else ""


def _checked_type(value: Any, default: Any, where: str) -> Any:
    """A setting has the type of its default; where that is a text or None, the factory checks it."""
    wanted = type(default)
    if wanted is bool and not isinstance(value, bool):
        raise ArgumentError(f"{where} is {short_repr(value)}; it needs true or false")
    if wanted is int and (isinstance(value, bool) or not isinstance(value, int)):
        raise ArgumentError(f"{where} is {short_repr(value)}; it needs a whole number")
    if wanted is float and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ArgumentError(f"{where} is {short_repr(value)}; it needs a number")
    return check_float(value, where, "a number") if wanted is float else plain_values(value, where)
