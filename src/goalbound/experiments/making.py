"""From the names and settings of a spec to the things themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from goalbound.experiments.catalog import Catalog
from goalbound.experiments.learners import LEARNERS
from goalbound.experiments.plugins import Plugins
from goalbound.experiments.things import CONTEXTS, PROBLEMS
from goalbound.models import ModelError

CATALOGS = {"problems": PROBLEMS, "learners": LEARNERS, "contexts": CONTEXTS}


class Chosen(Protocol):
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
def naming(group: str, choice: Chosen) -> Iterator[None]:
    """Errors while a thing is made name the group that it stands in."""
    try:
        yield
    except (ModelError, TypeError, ValueError) as error:
        raise ModelError(f"{group} ({choice.use}): {error}") from error


def make(group: str, choice: Chosen, plugins: Plugins, *subject: Any, **given: Any) -> Any:
    """What the function of a choice makes. What the run gives by name goes only to functions that ask for it."""
    function = catalog(group).entry(choice.use, group, plugins).make
    asked = inspect.signature(function).parameters
    settings = dict(choice.settings)
    for name, value in given.items():
        if name in asked and settings.get(name) is None:
            settings[name] = value
    with naming(group, choice):
        return function(*subject, **settings)
