"""A small experiment for the tests of sweeps, and learners that make trouble."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from goalbound import plugin
from goalbound.experiments.progress import Event
from goalbound.experiments.spec import ExperimentSpec
from goalbound.learners.reference import Clairvoyant
from goalbound.learners.ridge import GreedyRidge
from goalbound.models import LinearCSSP

HERE = "tests.support.sweep_cases"
PAUSE = "GOALBOUND_TESTS_PAUSE"


def small_spec(*, episodes: int = 20, seeds: int = 2, learners: list[dict] | None = None) -> ExperimentSpec:
    """Two learners, two seeds: four runs of a fraction of a second."""
    return ExperimentSpec.of(
        {
            "name": "small",
            "episodes": episodes,
            "seeds": seeds,
            "problems": [{"use": "random", "states": 2, "actions": 2}],
            "learners": learners or [{"use": "lr-cssp", "scale": 0.1}, {"use": "clairvoyant"}],
        },
        plugins=[HERE],
    )


def records_in(folder: Path) -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in sorted((folder / "records").glob("*.parquet"))}


class EventLog(list[Event]):
    """Keeps all events."""

    def __call__(self, event: Event) -> None:
        self.append(event)

    def kinds(self) -> list[str]:
        return [event.kind for event in self]

    def of(self, kind: str) -> list[Event]:
        return [event for event in self if event.kind == kind]


@plugin
def raising(problem: LinearCSSP, *, until: str = "cure") -> Clairvoyant:
    """Raises until a file is there."""
    if not Path(until).exists():
        raise RuntimeError(f"there is no {until}")
    return Clairvoyant(problem)


@plugin
def deadly(problem: LinearCSSP, *, marks: str = "", deaths: int = 1, main: int = 0, after: str = "") -> Clairvoyant:
    """Kills its process so many times (a mark for each), but never the process ``main``; waits for a file ``after``."""
    while after and not Path(after).exists():
        time.sleep(0.02)
    before = len(list(Path(marks).iterdir()))
    if before < deaths and os.getpid() != main:
        (Path(marks) / str(before)).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return Clairvoyant(problem)


@plugin
def waiting(problem: LinearCSSP, *, until: str = "", pid: str = "") -> Clairvoyant:
    """Says its process and waits for a file."""
    (Path(pid) / str(os.getpid())).touch()
    while not Path(until).exists():
        time.sleep(0.02)
    return Clairvoyant(problem)


@plugin
def threads(problem: LinearCSSP, *, path: str = "") -> Clairvoyant:
    """Writes how many threads native code may use."""
    Path(path).write_text(f"{os.environ.get('OMP_NUM_THREADS')} {os.environ.get('NUMBA_NUM_THREADS')}")
    return Clairvoyant(problem)


class Unhurried(GreedyRidge):
    """A learner whose episodes take as many seconds as the environment variable says."""

    play_episodes = None  # so that every episode is begun

    def begin(self, context, *, id=None):
        time.sleep(float(os.environ.get(PAUSE, "0")))
        return super().begin(context, id=id)


@plugin
def unhurried(problem: LinearCSSP) -> Unhurried:
    return Unhurried(problem.support, problem.context_size, loss_floor=0.05)
