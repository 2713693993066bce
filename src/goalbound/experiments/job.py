"""One run as a worker plays it, and its outcome. The same function plays it locally and on a cluster."""

from __future__ import annotations

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
from goalbound.jit.compiling import seconds_compiling


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


def run_job(spec: RunSpec, plugins: Plugins = NO_PLUGINS, *, stop: Callable[[], bool] = lambda: False) -> Outcome:
    """Execute one run. Errors of the run are returned in the outcome, not raised.

    Args:
        spec: the run.
        plugins: what may be imported for it.
        stop: checked about every second; if True, the run ends without a record.
    """

    def check_stop(done: int, episodes: int, regret: float) -> None:
        if done < episodes and stop():
            raise KeyboardInterrupt

    if stop():
        return Stopped(spec.id)
    started = time.perf_counter() - seconds_compiling()
    try:
        with warnings.catch_warnings():  # the record has it, and the sweep reports it
            warnings.simplefilter("ignore", NotLinearWarning)
            warnings.simplefilter("ignore", WrongPriorWarning)
            record = run(spec, plugins=plugins, progress=check_stop)
        seconds = time.perf_counter() - seconds_compiling() - started
        totals = record.metadata["totals"]
        return Finished(
            id=spec.id,
            record=record_bytes(record),
            seconds=seconds,
            episodes=spec.episodes,
            steps=int(totals["steps"]),
            expected_regret=float(totals["expected_regret"]),
            version=goalbound.__version__,
            alarm=record.metadata["alarm"],
        )
    except KeyboardInterrupt:
        return Stopped(spec.id)
    except (Exception, SystemExit) as error:
        return failure_of(spec, error)


def failure_of(spec: RunSpec, error: BaseException) -> Failed:
    """An error as an outcome."""
    said = "".join(traceback.format_exception_only(error)).strip()
    return Failed(spec.id, said, "".join(traceback.format_exception(error)))
