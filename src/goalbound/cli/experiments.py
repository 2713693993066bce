"""``goalbound run``, ``report``, ``ratios`` and ``figures``: experiments and their results."""

from __future__ import annotations

import json
import shlex
import sys
import tomllib
from argparse import Namespace
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from goalbound.cli.arguments import UsageError
from goalbound.cli.text import print_error
from goalbound.experiments.progress import Progress, progress_reporter
from goalbound.experiments.registry.problems import ENVIRONMENTS
from goalbound.experiments.results import Results
from goalbound.experiments.results_dir import read_runs
from goalbound.experiments.spec import ExperimentSpec
from goalbound.experiments.sweep import SweepResult, sweep
from goalbound.terminal import one_line, pluralize

RESULTS_ROOT = Path("out")
"""The root of the results directories."""
SOME_FAILED, INTERRUPTED = 1, 130
MAX_PRINTED = 5
INTEGER_KEYS = ("episodes", "seeds", "step_limit")


def run(arguments: Namespace) -> int:
    """``goalbound run``: execute the missing runs, summarise, write the report."""
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
    results = _read_results(spec, folder)
    _print(results, _write(results, report=not arguments.no_report), as_json=arguments.json)
    _print_failures(result.failed, folder)
    return SOME_FAILED if result.failed else 0


def report(arguments: Namespace) -> int:
    """``goalbound report``: summarise the records and write the report; nothing is run."""
    results = read_results(arguments.experiment)
    _print(results, _write(results), as_json=arguments.json)
    return 0


def figures(arguments: Namespace) -> int:
    """``goalbound figures``: draw what the records hold; nothing is run."""
    from goalbound.experiments.figures import CAPTIONS, write_figures

    results = read_results(arguments.experiment)
    if not results.records:
        raise UsageError(f"{results.folder} has no records to draw; run the experiment first")
    target = Path(arguments.out) if arguments.out else results.folder / "figures"
    formats = list(dict.fromkeys(arguments.formats))
    wanted = {name: getattr(arguments, name) for name in ("width", "font", "font_size")}
    given = {name: value for name, value in wanted.items() if value is not None}
    paths = write_figures(results.summarised, results.records, target, formats=formats, runs=results.runs, **given)
    for path in (*paths, target / CAPTIONS):
        print(one_line(str(path)))
    return 0


def _require_extras(spec: ExperimentSpec) -> None:
    """Missing extras are reported once before the runs, not by every run."""
    environments = {entry.name for entry in ENVIRONMENTS} & {one.use for one in spec.problems}
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


def results_folder(spec: ExperimentSpec, *, quick: bool = False) -> Path:
    """The default results directory of an experiment; quick runs have their own."""
    return RESULTS_ROOT / (f"{spec.name}-quick" if quick else spec.name)


def find_experiment(word: str) -> tuple[ExperimentSpec, Path]:
    """Resolve an argument to an experiment and its folder: a folder with a ``spec.toml``, or the file of an experiment.

    Nothing is imported that a file names. Where a file names plug-ins, the experiment is what was last run of it.
    """
    path = Path(word)
    if path.is_dir():
        if not (path / "spec.toml").is_file():
            raise UsageError(
                f"{word} has no spec.toml; give the folder of an experiment (such as out/first), or its file"
            )
        return _load_spec(path / "spec.toml"), path
    spec = _load_spec(path)
    folder = path.parent if (path.parent / "records").is_dir() else results_folder(spec)
    if not (folder / "records").is_dir():
        raise UsageError(f"{folder} has no records yet; goalbound run {word} makes them, or give the folder itself")
    if spec.uses_plugins and (folder / "spec.toml").is_file():
        spec = _load_spec(folder / "spec.toml")
    return spec, folder


def _load_spec(path: Path) -> ExperimentSpec:
    """The experiment of a file; its names are looked up only if they are all our own."""
    spec = ExperimentSpec.load_unchecked(path)
    return spec if spec.uses_plugins else ExperimentSpec.load(path)


def read_results(word: str) -> Results:
    """The results that an argument names, of the runs that its spec has by now. Nothing is imported for it: runs of
    plug-ins are those that were written."""
    return _read_results(*find_experiment(word))


def _read_results(spec: ExperimentSpec, folder: Path) -> Results:
    return Results.read(spec, folder, read_runs(folder) if spec.uses_plugins else spec.runs())


def _write(results: Results, *, report: bool = True) -> list[Path]:
    """Write the summary, and the report if it is wanted; which files."""
    summary, folder = results.summarised, results.folder
    paths = [folder / "summary.csv", folder / "summary.json"]
    summary.to_csv(paths[0])
    summary.to_json(paths[1])
    if report:
        from goalbound.experiments.report import write_report

        page = folder / "report.html"
        write_report(
            page, results.spec, summary, results.records, failures=results.failures, times=results.times,
            runs=results.runs,
        )  # fmt: skip
        paths.append(page)
    return paths


def _print(results: Results, paths: Iterable[Path], *, as_json: bool) -> None:
    """Print the question, the table and the paths of the files; or one JSON object for programs."""
    spec, files = results.spec, [str(path) for path in paths]
    if as_json:
        head = {"event": "summary", "name": spec.name, "folder": str(results.folder), "files": files}
        print(json.dumps({**head, **results.summarised.as_json()}, allow_nan=False))
        return
    parts = [spec.question] if spec.question else []
    parts.append(results.summarised.table() if results.records else "no run has a record yet")
    print("\n\n".join([*parts, "\n".join(map(one_line, files))]))
