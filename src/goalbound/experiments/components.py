"""Instantiates the components of a spec from their names and settings."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from goalbound.errors import ArgumentError, InputError
from goalbound.experiments.catalog import Catalog
from goalbound.experiments.learners import LEARNERS
from goalbound.experiments.plugins import Plugins
from goalbound.experiments.registry import CONTEXTS, PROBLEMS

CATALOGS = {"problems": PROBLEMS, "learners": LEARNERS, "contexts": CONTEXTS}


class ComponentLike(Protocol):
    """A name with all its settings."""

    @property
    def use(self) -> str:
        """The name."""
        ...

    @property
    def settings(self) -> dict[str, Any]:
        """All of them."""
        ...


def catalog(group: str) -> Catalog:
    """The catalog of "problems", "learners" or "contexts"."""
    return CATALOGS[group]


@contextmanager
def error_context(group: str, component: ComponentLike) -> Iterator[None]:
    """Errors while a component is instantiated name its group."""
    try:
        yield
    except (InputError, TypeError, ValueError) as error:
        raise ArgumentError(f"{group} ({component.use}): {error}") from error


def instantiate(group: str, component: ComponentLike, plugins: Plugins, *subject: Any, **given: Any) -> Any:
    """Call the factory of a component. Arguments of the run are passed only to factories that accept them."""
    function = catalog(group).entry(component.use, group, plugins).make
    asked = inspect.signature(function).parameters
    settings = dict(component.settings)
    for name, value in given.items():
        if name in asked and settings.get(name) is None:
            settings[name] = value
    with error_context(group, component):
        return function(*subject, **settings)
