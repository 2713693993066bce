"""Digests of what a run depends on besides its settings: problems and code of third parties.

A problem is identified by its arrays, whatever code made it. A learner (or a context source, or an environment) is
identified by the source of its module and of all modules of the same package or folder that it imports, transitively.
Other packages, data files, and modules that are imported by computed names are not included.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import json
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from pathlib import Path
from typing import Any

import numpy as np

from goalbound.errors import ArgumentError
from goalbound.experiments.plugins import Plugin
from goalbound.experiments.registry import ProblemInstance
from goalbound.models import LinearCSSP
from goalbound.models.files.npz import support_arrays

DIGITS = 32
OWN_PACKAGE = "goalbound"
"""Identified by its version, which records contain."""
_FIRST_DIGESTS: dict[int, tuple[Any, str]] = {}
"""The first digest of each function, by its ``id``; holding the function keeps the ``id`` unique."""


def code_digest(found: Plugin, made: Any = None) -> str:
    """The part of a plug-in in an id: the arrays of a problem, else the source; both for a ``ProblemInstance``."""
    if isinstance(made, LinearCSSP):
        return problem_digest(made)
    source = source_digest(found)
    return _digest([source, problem_digest(made.problem)]) if isinstance(made, ProblemInstance) else source


def problem_digest(problem: LinearCSSP) -> str:
    """The digest of all arrays and names of a problem; equal problems have equal digests on every machine."""
    support = problem.support
    names = [support.state_names, support.action_names, problem.component_names, problem.loss_scale]
    start = np.asarray(problem.start)
    content = hashlib.sha256(json.dumps([names, start.shape, len(support_arrays(support))]).encode())
    for array in (start, *support_arrays(support).values(), problem.losses, problem.probabilities):
        content.update(json.dumps([array.dtype.kind, array.shape]).encode())
        content.update(array.astype("<f8" if array.dtype.kind == "f" else "<i8").tobytes())
    return content.hexdigest()[:DIGITS]


def source_digest(found: Plugin) -> str:
    """The digest of the source of a plug-in.

    Raises:
        ArgumentError: the source has changed since the plug-in was imported, or cannot be read.
    """
    digest = _digest(f"{name} {of}" for name, of in sorted(_sources(found).items()))
    _, before = _FIRST_DIGESTS.setdefault(id(found.make), (found.make, digest))
    if before != digest:
        name = getattr(found.make, "__qualname__", type(found.make).__name__)
        raise ArgumentError(
            f"the source of {found.module}:{name}, or of what it imports, has changed since it was imported, and the "
            "old code would be run; start Python again (on a cluster: its workers)"
        )
    return digest


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:DIGITS]


def _sources(found: Plugin) -> dict[str, str]:
    """The digest of each module, by name."""
    roots = dict.fromkeys([found.module, *_defining_modules(found.make)])
    digests: dict[str, str] = {}
    for root in roots:
        if root.partition(".")[0] != OWN_PACKAGE:
            _Package(root).walk(digests)
    return digests


def _defining_modules(make: Any) -> Iterator[str]:
    """The module that defines a function, or the function of a partial."""
    while isinstance(make, partial):
        make = make.func
    home = getattr(make, "__module__", None)
    if isinstance(home, str) and home in sys.modules:
        yield home


class _Package:
    """The modules that belong to a root: those of its package, and of the folder that contains the package."""

    def __init__(self, root: str) -> None:
        self.root, self.top = root, root.partition(".")[0]
        top = sys.modules[self.top]
        paths = [Path(path) for path in getattr(top, "__path__", ())] or [Path(getattr(top, "__file__", None) or "")]
        self.folders = list(dict.fromkeys(path.resolve().parent for path in paths))
        self.is_installed = any(folder in _site_folders() for folder in self.folders)

    def walk(self, digests: dict[str, str]) -> None:
        """Add the digests of the root and of all modules that it imports, transitively."""
        waiting = [self.root, *_parents(self.root)]
        seen = set(waiting)
        while waiting:
            name = waiting.pop()
            content, is_package = self._content(name)
            if content is None:
                if name == self.root:
                    digests[name] = _version(self.top, name)
                continue
            digests[name] = hashlib.sha256(content).hexdigest()
            for other in _imports(content, name, is_package):
                fresh = {other, *_parents(other)} - seen
                seen |= fresh
                waiting.extend(fresh)

    def _content(self, name: str) -> tuple[bytes | None, bool]:
        """The source of a module without regard to line ends, or the bytes of a compiled one; whether it is a package.

        None if there is no such module here.
        """
        top = name.partition(".")[0]
        if top == OWN_PACKAGE or (self.is_installed and top != self.top):
            return None, False
        parts = name.split(".")
        for folder in self.folders:
            for stem, is_package in ((folder.joinpath(*parts), False), (folder.joinpath(*parts, "__init__"), True)):
                for suffix in (*SOURCE_SUFFIXES, *EXTENSION_SUFFIXES, ".pyc"):
                    file = stem.with_name(stem.name + suffix)
                    if file.is_file():
                        content = file.read_bytes()
                        return content.replace(b"\r\n", b"\n") if suffix in SOURCE_SUFFIXES else content, is_package
        return self._loaded(name), False

    def _loaded(self, name: str) -> bytes | None:
        """The root itself may come from a file of another name."""
        file = Path(getattr(sys.modules[name], "__file__", None) or "") if name == self.root else Path()
        return file.read_bytes() if file.is_file() else None


def _site_folders() -> set[Path]:
    """Folders shared by unrelated modules: those of installed packages and of Python itself."""
    paths = sysconfig.get_paths()
    known = {Path(paths[name]).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib") if name in paths}
    return known | {Path(path).resolve() for path in sys.path if path.endswith(("site-packages", "dist-packages"))}


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts))]


@lru_cache(maxsize=1024)
def _imports(content: bytes, name: str, is_package: bool) -> frozenset[str]:
    """The modules that a source may import, by their whole names."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):  # compiled, or of another Python
        return frozenset()
    package = name if is_package else name.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base(package, node.level) if node.level else ""
            home = ".".join(part for part in (base, node.module) if part)
            found.update([home, *(f"{home}.{alias.name}" for alias in node.names)] if home else
                         [alias.name for alias in node.names])  # fmt: skip
    return frozenset(found)


def _base(package: str, level: int) -> str:
    """What ``level`` dots mean in a module of a package."""
    parts = package.split(".")
    return ".".join(parts[: len(parts) - (level - 1)])


def _version(top: str, name: str) -> str:
    """Where no source can be read: the version that was installed."""
    for distribution in importlib.metadata.packages_distributions().get(top, ()):
        return f"{distribution} {importlib.metadata.version(distribution)}"
    raise ArgumentError(
        f'the source of "{name}" cannot be read and it has no version, so changes could not be detected; '
        "put it into a file"
    )
