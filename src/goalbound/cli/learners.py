"""``goalbound learners``: what the file of an experiment may name, problems apart; ``goalbound warm-up``."""

from __future__ import annotations

import inspect
import json
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from goalbound.errors import ArgumentError
from goalbound.experiments.registry import CONTEXTS, LOSS_LAWS
from goalbound.experiments.registry.catalog import hint
from goalbound.experiments.registry.learners import LEARNERS, catalogued_card
from goalbound.experiments.registry.settings import MEANINGS
from goalbound.learners.card import LearnerCard
from goalbound.terminal import table

HEADS = {"learners": "[[learners]]", "contexts": "[[contexts]]", "losses": "losses"}


def run(arguments: Namespace) -> int:
    """Print the catalogs, or explain what is named."""
    listing = _listing()
    if arguments.name is not None:
        return _explain(listing, arguments.name, as_json=arguments.json)
    if arguments.json:
        print(json.dumps(listing, indent=2, allow_nan=False))
        return 0
    for group, entries in listing.items():
        print(f"{HEADS[group]}\n")
        for entry in entries:
            print(f"  {entry['name']}: {entry['summary']}")
            if "card" in entry:
                print(f"    {LearnerCard.from_json(entry['card'])}")
            for line in _settings(entry["settings"]):
                print(f"    {line}")
        print()
    print('or give an import path: use = "package.module:function", and --plugin package (docs/how_to/experiments.md)')
    return 0


def _explain(listing: Mapping[str, list[dict[str, Any]]], name: str, *, as_json: bool) -> int:
    """Print everything about one learner, source of contexts or law of losses."""
    group, entry = _find(listing, name)
    if as_json:
        meanings = {setting: MEANINGS.get(setting) for setting in entry["settings"]}
        print(json.dumps({"group": group, **entry, "meanings": meanings}, indent=2, allow_nan=False))
        return 0
    called = f' (you said "{name}")' if name != entry["name"] else ""
    lines = [f"{entry['name']}{called}: {entry['summary']}"]
    if "card" in entry:
        lines.append(f"  {LearnerCard.from_json(entry['card'])}")
    if entry["settings"]:
        settings = _settings(entry["settings"])
        rows = [[f"  {line}", MEANINGS.get(key, "")] for line, key in zip(settings, entry["settings"], strict=True)]
        lines += ["", table(["  setting", "meaning"], rows, "ll")]
    else:
        lines.append("  no settings")
    print("\n".join([*lines, "", "in the file of an experiment:", "", _example(group, entry)]))
    return 0


def _find(listing: Mapping[str, list[dict[str, Any]]], name: str) -> tuple[str, dict[str, Any]]:
    """The group and the entry of a name, or of another word for it; learners come first."""
    catalogs = {"learners": LEARNERS, "contexts": CONTEXTS}
    for exact in (True, False):
        for group, entries in listing.items():
            meant = catalogs[group].meant(name) if group in catalogs else None
            wanted = name if exact else meant.name if meant is not None else None
            found = next((entry for entry in entries if entry["name"] == wanted), None)
            if found is not None:
                return group, found
    known = [entry["name"] for entries in listing.values() for entry in entries]
    raise ArgumentError(
        f'no learner, source of contexts or law of losses is called "{name}"{hint(name, known)}; there are '
        f"{', '.join(known)}"
    )


def _example(group: str, entry: Mapping[str, Any]) -> str:
    if group == "losses":
        needed = "".join(f", {name} = 0.5" for name in entry["settings"])
        return f'losses = {{ law = "{entry["name"]}"{needed} }}'
    first = next((line for line in _settings(entry["settings"]) if "=" in line), None)
    return "\n".join([HEADS[group], f'use = "{entry["name"]}"', *([] if first is None else [first])])


def _listing() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {
        group: [{"name": one.name, "summary": one.summary, "settings": one.settings} for one in entries]
        for group, entries in (("learners", LEARNERS.entries.values()), ("contexts", CONTEXTS.entries.values()))
    }
    for entry in found["learners"]:
        entry["card"] = catalogued_card(entry["name"]).as_json()
    for name, law in LOSS_LAWS.items():
        summary, settings = (inspect.getdoc(law) or "").partition("\n")[0], inspect.signature(law).parameters
        found.setdefault("losses", []).append({"name": name, "summary": summary, "settings": dict.fromkeys(settings)})
    return found


def _settings(settings: Mapping[str, Any]) -> list[str]:
    return [name if value is None else f"{name} = {json.dumps(value)}" for name, value in settings.items()]


def warm_up(arguments: Namespace) -> int:
    """``goalbound warm-up``: compile what the named learners run, or the common ones."""
    import numpy as np

    from goalbound.experiments.plugins import NO_PLUGINS
    from goalbound.experiments.registry import Component, instantiate
    from goalbound.experiments.registry.warm_start import ANY_LOG
    from goalbound.problems import random_cssp
    from goalbound.simulation.warm_up import warm_up as compile_ahead

    problem, rng = random_cssp(3, actions=2, context_size=2, successors=2), np.random.default_rng(0)
    learners = [
        instantiate("learners", Component(name, {}), NO_PLUGINS, problem, episodes=10, log_law=ANY_LOG, rng=rng)
        for name in arguments.learners
    ]
    seconds = compile_ahead(*learners)
    print(f"ready after {seconds:.1f} s; later processes load the kernels from the cache")
    return 0
