"""``goalbound problems``: the built-in problems and their settings, and the environments of Gymnasium."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from goalbound.experiments.registry import PROBLEMS
from goalbound.extras import install_command
from goalbound.problems.catalog import CATALOG


def run(arguments: Namespace) -> int:
    """Print the catalog."""
    environments = [entry for entry in PROBLEMS.entries.values() if entry.name not in CATALOG]
    if arguments.json:
        listing = [
            *(_entry(one.name, one.summary, one.defaults, "simulated") for one in CATALOG.values()),
            *(_entry(one.name, one.summary, one.settings, "gymnasium") for one in environments),
        ]
        print(json.dumps(listing, indent=2, allow_nan=False))
        return 0
    width = max(map(len, PROBLEMS.entries))
    for entry in CATALOG.values():
        settings = " ".join(f"{name}={value}" for name, value in entry.defaults.items())
        print(f"{entry.name:{width}}  {entry.summary}")
        print(f"{'':{width}}  --set {settings}\n" if settings else f"{'':{width}}  no settings\n")
    print(f"only in experiments, with the extra gym ({install_command('gym')}):\n")
    for environment in environments:
        print(f"{environment.name:{width}}  {environment.summary}\n")
    print("solve one: goalbound solve windy-grid --set rows=8 columns=12")
    return 0


def _entry(name: str, summary: str, settings: Mapping[str, Any], environment: str) -> dict[str, Any]:
    return {"name": name, "summary": summary, "settings": dict(settings), "environment": environment}
