"""The problem families by name, for the command line and experiment files.

Only here are names turned into problems; Python code imports the functions themselves.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from goalbound.errors import ArgumentError
from goalbound.models import LinearCSSP
from goalbound.models.validation import check_float, short_repr
from goalbound.problems.chains import deceptive_lock, long_corridor
from goalbound.problems.incidents import incident_recovery
from goalbound.problems.random_problems import dense_random, random_cssp
from goalbound.problems.roads import routing_grid
from goalbound.problems.treatment import treatment_curve, treatment_ladder
from goalbound.problems.windy_grid import windy_grid

Setting = int | float


@dataclass(frozen=True)
class CatalogEntry:
    """A problem family that can be named.

    Attributes:
        name: as people type it.
        summary: one line.
        family: the function; each of its parameters has a default, a whole number or a number.

    >>> CATALOG["windy-grid"].make({"rows": 2, "columns": 3})
    LinearCSSP(3 components, 5 states, 25 pairs, 65 next states)
    """

    name: str
    summary: str
    family: Callable[..., LinearCSSP]

    @property
    def defaults(self) -> Mapping[str, Setting]:
        """The settings with their values where nothing else is said, in the order of the family's parameters."""
        parameters = inspect.signature(self.family).parameters
        return MappingProxyType({name: parameter.default for name, parameter in parameters.items()})

    def make(self, settings: Mapping[str, object] | None = None) -> LinearCSSP:
        """The problem for these settings (the defaults for the others)."""
        return self.family(**{name: self._checked(name, value) for name, value in (settings or {}).items()})

    def parse(self, assignments: Iterable[str]) -> dict[str, Setting]:
        """Settings from words of a command line, each ``name=value``.

        >>> CATALOG["windy-grid"].parse(["rows=5", "slip=0.2"])
        {'rows': 5, 'slip': 0.2}
        """
        settings: dict[str, Setting] = {}
        for word in assignments:
            name, equals, text = (part.strip() for part in word.partition("="))
            if not equals:
                raise ArgumentError(f'"{word}" is not a setting; write name=value ({self._listing()})')
            if name in settings:
                raise ArgumentError(f'{self.name}: "{name}" is set twice; set it once')
            settings[name] = self._checked(name, _number(text))
        return settings

    def _checked(self, name: str, value: object) -> Setting:
        if name not in self.defaults:
            raise ArgumentError(
                f'{self.name} has no setting "{name}"{_suggestion(name, self.defaults)}; it has {self._listing()}'
            )
        if isinstance(self.defaults[name], int):
            if isinstance(value, bool) or not isinstance(value, int):
                raise ArgumentError(
                    f"{self.name}: {name} is {short_repr(value)}; it needs a whole number ({self._listing()})"
                )
            return value
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ArgumentError(f"{self.name}: {name} is {short_repr(value)}; it needs a number ({self._listing()})")
        return check_float(value, f"{self.name}: {name}", "a number")

    def _listing(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.defaults.items()) or "no settings"


def demo() -> LinearCSSP:
    """The problem of the demo: a windy grid of 4 by 6 cells, on which the averaged model's policy never arrives.

    >>> demo().component_names
    ('calm', 'west wind', 'north wind')
    """
    return windy_grid(4, 6)


CATALOG: Mapping[str, CatalogEntry] = MappingProxyType(
    {
        entry.name: entry
        for entry in (
            CatalogEntry("demo", "the windy grid of the demo: what is best on average never arrives", demo),
            CatalogEntry("random", "random losses and next states, one exit action in each state", random_cssp),
            CatalogEntry("dense-random", "random; every action may lead everywhere, the goal too", dense_random),
            CatalogEntry("treatment-ladder", "drugs made for biomarkers; the average one heals few", treatment_ladder),
            CatalogEntry("treatment-curve", "one biomarker; the best drug changes back and forth", treatment_curve),
            CatalogEntry("windy-grid", "cross a grid by drifting or walking, in calm or wind", windy_grid),
            CatalogEntry("routing-grid", "drive through a city under traffic jams, missing turns", routing_grid),
            CatalogEntry("deceptive-lock", "a combination lock whose wrong turns are cheap", deceptive_lock),
            CatalogEntry("long-corridor", "many steps to the goal; running is fast if the floor is dry", long_corridor),
            CatalogEntry("incident-recovery", "what to do next in an incident, by hour and traffic", incident_recovery),
        )
    }
)
"""Every family by name, in the order in which they are listed."""


def catalog_entry(name: str) -> CatalogEntry:
    """The entry of this name; an unknown name is an error that lists the known ones.

    >>> catalog_entry("windy-gird")
    Traceback (most recent call last):
    ...
    goalbound.errors.ArgumentError: no problem is called "windy-gird" (did you mean "windy-grid"?); there are ...
    """
    if not isinstance(name, str):
        raise ArgumentError(
            f"the name of a problem is {short_repr(name)}; it is a text, such as {next(iter(CATALOG))!r}"
        )
    if name not in CATALOG:
        listing = ", ".join(CATALOG)
        raise ArgumentError(f'no problem is called "{name}"{_suggestion(name, CATALOG)}; there are {listing}')
    return CATALOG[name]


def _suggestion(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f' (did you mean "{close[0]}"?)' if close else ""


def _number(text: str) -> Setting | str:
    """A number as typed; other text is left for the check that knows the setting's name."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
