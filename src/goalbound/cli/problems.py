"""``goalbound problems``: the built-in problems and their settings."""

from __future__ import annotations

import json
from argparse import Namespace

from goalbound.problems.catalog import CATALOG


def run(arguments: Namespace) -> int:
    """Print the catalog."""
    if arguments.json:
        listing = [
            {"name": entry.name, "summary": entry.summary, "settings": dict(entry.defaults)}
            for entry in CATALOG.values()
        ]
        print(json.dumps(listing, indent=2, allow_nan=False))
        return 0
    width = max(map(len, CATALOG))
    for entry in CATALOG.values():
        settings = " ".join(f"{name}={value}" for name, value in entry.defaults.items())
        print(f"{entry.name:{width}}  {entry.summary}")
        print(f"{'':{width}}  --set {settings}\n" if settings else f"{'':{width}}  no settings\n")
    print("solve one: goalbound solve windy-grid --set rows=8 columns=12")
    return 0
