"""The learning loop in plain C++ (``lr_cssp.cpp``): built here, run on the same task as our own loop.

>>> import tempfile
>>> from benchmarks.learner import make_task
>>> with tempfile.TemporaryDirectory() as folder:
...     played = CppReference(Path(folder)).play(make_task(2, actions=2, context_size=2, episodes=10))
>>> bool(played.steps == played.visits.sum() >= 10)
True
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from goalbound import LinearCSSP

SOURCE = Path(__file__).with_name("lr_cssp.cpp")
FLAGS = ("-std=c++17", "-O3", "-march=native")
TIME_LIMIT = 300.0


class NoCompiler(RuntimeError):
    """There is no C++ compiler here, or it refuses the C++ reference."""


@dataclass(frozen=True)
class Task:
    """All that a run depends on: the environment with its draws, and what the learner is told."""

    problem: LinearCSSP
    """Full support, start in state 0; losses are paid as their mean."""
    contexts: NDArray[np.float64]
    """[K, d] one per episode"""
    uniforms: NDArray[np.float64]
    """[U] one per step, in order; the next state is the first whose cumulative probability exceeds it"""
    environment_seed: np.random.SeedSequence
    """Where the uniforms come from: ``generator()`` gives the same ones"""
    confidence: float = 0.1
    loss_floor: float = 0.1
    loss_bound: float = 3.0
    regularization: float = 1.0
    width_scale: float = 1.0
    """All radii are multiplied by it; 1 is the paper."""
    tolerance: float = 1e-3
    """Value iteration ends when no value changes by more than this times the loss floor."""
    intervals: bool = False
    """Whether the sharp widths are used, not the paper's."""
    keeps_sets: bool = False
    """Whether the C++ reference renews, under the same context, only the intervals of pairs that were played."""
    ceiling: float = 3.0
    """No value of a plan is above it, where rows are in intervals."""

    def generator(self) -> np.random.Generator:
        """A new generator whose ``random()`` gives the uniforms, one after the other."""
        return np.random.default_rng(self.environment_seed)


@dataclass(frozen=True)
class Played:
    """What a run did. Two loops that agree on all but the seconds have, in all likelihood, played the same steps."""

    seconds: float
    steps: int
    intervals: int
    unknown_steps: int
    total_loss: float
    visits: NDArray[np.int64]
    """[N] by pair"""
    counts: dict[str, int] = field(default_factory=dict)
    """How often the parts of the loop ran, where that is counted."""

    def difference(self, other: Played) -> str:
        """In what two runs differ, or nothing."""
        for name in ("steps", "intervals", "unknown_steps"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                return f"{name}: {mine} against {theirs}"
        apart = np.flatnonzero(self.visits != other.visits)
        if len(apart):
            pair = apart[0]
            return f"visits of {len(apart)} pairs, first {pair}: {self.visits[pair]} against {other.visits[pair]}"
        if not np.isclose(self.total_loss, other.total_loss, rtol=1e-9, atol=0.0):
            return f"total loss: {self.total_loss!r} against {other.total_loss!r}"
        return ""


class CppReference:
    """The compiled program, in a folder of the caller's."""

    def __init__(self, folder: Path, *, flags: tuple[str, ...] = FLAGS) -> None:
        self.folder = folder
        self.program = folder / "lr_cssp"
        self.compiler = _compiler()
        command = [self.compiler, *flags, "-o", str(self.program), str(SOURCE)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise NoCompiler(f"{' '.join(command)} failed: {done.stderr.strip()}")

    def play(self, task: Task) -> Played:
        """Write the task, run the program, read what it says. The seconds are those of its loop alone."""
        path = self.write(task)
        done = subprocess.run([str(self.program), str(path)], capture_output=True, text=True, timeout=TIME_LIMIT)
        if done.returncode:
            raise RuntimeError(done.stderr.strip() or f"the C++ reference ended with {done.returncode}")
        said = json.loads(done.stdout)
        return Played(
            said.pop("seconds"),
            said.pop("steps"),
            said.pop("intervals"),
            said.pop("unknown_steps"),
            said.pop("total_loss"),
            np.array(said.pop("visits"), dtype=np.int64),
            said,
        )

    def write(self, task: Task) -> Path:
        """The task as the file that the program reads; its layout is described in the source."""
        support, size = task.problem.support, task.contexts.shape[1]
        states = support.states
        actions, rest = divmod(support.pairs, states)
        if rest or support.triples != support.pairs * (states + 1):
            raise ValueError(f"{support} is not full; the C++ reference needs every pair and every next state")
        path = self.folder / "task.bin"
        sizes = (states, actions, size, len(task.contexts), len(task.uniforms), task.intervals * (1 + task.keeps_sets))
        given = (task.confidence, task.loss_floor, task.loss_bound, task.regularization)
        settings = (*given, task.width_scale, task.tolerance, task.ceiling)
        arrays = (task.problem.losses, task.problem.probabilities, task.contexts, task.uniforms)
        with path.open("wb") as file:
            np.array(sizes, dtype=np.int64).tofile(file)
            np.array(settings).tofile(file)
            for array in arrays:
                np.ascontiguousarray(array, dtype=np.float64).tofile(file)
        return path


def _compiler() -> str:
    chosen = os.environ.get("CXX")
    for name in (chosen,) if chosen else ("g++", "clang++", "c++"):
        found = shutil.which(name)
        if found:
            return found
    raise NoCompiler("no C++ compiler was found; install g++ or clang++, or name one in CXX")
