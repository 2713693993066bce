"""One run as it travels to a worker, and what comes back. The same function does it here and on a cluster."""

from __future__ import annotations

import errno
import json
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import goalbound
from goalbound.experiments.plugins import NO_PLUGINS, Plugins
from goalbound.experiments.records import record_bytes
from goalbound.experiments.run import run
from goalbound.experiments.spec import RunSpec
from goalbound.kernels.compile import seconds_compiling
from goalbound.learners.linearity import NotLinearWarning, WrongPriorWarning

Report = Callable[[int, int, float], None]
"""Episodes done, episodes in all, expected regret so far."""

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})
"""The disk's fault, not the run's: every other run would meet it too."""


@dataclass(frozen=True)
class Task:
    """A run to do: plain values only, so that it is the same on every machine."""

    id: str
    spec: str
    """JSON of the :class:`RunSpec`."""
    episodes: int
    checkpoint: str | None = None
    """Where the run may leave what it has so far; nowhere on a cluster, whose machines need not share a disk."""
    plugins: Plugins = NO_PLUGINS
    """What may be imported for it, there as here."""

    @classmethod
    def of(cls, spec: RunSpec, *, checkpoint: Path | None = None, plugins: Plugins = NO_PLUGINS) -> Task:
        """The task of a run."""
        where = None if checkpoint is None else str(checkpoint)
        return cls(spec.id, json.dumps(spec.as_json()), spec.episodes, where, plugins)

    @property
    def resumes(self) -> bool:
        """Whether an earlier attempt left a checkpoint."""
        return self.checkpoint is not None and Path(self.checkpoint).exists()


@dataclass(frozen=True)
class Finished:
    """A run that was played to its end; ``record`` is the content of its file."""

    id: str
    record: bytes
    seconds: float
    """without the compiler's"""
    episodes: int
    steps: int
    expected_regret: float
    restored: bool
    version: str
    """Of goalbound, where it ran."""
    alarm: str | None = None
    """What contradicts the linear model, if the learner found something."""


@dataclass(frozen=True)
class Failed:
    """A run that raised; ``storage`` is the number of the error if the disk is to blame, else 0."""

    id: str
    error: str
    traceback: str
    storage: int = 0


@dataclass(frozen=True)
class Stopped:
    """A run that was asked to stop."""

    id: str


Outcome = Finished | Failed | Stopped


def perform(task: Task, *, report: Report, stop: Callable[[], bool]) -> Outcome:
    """Do one run. Never raises on account of the run: what happened is in the outcome.

    Args:
        task: what to do.
        report: told how far the run is.
        stop: looked at whenever the run reports; the run then ends at a place that it can go on from.
    """

    def progress(done: int, episodes: int, regret: float) -> None:
        report(done, episodes, regret)
        if done < episodes and stop():
            raise KeyboardInterrupt

    if stop():
        return Stopped(task.id)
    started, restored = time.perf_counter() - seconds_compiling(), task.resumes
    try:
        spec = RunSpec.from_json(json.loads(task.spec))
        with warnings.catch_warnings():  # the record has it, and the sweep tells it; workers stay silent
            warnings.simplefilter("ignore", NotLinearWarning)
            warnings.simplefilter("ignore", WrongPriorWarning)
            checkpoint = None if task.checkpoint is None else Path(task.checkpoint)
            record = run(spec, plugins=task.plugins, progress=progress, checkpoint=checkpoint)
        totals = record.facts["totals"]
        seconds = time.perf_counter() - seconds_compiling() - started
        return Finished(
            task.id, record_bytes(record), seconds, spec.episodes, int(totals["steps"]),
            float(totals["expected_regret"]), restored, goalbound.__version__, record.facts["alarm"],
        )  # fmt: skip
    except KeyboardInterrupt:
        return Stopped(task.id)
    except (Exception, SystemExit) as error:
        return failure(task, error)


def failure(task: Task, error: BaseException) -> Failed:
    """What is kept of an error."""
    said = "".join(traceback.format_exception_only(error)).strip()
    on_disk = task.checkpoint is not None and isinstance(error, OSError) and error.errno in NO_ROOM
    storage = (error.errno or 0) if on_disk and isinstance(error, OSError) else 0
    return Failed(task.id, said, "".join(traceback.format_exception(error)), storage)


class Throttled:
    """Passes on a report at most every so many seconds; the last one always."""

    def __init__(self, report: Report, *, seconds: float = 0.25) -> None:
        self._report, self._seconds, self._next = report, seconds, 0.0

    def __call__(self, done: int, episodes: int, regret: float) -> None:
        """Pass it on, or not."""
        now = time.monotonic()
        if now >= self._next or done >= episodes:
            self._next = now + self._seconds
            self._report(done, episodes, regret)
