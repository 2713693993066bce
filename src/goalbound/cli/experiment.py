"""Shared by the commands on experiments: resolving the experiment, and its results."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goalbound.cli.arguments import UsageError
from goalbound.experiments.records import RunRecord
from goalbound.experiments.results_dir import ResultsDir, read_records, read_runs, read_times
from goalbound.experiments.spec import ExperimentSpec, RunSpec
from goalbound.experiments.summary import Summary, summarize
from goalbound.models.files.io import LIMIT, read_bytes
from goalbound.terminal import one_line

RESULTS_ROOT = Path("out")
"""The root of the results directories."""
INTEGER_KEYS = ("episodes", "seeds", "step_limit")


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


@dataclass(frozen=True)
class Results:
    """The results of an experiment so far."""

    spec: ExperimentSpec
    folder: Path
    runs: list[RunSpec]
    records: list[RunRecord]
    times: list[dict[str, Any]]
    failures: list[dict[str, Any]]
    summary: Summary

    @classmethod
    def load(cls, spec: ExperimentSpec, folder: Path) -> Results:
        """Read the folder and sum it up. Nothing is imported for it: runs of plug-ins are those that were written."""
        runs = read_runs(folder) if spec.uses_plugins else spec.runs()
        records, times = read_records(folder, runs), read_times(folder)
        results_dir = ResultsDir(folder)
        failures = [_failure(results_dir.failure(run.id)) for run in runs if results_dir.failure(run.id).exists()]
        return cls(spec, folder, runs, records, times, failures, summarize(records, times=times, runs=runs))

    def write(self, *, report: bool = True) -> list[Path]:
        """Write the summary, and the report if it is wanted; which files."""
        paths = [self.folder / "summary.csv", self.folder / "summary.json"]
        self.summary.to_csv(paths[0])
        self.summary.to_json(paths[1])
        if report:
            from goalbound.experiments.report import write_report

            page = self.folder / "report.html"
            write_report(
                page, self.spec, self.summary, self.records, failures=self.failures, times=self.times, runs=self.runs
            )
            paths.append(page)
        return paths

    def text(self, paths: Iterable[Path]) -> str:
        """The question, the table, and the paths of the files."""
        lines = [self.spec.question] if self.spec.question else []
        lines.append(self.summary.table() if self.records else "no run has a record yet")
        lines.append("\n".join(one_line(str(path)) for path in paths))
        return "\n\n".join(lines)

    def as_json(self, paths: Iterable[Path]) -> dict[str, Any]:
        """For programs."""
        return {"event": "summary", "name": self.spec.name, "folder": str(self.folder),
                "files": [str(path) for path in paths], **self.summary.as_json()}  # fmt: skip


def _failure(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_bytes(path, LIMIT, unpack=False))
        return {name: found[name] for name in ("id", "error", "traceback", "spec")}
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{path} is damaged; remove it and run the experiment again") from None
