"""``goalbound learners``: what the file of an experiment may name, problems apart."""

from __future__ import annotations

import inspect
import json
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from goalbound.cli.text import toml_value
from goalbound.experiments.registry import CONTEXTS, LOSS_LAWS
from goalbound.experiments.registry.learners import LEARNERS, catalogued_card
from goalbound.learners.card import LearnerCard

HEADS = {"learners": "[[learners]]", "contexts": "[[contexts]]", "losses": "losses"}


def run(arguments: Namespace) -> int:
    """Print the catalogs."""
    listing = _listing()
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
    print('or give an import path: use = "package.module:function", and --plugin package (docs/experiments.md)')
    return 0


def _listing() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {
        group: [{"name": one.name, "summary": one.summary, "settings": one.settings} for one in entries]
        for group, entries in (("learners", LEARNERS.entries.values()), ("contexts", CONTEXTS.entries.values()))
    }
    for entry in found["learners"]:
        entry["card"] = catalogued_card(entry["name"]).as_json()
    found["losses"] = [
        {"name": name, "summary": (inspect.getdoc(law) or "").partition("\n")[0],
         "settings": dict.fromkeys(inspect.signature(law).parameters)}
        for name, law in LOSS_LAWS.items()
    ]  # fmt: skip
    return found


def _settings(settings: Mapping[str, Any]) -> list[str]:
    return [name if value is None else f"{name} = {toml_value(value)}" for name, value in settings.items()]
