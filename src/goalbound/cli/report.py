"""``goalbound report``: the summary and the report of records that are there."""

from __future__ import annotations

import json
from argparse import Namespace

from goalbound.cli.experiment import Results, find_experiment


def run(arguments: Namespace) -> int:
    """Sum up and write; nothing is run."""
    results = Results.load(*find_experiment(arguments.experiment))
    paths = results.write()
    print(json.dumps(results.as_json(paths), allow_nan=False) if arguments.json else results.text(paths))
    return 0
