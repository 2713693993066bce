"""Every learner beside LR-CSSP, by time per step: ``python -m benchmarks.baselines [--quick]``.

All play the compiled loop on the same random problem (rows Dirichlet(1), losses uniform in [0.1, 1]) and the same
contexts, with the constants of their papers; context-free ones on the problem of one component of the same size, beside
an LR-CSSP of one component. They are timed in turns (CPU time: the machine may have other work), after a short run that
compiles; the median of three counts. What a learner does decides how long its episodes are, so time is per step.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from benchmarks.learner import make_task
from goalbound import LRCSSP, LinearCSSP, ModelEnvironment, context_bounds
from goalbound import baselines as tabular
from goalbound.baselines import Method
from goalbound.learners import ridge
from goalbound.learners.learner import RidgeLearner
from goalbound.simulation.history import EpisodeBuffer

ROUNDS = 3
STEP_LIMIT = 100_000
FLOOR = 0.1
BOUND = 12.0
"""Told to LR-CSSP: above what the best policies lose at the largest size, where to certify it takes a minute."""


@dataclass(frozen=True)
class Size:
    """How large a problem is, and how many episodes are played."""

    states: int
    actions: int
    context_size: int
    episodes: int

    @property
    def name(self) -> str:
        return f"S={self.states} A={self.actions} d={self.context_size}"


SIZES = (Size(4, 2, 2, 20_000), Size(10, 3, 3, 5_000), Size(30, 4, 5, 1_000))
Maker = Callable[[LinearCSSP, int], Any]
"""Makes a learner for a problem and a number of episodes."""


def contextual() -> Mapping[str, Maker]:
    """Learners that see the context, LR-CSSP first."""
    return {
        "LR-CSSP": _lr_cssp,
        "greedy ridge": _ridge(ridge.GreedyRidge),
        "epsilon-greedy": _ridge(ridge.EpsilonGreedy),
        "PS-CSSP": _ridge(ridge.PosteriorSampling),
        "KWIK-Rmax": _ridge(ridge.KwikRmax),
    }


def context_free() -> Mapping[str, Maker]:
    """Learners of one component, LR-CSSP first."""
    return {
        "LR-CSSP": _lr_cssp,
        "UC-SSP": _tabular(lambda bound, time, episodes: Method("uc-ssp")),
        "Hoeffding-SSP": _tabular(lambda bound, time, episodes: Method("hoeffding-ssp", loss_bound=bound)),
        "Bernstein-SSP": _tabular(lambda bound, time, episodes: Method("bernstein-ssp")),
        "EB-SSP": _tabular(lambda bound, time, episodes: Method("eb-ssp", loss_bound=bound)),
        "ULCVI": _tabular(
            lambda bound, time, episodes: Method("ulcvi", loss_bound=bound, time_bound=time, episodes=episodes)
        ),
        "PSRL-SSP": _tabular(lambda bound, time, episodes: Method("psrl-ssp")),
    }


def _lr_cssp(problem: LinearCSSP, episodes: int) -> LRCSSP:
    return LRCSSP(problem.support, problem.context_size, loss_floor=FLOOR, loss_bound=BOUND)


def _ridge(make: Callable[..., RidgeLearner]) -> Maker:
    return lambda problem, episodes: make(problem.support, problem.context_size, loss_floor=FLOOR)


def _tabular(method: Callable[[float, float, int], tabular.Method]) -> Maker:
    def made(problem: LinearCSSP, episodes: int) -> tabular.TabularLearner:
        return tabular.TabularLearner(problem.support, method(*_bounds(problem), episodes), loss_floor=FLOOR)

    return made


_BOUNDS: dict[int, tuple[float, float]] = {}


def _bounds(problem: LinearCSSP) -> tuple[float, float]:
    """Certified B* and T*, at least 1."""
    if id(problem) not in _BOUNDS:
        found = context_bounds(problem, tolerance=0.1)
        _BOUNDS[id(problem)] = (max(1.0, float(found.loss_bound.upper)), max(1.0, float(found.time_bound.upper)))
    return _BOUNDS[id(problem)]


def seconds_per_step(make: Maker, problem: LinearCSSP, contexts: np.ndarray, *, seed: int = 0) -> tuple[float, int]:
    """CPU seconds per step of one run from nothing, and its steps."""
    learner = make(problem, len(contexts))
    environment = ModelEnvironment(problem, rng=np.random.default_rng(seed))
    values = np.ones((len(contexts), problem.support.states + 1))  # regret is measured, not looked at
    values.flags.writeable = contexts.flags.writeable = False
    results = EpisodeBuffer.empty(len(contexts), problem.context_size).results
    begin = time.process_time()
    learner.play_episodes(environment, contexts, values, step_limit=STEP_LIMIT, results=results)
    seconds = time.process_time() - begin
    steps = int(results.steps.sum())
    return seconds / steps, steps


def compare(makers: Mapping[str, Maker], size: Size, *, rounds: int = ROUNDS) -> dict[str, tuple[float, int]]:
    """The median time per step of each learner, taken in turns, and the steps of a run."""
    task = make_task(size.states, actions=size.actions, context_size=size.context_size, episodes=size.episodes)
    warm = np.array(task.contexts[: max(10, size.episodes // 20)])
    for make in makers.values():
        seconds_per_step(make, task.problem, warm)
    times: dict[str, list[float]] = {name: [] for name in makers}
    steps: dict[str, int] = {}
    for _ in range(rounds):
        for name, make in makers.items():
            taken, steps[name] = seconds_per_step(make, task.problem, np.array(task.contexts))
            times[name].append(taken)
    return {name: (median(times[name]), steps[name]) for name in makers}


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.baselines", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the episodes")
    quick = parser.parse_args(arguments).quick
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}; the median of {ROUNDS} runs, CPU time")
    for size in SIZES:
        episodes = size.episodes // 10 if quick else size.episodes
        for makers, context_size in ((contextual(), size.context_size), (context_free(), 1)):
            played = Size(size.states, size.actions, context_size, episodes)
            _print(played, compare(makers, played))
    return 0


def _print(size: Size, found: Mapping[str, tuple[float, int]]) -> None:
    print(f"\n{size.name}, {size.episodes} episodes\n{'learner':16}{'steps':>10}{'us / step':>12}{'x LR-CSSP':>12}")
    ours, _ = found["LR-CSSP"]
    for name, (taken, steps) in found.items():
        print(f"{name:16}{steps:10}{1e6 * taken:12.3f}{taken / ours:12.2f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
