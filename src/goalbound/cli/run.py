"""``goalbound run``: run an experiment and write its report."""

from __future__ import annotations

import json
import shlex
import sys
from argparse import Namespace
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from goalbound.cli.arguments import UsageError
from goalbound.cli.experiment import Results, read_spec, results_folder
from goalbound.cli.text import print_error
from goalbound.experiments.progress import Progress, progress_reporter
from goalbound.experiments.registry import PROBLEMS
from goalbound.experiments.spec import ExperimentSpec
from goalbound.experiments.sweep import SweepResult, sweep
from goalbound.problems.catalog import CATALOG
from goalbound.terminal import pluralize

SOME_FAILED, INTERRUPTED = 1, 130
MAX_PRINTED = 5


def run(arguments: Namespace) -> int:
    """Execute the missing runs, summarise, write the report."""
    spec = read_spec(
        arguments.spec, changes=arguments.settings, quick=arguments.quick, plugins=arguments.plugins
    )  # fmt: skip
    folder = Path(arguments.out) if arguments.out else results_folder(spec, quick=arguments.quick)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; --out is a folder")
    _require_extras(spec)
    result = sweep(
        spec, folder, workers=arguments.workers, on=arguments.on, fresh=arguments.fresh, progress=_progress(arguments)
    )  # fmt: skip
    if result.open:
        return _interrupted(result, arguments)
    results = Results.load(spec, folder)
    paths = results.write(report=not arguments.no_report)
    print(json.dumps(results.as_json(paths), allow_nan=False) if arguments.json else results.text(paths))
    _print_failures(result.failed, folder)
    return SOME_FAILED if result.failed else 0


def _require_extras(spec: ExperimentSpec) -> None:
    """Missing extras are reported once before the runs, not by every run."""
    environments = any(one.use in PROBLEMS.entries and one.use not in CATALOG for one in spec.problems)
    for name in ("pyarrow", *(["gymnasium"] if environments else [])):
        try:
            there = find_spec(name) is not None
        except ValueError:  # it was made unavailable
            there = False
        if not there:
            raise ModuleNotFoundError(f"no module {name}", name=name)


def _progress(arguments: Namespace) -> Progress:
    if arguments.json:
        return progress_reporter(sys.stdout, style="json")
    return progress_reporter(sys.stderr, style="none" if arguments.quiet else "auto")


def _interrupted(result: SweepResult, arguments: Namespace) -> int:
    """One line that says how to resume."""
    there = len(result.done) + len(result.reused)
    words = ["goalbound", "run", arguments.spec, *(["--quick"] if arguments.quick else [])]
    words += ["--set", *arguments.settings] if arguments.settings else []
    words += [word for module in arguments.plugins for word in ("--plugin", module)]
    words += ["--out", arguments.out] if arguments.out else []
    print_error(f"stopped with {there} of {pluralize(there + len(result.failed) + len(result.open), 'run')} done; "
             f"resume with: {shlex.join(words)}")  # fmt: skip
    return INTERRUPTED


def _print_failures(failed: Mapping[str, str], folder: Path) -> None:
    """Print the first few failures, one line each; the files have the details."""
    for name, error in list(failed.items())[:MAX_PRINTED]:
        last = error.strip().splitlines()[-1] if error.strip() else "no message"
        print_error(f"run {name} failed: {last} (see {folder / 'failures' / f'{name}.json'})")
    if len(failed) > MAX_PRINTED:
        print_error(f"{len(failed) - MAX_PRINTED} more runs failed; see {folder / 'failures'}")
