"""The names that an experiment may use, each with its factory: problems, context sources, loss laws, learners.

A run instantiates its components here; plug-ins are looked up by the same functions.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from goalbound.errors import ArgumentError, InputError
from goalbound.experiments.plugins import Plugins
from goalbound.experiments.registry.catalog import Catalog, Entry
from goalbound.experiments.registry.contexts import CONTEXTS
from goalbound.experiments.registry.learners import LEARNERS
from goalbound.experiments.registry.problems import LOSS_LAWS, PROBLEMS, ProblemInstance, loss_law

__all__ = [
    "CATALOGS", "CONTEXTS", "LEARNERS", "LOSS_LAWS", "PROBLEMS", "Catalog", "Component", "Entry",
    "ProblemInstance", "error_context", "find_entry", "instantiate", "loss_law",
]  # fmt: skip

CATALOGS = {"problems": PROBLEMS, "learners": LEARNERS, "contexts": CONTEXTS}
"""The catalog of each group of an experiment file."""


@dataclass(frozen=True)
class Component:
    """A name with all its settings; the label is not part of the identity of a run."""

    use: str
    settings: dict[str, Any]
    label: str = field(default="", compare=False)

    def as_json(self) -> dict[str, Any]:
        """Without the label."""
        return {"use": self.use, "settings": self.settings}


def find_entry(group: str, component: Component, plugins: Plugins) -> Entry:
    """The catalog entry of a component; an unknown name is an error that lists the known ones."""
    return CATALOGS[group].entry(component.use, group, plugins)


@contextmanager
def error_context(group: str, component: Component) -> Iterator[None]:
    """Errors while a component is instantiated name its group."""
    try:
        yield
    except (InputError, TypeError, ValueError) as error:
        raise ArgumentError(f"{group} ({component.use}): {error}") from error


def instantiate(group: str, component: Component, plugins: Plugins, *subject: Any, **given: Any) -> Any:
    """Call the factory of a component. Arguments of the run are passed only to factories that accept them."""
    function = find_entry(group, component, plugins).make
    asked = inspect.signature(function).parameters
    settings = dict(component.settings)
    for name, value in given.items():
        if name in asked and settings.get(name) is None:
            settings[name] = value
    with error_context(group, component):
        return function(*subject, **settings)
