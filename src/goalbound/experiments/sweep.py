"""All runs of an experiment, on all cores or a cluster; finished runs are reused."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import goalbound
from goalbound.errors import ArgumentError
from goalbound.experiments import executors
from goalbound.experiments.job import Failed, Finished, Outcome, Stopped
from goalbound.experiments.plugins import UNVERSIONED, Plugins
from goalbound.experiments.progress import Event, Progress, silent
from goalbound.experiments.results_dir import ResultsDir, ScanResult
from goalbound.experiments.run_spec import RunSpec
from goalbound.experiments.signals import GRACE_SECONDS, stop_on_signals
from goalbound.experiments.spec import ExperimentSpec
from goalbound.models.validation import check_callable


@dataclass(frozen=True)
class SweepResult:
    """How a sweep ended. All but the flag are ids of runs."""

    done: tuple[str, ...]
    """Done now."""
    reused: tuple[str, ...]
    """Had a record before."""
    failed: dict[str, str]
    """Raised, with the error; ``failures/<id>.json`` says more, and the next sweep tries again."""
    damaged: dict[str, str]
    """Had an invalid record, with the reason; they were run again."""
    others: tuple[str, ...]
    """Records in the folder that belong to another spec; they were left alone."""
    open: tuple[str, ...]
    """Have neither a record nor a failure: the sweep was interrupted before."""
    interrupted: bool

    @property
    def complete(self) -> bool:
        """Whether every run of the spec has a record."""
        return not self.failed and not self.open

    @property
    def counts(self) -> dict[str, int | bool]:
        """How many of each."""
        names = ("done", "reused", "failed", "damaged", "others", "open")
        return {**{name: len(getattr(self, name)) for name in names}, "interrupted": self.interrupted}


def sweep(
    spec: ExperimentSpec,
    folder: str | os.PathLike[str],
    *,
    workers: int | None = None,
    on: str | None = None,
    fresh: bool = False,
    progress: Progress = silent,
) -> SweepResult:
    """Execute all runs of a spec without a record in the folder.

    Args:
        spec: the experiment. What it may import (:attr:`ExperimentSpec.plugins`), workers may import too.
        folder: the results directory; an interrupted sweep there is resumed.
        workers: processes on this machine; one per processor if not given, and 1 plays in this process.
        on: the address of a Dask scheduler (``tcp://host:8786``) whose workers are used instead.
        fresh: delete the records of these runs first, so that all are run again.
        progress: called with each event, see :mod:`goalbound.experiments.progress`.

    The records do not depend on workers, order, or interruptions, to the byte. A run that raises does not stop the
    others. Ctrl-C (or SIGTERM) ends the sweep: finished runs are kept, the next sweep begins the others again. A second
    sweep of the same folder at the same time is refused.

    Raises:
        ArgumentError: the folder is in use, the scheduler does not respond, or a setting is invalid.
        OSError: the folder cannot be written to; existing records are intact.
    """
    if workers is not None and on is not None:
        raise ArgumentError("workers are processes of this machine, on is a cluster; give one of them")
    if workers is not None and workers < 1:
        raise ArgumentError(f"workers is {workers}; it is 1 (this process) or more")
    check_callable(progress, "progress", "a function of the events of goalbound.experiments.progress")
    results_dir, runs = ResultsDir(folder), spec.runs()
    with results_dir.locked():
        results_dir.prepare(spec, runs)
        if fresh:
            results_dir.delete(runs)
        by_id = {run.id: run for run in runs}
        return _SweepState(results_dir, by_id, results_dir.scan(runs), spec.plugins, progress).execute(workers, on)


@dataclass
class _SweepState:
    """The state of a sweep."""

    folder: ResultsDir
    runs: dict[str, RunSpec]
    scan: ScanResult
    plugins: Plugins
    progress: Progress
    done: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    interrupted: bool = False

    def execute(self, workers: int | None, on: str | None) -> SweepResult:
        """Execute the missing runs; the last event is always ``done``."""
        todo = [run for name, run in self.runs.items() if name not in self.scan.valid]
        count = 0 if on is not None else min(workers or executors.cpu_count(), max(1, len(todo)))
        started = time.monotonic()
        self._announce(todo, on or count)
        try:
            with stop_on_signals(force_after=GRACE_SECONDS if count == 1 else None) as requested:
                with closing(self._outcomes(todo, count, on, requested)) as outcomes:
                    for outcome in outcomes:
                        self._handle(outcome)
                self._stop_requested(requested)
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            result = self._result()
            self._emit("done", "", {**result.counts, "seconds": time.monotonic() - started})
        return result

    def _announce(self, todo: Sequence[RunSpec], workers: int | str) -> None:
        data = {
            "runs": len(self.runs),
            "todo": len(todo),
            "episodes": sum(run.episodes for run in todo),
            "workers": workers,
            "others": len(self.scan.others),
            "unversioned": sorted(_unversioned(self.runs.values())),
            "folder": str(self.folder.path),
        }
        self._emit("sweep", "", data)
        for name in self.runs:
            if name in self.scan.valid:
                self._emit("reused", name, {})
            elif name in self.scan.damaged:
                self._emit("damaged", name, {"reason": self.scan.damaged[name]})

    def _outcomes(
        self, todo: Sequence[RunSpec], count: int, on: str | None, requested: Callable[[], bool]
    ) -> executors.Outcomes:
        def stop() -> bool:
            return self._stop_requested(requested)

        if on is not None and todo:
            return executors.run_on_cluster(on, todo, self.plugins, notify=self._emit, stop=stop)
        if count <= 1:
            return executors.run_serially(todo, self.plugins, notify=self._emit, stop=stop)
        return executors.run_in_processes(todo, self.plugins, workers=count, notify=self._emit, stop=stop)

    def _stop_requested(self, requested: Callable[[], bool]) -> bool:
        if requested() and not self.interrupted:
            self.interrupted = True
            self._emit("stopping", "", {})
        return self.interrupted

    def _handle(self, outcome: Outcome) -> None:
        if isinstance(outcome, Stopped):
            return
        if isinstance(outcome, Finished) and outcome.version != goalbound.__version__:
            error = f"the worker has goalbound {outcome.version}, here is {goalbound.__version__}; install the same"
            outcome = Failed(outcome.id, error, "")
        with self._explaining_disk_errors():
            if isinstance(outcome, Finished):
                self.folder.save_record(outcome)
            else:
                self.folder.save_failure(outcome, self.runs[outcome.id])
        if isinstance(outcome, Finished):
            self.done.append(outcome.id)
            fields = ("seconds", "episodes", "steps", "expected_regret", "alarm")
            data = {name: getattr(outcome, name) for name in fields}
            self._emit("finished", outcome.id, data)
        else:
            self.failed[outcome.id] = outcome.error
            self._emit("failed", outcome.id, {"error": outcome.error, "episodes": self.runs[outcome.id].episodes})

    @contextmanager
    def _explaining_disk_errors(self) -> Iterator[None]:
        """Disk errors say what was kept, and what to do."""
        try:
            yield
        except OSError as error:
            kept = len(self.scan.valid) + len(self.done)
            remedy = f"{kept} of {len(self.runs)} runs are done and kept; sweep again when it can be written to"
            raise OSError(error.errno, f"{error.strerror}; {remedy}", error.filename) from error

    def _result(self) -> SweepResult:
        ended = {*self.scan.valid, *self.done, *self.failed}
        return SweepResult(
            done=tuple(self.done),
            reused=tuple(name for name in self.runs if name in self.scan.valid),
            failed=self.failed,
            damaged=self.scan.damaged,
            others=self.scan.others,
            open=tuple(name for name in self.runs if name not in ended),
            interrupted=self.interrupted,
        )

    def _emit(self, kind: str, name: str, data: Mapping[str, Any]) -> None:
        run = self.runs.get(name)
        self.progress(Event(kind, name, "" if run is None else f"{', '.join(run.group)}, seed {run.seed}", data))


def _unversioned(runs: Iterable[RunSpec]) -> set[str]:
    """The plug-ins of the runs that have no version."""
    return {getattr(run, name).use for run in runs for name, code in run.code.items() if code.endswith(UNVERSIONED)}
