"""How long until the first answer: ``python -m benchmarks.cold_start``.

Each measurement is a process of its own; cold ones begin with an empty folder for numba's cache. Kernels: what
the first solves of a process, imports included, take beyond the same solves a second time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import instances

ROOT = Path(__file__).parents[1]
KERNELS = """
import time
from benchmarks import instances
problems = [make(10_000) for make in (instances.random, instances.grid, instances.free_loops)]
def solve_all():
    begin = time.perf_counter()
    from goalbound.planning import solve
    for problem in problems:
        solve(problem, tolerance=1e-6)
    return time.perf_counter() - begin
first = solve_all()
print(first - solve_all())
"""
LEARNER = """
import time
from goalbound.learners import episode_loop
from goalbound.learners.ridge import GreedyRidge
from goalbound.simulation.history import EpisodeBuffer
from goalbound import LRCSSP, ModelEnvironment, widths
from goalbound.jit.compile import compiled_ahead
from goalbound.problems import random_cssp
import numpy as np
problem = random_cssp(10, actions=3, context_size=3)
environment = ModelEnvironment(problem, rng=np.random.default_rng(0))
contexts, values = np.full((1, 3), 1 / 3), np.ones((1, 11))
begin = time.process_time()
learner = {learner}
with compiled_ahead():
    results = EpisodeBuffer.empty(1, 3).results
    learner.play_episodes(environment, contexts, values, step_limit=10, results=results)
print(time.process_time() - begin)
"""
INTERVALS = LEARNER.replace(
    "{learner}", "LRCSSP(problem.support, 3, loss_floor=0.1, loss_bound=10.0, widths=widths.sharp())"
)
GREEDY = LEARNER.replace("{learner}", "GreedyRidge(problem.support, 3, loss_floor=0.1)")
IMPORT = "import time; begin = time.perf_counter(); import goalbound; print(time.perf_counter() - begin)"


def main() -> int:
    """Measure, print; returns 1 if a goal is missed."""
    command = _command_line()
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}; seconds")
    with tempfile.TemporaryDirectory() as folder:
        cache, empty, toy = (Path(folder) / name for name in ("cache", "empty", "toy.npz"))
        instances.grid(400).save(toy)
        reached = [
            _report("planner kernels, empty cache", 30.0, lambda: _printed(KERNELS, cache)),
            _report("planner kernels, filled cache", 1.5, lambda: _printed(KERNELS, cache), repeats=3),
            _report("LRCSSP with intervals, empty cache, CPU", 30.0, lambda: _printed(INTERVALS, Path(folder) / "one")),
            _report("greedy learner, empty cache, CPU", 20.0, lambda: _printed(GREEDY, Path(folder) / "two")),
            _report("import goalbound", 0.5, lambda: _printed(IMPORT, cache), repeats=5),
            _report("goalbound --help", 0.5, lambda: _wall([*command, "--help"], cache), repeats=5),
            _report("solve of 399 states, empty cache", 2.0, lambda: _wall([*command, "solve", str(toy)], empty)),
        ]
    return 0 if all(reached) else 1


def _report(name: str, goal: float, measure: Callable[[], float], *, repeats: int = 1) -> bool:
    """Measure, keep the best, print it against its goal; whether the goal is reached."""
    try:
        seconds = min(measure() for _ in range(repeats))
    except RuntimeError as error:
        print(f"{name:40}{'failed':>8}   goal {goal:4.1f}   {error}", flush=True)
        return False
    print(f"{name:40}{seconds:8.3f}   goal {goal:4.1f}   {'reached' if seconds <= goal else 'MISSED'}", flush=True)
    return seconds <= goal


def _command_line() -> list[str]:
    """The installed command next to this Python, or else the module."""
    script = shutil.which("goalbound", path=str(Path(sys.executable).parent))
    return [script] if script else [sys.executable, "-m", "goalbound.cli"]


def _printed(code: str, cache: Path) -> float:
    """The seconds that a Python process prints."""
    return float(_run([sys.executable, "-c", code], cache).split()[-1])


def _wall(command: list[str], cache: Path) -> float:
    begin = time.perf_counter()
    _run(command, cache)
    return time.perf_counter() - begin


def _run(command: list[str], cache: Path) -> str:
    """The output of a command; if it fails, an error with its last words."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "no words").splitlines()
        raise RuntimeError(said[-1])
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
