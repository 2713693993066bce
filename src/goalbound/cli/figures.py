"""``goalbound figures``: the figures of an experiment, as files for a paper."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from goalbound.cli.arguments import UsageError
from goalbound.cli.experiment import Results, find_experiment
from goalbound.terminal import one_line


def run(arguments: Namespace) -> int:
    """Draw what the records hold; nothing is run."""
    from goalbound.experiments.figures import write_figures

    results = Results.load(*find_experiment(arguments.experiment))
    if not results.records:
        raise UsageError(f"{results.folder} has no records to draw; run the experiment first")
    target = Path(arguments.out) if arguments.out else results.folder / "figures"
    formats = list(dict.fromkeys(arguments.formats))
    for path in write_figures(results.summary, results.records, target, formats=formats, runs=results.runs):
        print(one_line(str(path)))
    return 0
