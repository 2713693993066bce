"""``goalbound run``: an experiment and its records."""

from __future__ import annotations

import shlex
import sys
import tomllib
from argparse import Namespace
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from goalbound.cli.arguments import UsageError
from goalbound.cli.results import results_folder, results_of, show_results
from goalbound.cli.text import print_error
from goalbound.experiments.progress import progress_reporter
from goalbound.experiments.registry.problems import ENVIRONMENTS
from goalbound.experiments.spec import ExperimentSpec
from goalbound.experiments.sweep import SweepResult, sweep
from goalbound.terminal import pluralize

SOME_FAILED, INTERRUPTED = 1, 130
MAX_PRINTED = 5
INTEGER_KEYS = ("episodes", "seeds", "step_limit")


def run(arguments: Namespace) -> int:
    """Execute the missing runs, summarise, write the report."""
    spec = read_spec(arguments.spec, changes=arguments.settings, quick=arguments.quick, plugins=arguments.plugins)
    folder = Path(arguments.out) if arguments.out else results_folder(spec, quick=arguments.quick)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; --out is a folder")
    _require_extras(spec)
    if arguments.json:
        progress = progress_reporter(sys.stdout, style="json")
    else:
        progress = progress_reporter(sys.stderr, style="none" if arguments.quiet else "auto")
    result = sweep(spec, folder, workers=arguments.workers, on=arguments.on, fresh=arguments.fresh, progress=progress)
    if result.open:
        return _interrupted(result, arguments)
    show_results(results_of(spec, folder), as_json=arguments.json, with_report=not arguments.no_report)
    _print_failures(result.failed, folder)
    return SOME_FAILED if result.failed else 0


def _require_extras(spec: ExperimentSpec) -> None:
    """Missing extras are reported once before the runs, not by every run."""
    environments = {entry.name for entry in ENVIRONMENTS} & {problem.use for problem in spec.problems}
    for name in ("pyarrow", *(["gymnasium"] if environments else [])):
        try:
            installed = find_spec(name) is not None
        except ValueError:  # it was made unavailable
            installed = False
        if not installed:
            raise ModuleNotFoundError(f"no module {name}", name=name)


def _interrupted(result: SweepResult, arguments: Namespace) -> int:
    """One line that says how to resume."""
    ended = len(result.done) + len(result.reused)
    words = ["goalbound", "run", arguments.spec, *(["--quick"] if arguments.quick else [])]
    words += ["--set", *arguments.settings] if arguments.settings else []
    words += [word for module in arguments.plugins for word in ("--plugin", module)]
    words += ["--out", arguments.out] if arguments.out else []
    runs = pluralize(ended + len(result.failed) + len(result.open), "run")
    print_error(f"stopped with {ended} of {runs} done; resume with: {shlex.join(words)}")
    return INTERRUPTED


def _print_failures(failed: Mapping[str, str], folder: Path) -> None:
    """Print the first few failures, one line each; the files have the details."""
    for name, error in list(failed.items())[:MAX_PRINTED]:
        last = error.strip().splitlines()[-1] if error.strip() else "no message"
        print_error(f"run {name} failed: {last} (see {folder / 'failures' / f'{name}.json'})")
    if len(failed) > MAX_PRINTED:
        print_error(f"{len(failed) - MAX_PRINTED} more runs failed; see {folder / 'failures'}")


def read_spec(
    path: str, *, changes: Iterable[str] = (), quick: bool = False, plugins: Iterable[str] = ()
) -> ExperimentSpec:
    """The experiment of a file, with changes ``key=value`` from the command line, and the modules that it allows."""
    if Path(path).is_dir():
        raise UsageError(f"{path} is a folder; give the file of an experiment, such as {Path(path) / 'spec.toml'}")
    return ExperimentSpec.load(path, overrides=parse_overrides(changes), quick=quick, plugins=plugins)


def parse_overrides(words: Iterable[str]) -> dict[str, Any]:
    """Parse ``key=value`` arguments; a value is written as in TOML, and text needs no quotes.

    >>> parse_overrides(["episodes=1e6", "learners.scale=0.1", "losses=bernoulli", "seeds=[3, 5]"])
    {'episodes': 1000000, 'learners.scale': 0.1, 'losses': 'bernoulli', 'seeds': [3, 5]}
    """
    changes: dict[str, Any] = {}
    for word in words:
        key, equals, text = (part.strip() for part in word.partition("="))
        if not equals or not key:
            raise UsageError(f'--set "{word}" changes nothing; write KEY=VALUE, such as episodes=1000')
        if key in changes:
            raise UsageError(f'--set: "{key}" is set twice; set it once')
        value = _value(text)
        changes[key] = int(value) if key in INTEGER_KEYS and isinstance(value, float) and value.is_integer() else value
    return changes


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    except (ValueError, RecursionError):  # thousands of digits, or of brackets
        raise UsageError(
            f"--set: {text[:40]}... cannot be read; whole numbers have at most 19 digits, and lists are not so deep"
        ) from None
