"""Packages that load their public names when these are first used."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any


class LazyPackage(ModuleType):
    """A package with names that :func:`load_on_use` declared."""

    _homes: dict[str, str]
    """The module that each declared name is loaded from."""

    def __getattr__(self, name: str) -> Any:
        if name not in self._homes:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = getattr(__import__(self._homes[name], fromlist=[name]), name)
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute, unless Python binds a submodule that is called like a declared name."""
        is_submodule = isinstance(value, ModuleType) and value.__name__ == f"{self.__name__}.{name}"
        if not (is_submodule and name in self._homes):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted(self.__all__)


def load_on_use(package: str, names: Mapping[str, str]) -> None:
    """Declare the public names of a package, to be imported when they are first used.

    Type checkers read the imports under ``TYPE_CHECKING`` instead; a test compares them with ``names``.

    Args:
        package: its name; it is being imported.
        names: by the module that has them, with blanks between.
    """
    module = sys.modules[package]
    vars(module)["_homes"] = {name: home for home, those in names.items() for name in those.split()}
    module.__class__ = LazyPackage
