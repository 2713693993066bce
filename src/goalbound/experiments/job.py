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


def run_job(job: Job, *, stop: Callable[[], bool] = lambda: False) -> Outcome:
    """Execute one run. Errors of the run are returned in the outcome, not raised.

    Args:
        job: the run.
        stop: checked about every second; if True, the run ends without a record.
    """

    def check_stop(done: int, episodes: int, regret: float) -> None:
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
            record = run(spec, plugins=job.plugins, progress=check_stop)
        seconds = time.perf_counter() - seconds_compiling() - started
        totals = record.metadata["totals"]
        return Finished(
            id=job.id,
            record=record_bytes(record),
            seconds=seconds,
            episodes=spec.episodes,
            steps=int(totals["steps"]),
            expected_regret=float(totals["expected_regret"]),
            version=goalbound.__version__,
            alarm=record.metadata["alarm"],
        )
    except KeyboardInterrupt:
        return Stopped(job.id)
    except (Exception, SystemExit) as error:
        return failure_of(job, error)


def failure_of(job: Job, error: BaseException) -> Failed:
    """An error as an outcome."""
    said = "".join(traceback.format_exception_only(error)).strip()
    return Failed(job.id, said, "".join(traceback.format_exception(error)))
