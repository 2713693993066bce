"""The exploration rules by name: what learners by ridge regression do beside following the best plan."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Any

from goalbound.confidence.protocol import from_fields, is_saved_as
from goalbound.errors import ArgumentError
from goalbound.learners.explore.protocol import ExplorationRule

RULES = {
    "optimistic": "Optimistic",
    "greedy": "Greedy",
    "epsilon": "Epsilon",
    "sampled": "Posterior",
    "rmax": "Kwik",
    "local": "Local",
}
"""The classes of the rules, each in the module of :mod:`goalbound.learners.explore` with its name in small letters."""


def rule_class(name: str) -> Any:
    """The class of a rule, by its name.

    >>> rule_class("sampled").__name__
    'Posterior'
    """
    kind = RULES[name]
    return getattr(__import__(f"goalbound.learners.explore.{kind.lower()}", fromlist=[kind]), kind)


def rule_from_json(values: Any, rooms: Iterable[Any] = ()) -> ExplorationRule:
    """What ``as_json`` of a rule gave; ``rooms`` are rules of third parties, by value.

    >>> rule_from_json({"name": "greedy", "ceiling": 1000.0})
    Greedy(ceiling=1000.0)
    """
    for room in rooms:
        if isinstance(room, ExplorationRule) and is_saved_as(room, values):
            return room
    if not isinstance(values, dict) or not isinstance(values.get("name"), str) or values["name"] not in RULES:
        raise ArgumentError(
            f"the exploration is {values!r:.200}; there are {', '.join(RULES)}, or give your own rule: "
            "load_learner(path, rooms=[rule]); no store holds one"
        )
    given = {key: inf if value is None else value for key, value in values.items() if key != "name"}
    made: ExplorationRule = from_fields(rule_class(values["name"]), given, f"the exploration {values['name']}")
    return made
