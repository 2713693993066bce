"""Plug-ins: third-party code that an experiment may name, which modules are allowed, and what may be called.

An experiment file is data. A name in it refers to code outside goalbound in two ways only: an installed package
offers the name as an entry point, or the person who runs the experiment allows its module (``--plugin``,
``plugins=``). Either way only objects marked with :func:`plugin` by their author are called.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from typing import Any, TypeVar

from goalbound.errors import ArgumentError, InputError

MARKER = "__goalbound_plugin__"
"""The attribute of a plug-in; classes may also set it themselves: ``__goalbound_plugin__ = True``."""

_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
Factory = TypeVar("Factory", bound=Callable[..., Any])


def plugin(make: Factory) -> Factory:
    """Mark a function or a class as callable from experiments; it is returned unchanged.

    >>> @plugin
    ... def habit(problem, *, explore=0.1, rng): ...
    """
    if callable(make):
        try:
            setattr(make, MARKER, True)
        except (AttributeError, TypeError):
            pass
        else:
            return make
    raise ArgumentError(f"plugin marks functions and classes, and {make!r:.60} cannot be marked; wrap it in a function")


@dataclass(frozen=True)
class Plugins:
    """The third-party modules that may be imported if a spec names them. Plain values, sent to workers.

    Attributes:
        modules: names of modules; a package includes its submodules.
        folder: the folder of the spec, where modules need not be installed.
    """

    modules: tuple[str, ...] = ()
    folder: str | None = None

    def __post_init__(self) -> None:
        for name in self.modules:
            if not isinstance(name, str) or not _MODULE.fullmatch(name) or name.endswith(".py"):
                raise ArgumentError(
                    f'plug-in {name!r} is not a module name; give it without path and suffix, such as "habit" for '
                    'habit.py, or "package.module"'
                )

    @classmethod
    def of(cls, given: Plugins | Iterable[str], *, folder: str | os.PathLike[str] | None = None) -> Plugins:
        """From names of modules; a ``Plugins`` is returned unchanged."""
        if isinstance(given, Plugins):
            return given
        if isinstance(given, str):
            raise ArgumentError(f'plugins is "{given}"; give a list, such as ["{given}"]')
        return cls(tuple(given), None if folder is None else os.path.abspath(folder))

    def allows(self, module: str) -> bool:
        """Whether a module, or a package that it is in, was allowed."""
        return any(module == name or module.startswith(f"{name}.") for name in self.modules)

    def load(self, path: str, where: str) -> Plugin:
        """The plug-in of an import path; nothing is imported that was not allowed."""
        module, _, name = path.partition(":")
        if not _MODULE.fullmatch(module) or not name.isidentifier():
            raise ArgumentError(f'{where}.use: "{path}" is not an import path; write package.module:function')
        if not self.allows(module):
            top = module.partition(".")[0]
            raise ArgumentError(
                f'{where}.use: "{path}" is code that a file may not run by itself; if you trust it, allow its '
                f'module: --plugin {top} (in Python: plugins=["{top}"])'
            )
        with _importing(path, where):
            self._add_folder_to_path(module)
            found = getattr(importlib.import_module(module), name)
        return Plugin(_marked(found, path, where), _version_of(module))

    def _add_folder_to_path(self, module: str) -> None:
        """Add the folder to the end of ``sys.path``, so that its modules shadow nothing."""
        if self.folder is None:
            return
        top = module.partition(".")[0]
        if top not in sys.modules:
            importlib.invalidate_caches()  # the file may be newer than the cached listing of the folder
        beside = PathFinder.find_spec(top, [self.folder])
        if beside is None or beside.origin is None:
            return
        elsewhere = _found(top)
        if elsewhere is not None and not _same_file(beside, elsewhere):
            raise ArgumentError(
                f'"{top}" is beside the spec ({beside.origin}) and elsewhere ({elsewhere.origin}); rename the one '
                "beside the spec, so that it is clear which is meant"
            )
        if elsewhere is None:
            sys.path.append(self.folder)


NO_PLUGINS = Plugins()
"""Only entry points."""


@dataclass(frozen=True)
class Plugin:
    """A resolved plug-in and its version, or :data:`UNVERSIONED`."""

    make: Callable[..., Any]
    version: str


UNVERSIONED = "unversioned"
"""The version of a plug-in that has none: its edits cannot be seen."""


def _version_of(module: str) -> str:
    """The distributions that ship the package of an imported module, with versions; else its ``__version__``."""
    top = module.partition(".")[0]
    shipped = _distributions_on(tuple(sys.path)).get(top, ())
    if shipped:
        return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in sorted(set(shipped)))
    stated = (getattr(sys.modules[name], "__version__", None) for name in (module, top))
    return next((f"{top} {version}" for version in stated if isinstance(version, str)), UNVERSIONED)


@lru_cache(maxsize=16)
def _distributions_on(_path: tuple[str, ...]) -> Mapping[str, list[str]]:
    """Cached, since it reads many files."""
    return importlib.metadata.packages_distributions()


def entry_points(group: str) -> dict[str, list[importlib.metadata.EntryPoint]]:
    """What installed packages offer to a group ("learners"), by name. Nothing is imported."""
    return _entry_points_on(group, tuple(sys.path))


@lru_cache(maxsize=16)
def _entry_points_on(group: str, _path: tuple[str, ...]) -> dict[str, list[importlib.metadata.EntryPoint]]:
    """Cached, since it reads many files."""
    offered: dict[str, list[importlib.metadata.EntryPoint]] = {}
    for point in importlib.metadata.entry_points(group=f"goalbound.{group}"):
        same = offered.setdefault(point.name, [])
        if all(point.value != other.value for other in same):
            same.append(point)
    return offered


def load_entry_point(points: list[importlib.metadata.EntryPoint], where: str) -> Plugin:
    """The plug-in of an entry point, of which there may be only one."""
    point = points[0]
    if len(points) > 1:
        providers = " and ".join(f"{one.dist.name if one.dist else 'unknown'} ({one.value})" for one in points)
        raise ArgumentError(f'{where}.use: "{point.name}" is offered by {providers}; give an import path instead')
    with _importing(point.name, where):
        found = point.load()
    version = f"{point.dist.name} {point.dist.version}" if point.dist else _version_of(point.module)
    return Plugin(_marked(found, point.name, where), version)


def _marked(found: Any, path: str, where: str) -> Callable[..., Any]:
    """The object if it is marked; the mark of a base class does not count."""
    if not callable(found) or getattr(found, "__dict__", {}).get(MARKER) is not True:
        raise ArgumentError(
            f'{where}.use: "{path}" (a {type(found).__name__}) is not marked as a plug-in; mark it with '
            "@goalbound.plugin if it is yours, or write a function that calls it"
        )
    return found


@contextmanager
def _importing(path: str, where: str) -> Iterator[None]:
    """Any error while a module is imported becomes one error that names it."""
    try:
        yield
    except InputError as error:
        raise ArgumentError(f"{where}.use: {error}") from None
    except (Exception, SystemExit) as error:
        said = str(error) if isinstance(error, ImportError | AttributeError) else f"{type(error).__name__}: {error}"
        raise ArgumentError(
            f'{where}.use: "{path}" cannot be imported ({said}); is it installed (on a cluster: on every worker), on '
            "PYTHONPATH, or a file beside the spec (for results of earlier runs: in the current folder)?"
        ) from error


def _found(top: str) -> ModuleSpec | None:
    try:
        return find_spec(top)
    except (ValueError, ImportError):  # a module without a spec
        return None


def _same_file(one: ModuleSpec, two: ModuleSpec) -> bool:
    if one.origin is None or two.origin is None:
        return False
    return os.path.realpath(one.origin) == os.path.realpath(two.origin)
