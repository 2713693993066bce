"""The results in a folder: what was asked, what was run, and all of it as data frames."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from goalbound.errors import ArgumentError
from goalbound.experiments import frames
from goalbound.experiments.records import RunRecord
from goalbound.experiments.results_dir import ResultsDir, read_records, read_runs, read_times
from goalbound.experiments.run_spec import RunSpec
from goalbound.experiments.spec import ExperimentSpec
from goalbound.experiments.summary import Summary, summarize
from goalbound.frames import from_arrow
from goalbound.models.files.io import LIMIT, read_bytes


@dataclass(frozen=True, eq=False)
class Results:
    """The results of an experiment so far. Data frames are of pandas if it is installed, else tables of Arrow.

    Attributes:
        spec: the experiment.
        folder: where it is.
        runs: all runs of it.
        records: of the runs that are done, in the order of the runs.
        times: how long runs took.
        failures: of the runs that failed: id, error, traceback and spec.
    """

    spec: ExperimentSpec = field(repr=False)
    folder: Path
    runs: Sequence[RunSpec] = field(repr=False)
    records: Sequence[RunRecord] = field(repr=False)
    times: Sequence[dict[str, Any]] = field(repr=False, default=())
    failures: Sequence[dict[str, Any]] = field(repr=False, default=())

    @classmethod
    def read(cls, spec: ExperimentSpec, folder: Path, runs: Iterable[RunSpec]) -> Results:
        """Read what is in the folder of these runs; nothing is run or imported."""
        wanted = list(runs)
        failed = [path for run in wanted if (path := ResultsDir(folder).failure(run.id)).exists()]
        return cls(
            spec, folder, wanted, read_records(folder, wanted), read_times(folder), [_failure(path) for path in failed]
        )

    @cached_property
    def summarised(self) -> Summary:
        """Means and bands over seeds, differences of learners, and what is missing."""
        return summarize(self.records, times=self.times, runs=self.runs)

    def frame(self, *, arrow: bool = False) -> Any:
        """Every kept episode of every run: problem, contexts, learner, run, seed, episode, and the sums up to it."""
        return from_arrow(frames.episodes_table(self.records, self.runs), arrow=arrow)

    def curves(self, *, arrow: bool = False) -> Any:
        """Means over seeds along the episodes, with 95% bands: about 60 rows for each problem, contexts and learner."""
        return from_arrow(frames.curves_table(self.summarised), arrow=arrow)

    def summary(self, *, arrow: bool = False) -> Any:
        """One row for each problem, contexts and learner: the columns of ``summary.csv``."""
        return from_arrow(frames.summary_table(self.summarised), arrow=arrow)

    def policies(self, *, arrow: bool = False) -> Any:
        """What each learner would play at last and what is best, by names: a row for each run, context and state."""
        return from_arrow(frames.policies_table(self.records, self.runs), arrow=arrow)

    def __repr__(self) -> str:
        return f"Results({str(self.folder)!r}: {len(self.records)} of {len(self.runs)} runs)"


def load(folder: str | PathLike[str]) -> Results:
    """The results in the folder of an experiment, as the last sweep left them; nothing that it names is imported.

    >>> load("nowhere")
    Traceback (most recent call last):
    ...
    goalbound.errors.ArgumentError: nowhere is not the folder of an experiment: it has no spec.toml; ...
    """
    path = Path(folder)
    if not (path / "spec.toml").is_file():
        raise ArgumentError(
            f"{path} is not the folder of an experiment: it has no spec.toml; give one such as out/first, which "
            "goalbound run leaves"
        )
    return Results.read(ExperimentSpec.load_unchecked(path / "spec.toml"), path, read_runs(path))


def _failure(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_bytes(path, LIMIT, unpack=False))
        return {name: found[name] for name in ("id", "error", "traceback", "spec")}
    except (ValueError, KeyError, TypeError):
        raise ArgumentError(f"{path} is damaged; remove it and run the experiment again") from None
