"""One run as it is sent to a worker, and its outcome. The same function runs it locally and on a cluster."""

from __future__ import annotations

import json
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import goalbound
from goalbound.errors import NotLinearWarning, WrongPriorWarning
from goalbound.experiments.plugins import NO_PLUGINS, Plugins
from goalbound.experiments.record_file import record_bytes
from goalbound.experiments.run import run
from goalbound.experiments.run_spec import RunSpec
from goalbound.jit.compile import seconds_compiling

ReportProgress = Callable[[int, int, float], None]
"""Episodes done, episodes in all, expected regret so far."""


@dataclass(frozen=True)
class Job:
    """A run to execute: plain values only, so that it can be sent to any machine."""

    id: str
    spec: str
    """JSON of the :class:`RunSpec`."""
    episodes: int
    plugins: Plugins = NO_PLUGINS
    """The plug-ins that may be imported for it."""

    @classmethod
    def from_spec(cls, spec: RunSpec, *, plugins: Plugins = NO_PLUGINS) -> Job:
        """The job of a run."""
        return cls(spec.id, json.dumps(spec.as_json()), spec.episodes, plugins)


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
    version: str
    """Of goalbound, where it ran."""
    alarm: str | None = None
    """What contradicts the linear model, if the learner found something."""


@dataclass(frozen=True)
class Failed:
    """A run that raised."""

    id: str
    error: str
    traceback: str


@dataclass(frozen=True)
class Stopped:
    """A run that was stopped on request."""

    id: str


Outcome = Finished | Failed | Stopped


def run_job(job: Job, *, report: ReportProgress, stop: Callable[[], bool] = lambda: False) -> Outcome:
    """Execute one run. Errors of the run are returned in the outcome, not raised.

    Args:
        job: the run.
        report: called with the progress of the run.
        stop: checked whenever the run reports; if True, the run ends without a record.
    """

    def progress(done: int, episodes: int, regret: float) -> None:
        report(done, episodes, regret)
        if done < episodes and stop():
            raise KeyboardInterrupt

    if stop():
        return Stopped(job.id)
    started = time.perf_counter() - seconds_compiling()
    try:
        spec = RunSpec.from_json(json.loads(job.spec))
        with warnings.catch_warnings():  # the record has it, and the sweep reports it
            warnings.simplefilter("ignore", NotLinearWarning)
            warnings.simplefilter("ignore", WrongPriorWarning)
            record = run(spec, plugins=job.plugins, progress=progress)
        totals = record.metadata["totals"]
        seconds = time.perf_counter() - seconds_compiling() - started
        return Finished(
            job.id, record_bytes(record), seconds, spec.episodes, int(totals["steps"]),
            float(totals["expected_regret"]), goalbound.__version__, record.metadata["alarm"],
        )  # fmt: skip
    except KeyboardInterrupt:
        return Stopped(job.id)
    except (Exception, SystemExit) as error:
        return failure_of(job, error)


def failure_of(job: Job, error: BaseException) -> Failed:
    """An error as an outcome."""
    said = "".join(traceback.format_exception_only(error)).strip()
    return Failed(job.id, said, "".join(traceback.format_exception(error)))


class Throttled:
    """Forwards at most one report per interval, and always the last one."""

    def __init__(self, report: ReportProgress, *, seconds: float = 0.25) -> None:
        self._report, self._seconds, self._next = report, seconds, 0.0

    def __call__(self, done: int, episodes: int, regret: float) -> None:
        """Forward the report, or drop it."""
        now = time.monotonic()
        if now >= self._next or done >= episodes:
            self._next = now + self._seconds
            self._report(done, episodes, regret)
