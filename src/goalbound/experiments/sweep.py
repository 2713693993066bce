"""All runs of an experiment, on all cores or a cluster; what is done is never done again."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import goalbound
from goalbound.experiments import workers as ways
from goalbound.experiments.folder import Folder, Survey
from goalbound.experiments.plugins import Plugins
from goalbound.experiments.progress import Event, Progress, silent
from goalbound.experiments.spec import ExperimentSpec, RunSpec
from goalbound.experiments.stopping import GRACE, Stop, stop_on_signals
from goalbound.experiments.tasks import Failed, Finished, Outcome, Stopped, Task
from goalbound.models import ModelError


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
    """Had a record that was none, with the reason; they were done again."""
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
    """Do all runs of a spec that the folder has no record of.

    Args:
        spec: the experiment. What it may import (:attr:`ExperimentSpec.plugins`), workers may import too.
        folder: where everything goes; a sweep that was broken off there is gone on with.
        workers: processes on this machine; one per processor if not given, and 1 plays in this process.
        on: the address of a Dask scheduler (``tcp://host:8786``) whose workers are used instead.
        fresh: forget the records of these runs first, so that all are done again.
        progress: told what happens, see :mod:`goalbound.experiments.progress`.

    The records do not depend on workers, order, or interruptions, to the byte. A run that raises does not stop the
    others. Ctrl-C (or SIGTERM) ends the sweep: finished runs are kept, others leave a checkpoint if they can within
    five seconds. A second sweep of the same folder at the same time is refused.

    Raises:
        ModelError: the folder is in use, the scheduler does not answer, or a setting is wrong.
        OSError: the folder cannot be written to; all records that are there are whole.
    """
    if workers is not None and on is not None:
        raise ModelError("workers are processes of this machine, on is a cluster; give one of them")
    if workers is not None and workers < 1:
        raise ModelError(f"workers is {workers}; it is 1 (this process) or more")
    place, runs = Folder(folder), spec.runs()
    with place.held():
        place.prepare(spec, runs)
        if fresh:
            place.forget(runs)
        try:
            ledger = _Ledger(place, {run.id: run for run in runs}, place.survey(runs), spec.plugins, progress)
            return ledger.work(workers, on)
        finally:
            place.clear_board()


@dataclass
class _Ledger:
    """What has happened so far."""

    folder: Folder
    runs: dict[str, RunSpec]
    survey: Survey
    plugins: Plugins
    progress: Progress
    done: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    stopping: bool = False

    def work(self, workers: int | None, on: str | None) -> SweepResult:
        """Do what is to be done; the last event is ``done``, whatever happens."""
        todo = [run for name, run in self.runs.items() if name not in self.survey.valid]
        count = 0 if on is not None else min(workers or ways.cpu_count(), max(1, len(todo)))
        started = time.monotonic()
        self._greet(todo, on or count)
        try:
            with stop_on_signals(insist_after=GRACE if count == 1 else None) as stop:
                outcomes = self._outcomes(todo, count, on, stop)
                with closing(outcomes):
                    for outcome in outcomes:
                        self._take(outcome)
                self._asked(stop)
        except KeyboardInterrupt:
            self.stopping = True
        finally:
            result = self._result()
            self._tell("done", "", {**result.counts, "seconds": time.monotonic() - started})
        return result

    def _greet(self, todo: Sequence[RunSpec], workers: int | str) -> None:
        facts = {"runs": len(self.runs), "todo": len(todo), "episodes": sum(run.episodes for run in todo),
                 "workers": workers, "others": len(self.survey.others), "folder": str(self.folder.path)}  # fmt: skip
        self._tell("sweep", "", facts)
        for name in self.runs:
            if name in self.survey.valid:
                self._tell("reused", name, {})
            elif name in self.survey.damaged:
                self._tell("damaged", name, {"reason": self.survey.damaged[name]})

    def _outcomes(self, todo: Sequence[RunSpec], count: int, on: str | None, stop: Stop) -> ways.Outcomes:
        def asked() -> bool:
            return self._asked(stop)

        tasks = [
            Task.of(run, checkpoint=None if on else self.folder.checkpoint(run.id), plugins=self.plugins)
            for run in todo
        ]  # fmt: skip
        if on is not None and tasks:
            return ways.on_cluster(on, tasks, tell=self._tell, stop=asked)
        if count <= 1:
            return ways.in_this_process(tasks, tell=self._tell, stop=asked)
        board = ways.Board(self.folder.board)
        return ways.in_processes(tasks, workers=count, board=board, tell=self._tell, stop=asked)

    def _asked(self, stop: Stop) -> bool:
        if stop() and not self.stopping:
            self.stopping = True
            self._tell("stopping", "", {})
        return self.stopping

    def _take(self, outcome: Outcome) -> None:
        if isinstance(outcome, Stopped):
            return
        if isinstance(outcome, Finished) and outcome.version != goalbound.__version__:
            error = f"the worker has goalbound {outcome.version}, here is {goalbound.__version__}; install the same"
            outcome = Failed(outcome.id, error, "")
        with self._storing():
            if isinstance(outcome, Finished):
                self.folder.keep(outcome)
            elif outcome.storage:
                raise OSError(outcome.storage, os.strerror(outcome.storage), str(self.folder.checkpoint(outcome.id)))
            else:
                self.folder.keep_failure(outcome, self.runs[outcome.id])
        if isinstance(outcome, Finished):
            self.done.append(outcome.id)
            told = ("seconds", "episodes", "steps", "expected_regret", "restored", "alarm")
            facts = {name: getattr(outcome, name) for name in told}
            self._tell("finished", outcome.id, facts)
        else:
            self.failed[outcome.id] = outcome.error
            self._tell("failed", outcome.id, {"error": outcome.error, "episodes": self.runs[outcome.id].episodes})

    @contextmanager
    def _storing(self) -> Iterator[None]:
        """An error of the disk says what is left, and what to do."""
        try:
            yield
        except OSError as error:
            kept = len(self.survey.valid) + len(self.done)
            remedy = f"{kept} of {len(self.runs)} runs are done and kept; sweep again when it can be written to"
            raise OSError(error.errno, f"{error.strerror}; {remedy}", error.filename) from error

    def _result(self) -> SweepResult:
        reused = tuple(name for name in self.runs if name in self.survey.valid)
        settled = {*reused, *self.done, *self.failed}
        return SweepResult(
            done=tuple(self.done), reused=reused, failed=self.failed, damaged=self.survey.damaged,
            others=self.survey.others, open=tuple(name for name in self.runs if name not in settled),
            interrupted=self.stopping,
        )  # fmt: skip

    def _tell(self, kind: str, name: str, facts: Mapping[str, Any]) -> None:
        run = self.runs.get(name)
        self.progress(Event(kind, name, "" if run is None else f"{', '.join(run.group)}, seed {run.seed}", facts))
