"""Large learners and large context bounds: ``python -m benchmarks.large [--quick]``.

Memory, files and plans of learners on large supports: LR-CSSP with its default widths (likelihood-ratio sets) and with
sharp ones, and posterior sampling. Each is measured in a process of its own, kernels compiled beforehand. Ratios are to
what the straightforward way takes: every array whole in memory and in the file (those of sharp widths), a call from
Python for each pair. Bounds over all contexts are compared with those by the pairs that may be optimal, given the same
time. Linux only, where memory is asked for. Ends with 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from goalbound import LRCSSP, PosteriorSampling, Step, Support, context_bounds, widths
from goalbound.confidence.protocol import is_known
from goalbound.jit.compile import compiled_ahead, lean
from goalbound.learners.learner import RidgeLearner
from goalbound.learners.loop import look_at
from goalbound.planning.context_bounds import branch_and_bound
from goalbound.problems import routing_grid

ROOT = Path(__file__).parents[1]
ROUNDS = 3
BOUNDS_TOLERANCE = 0.05


@dataclass(frozen=True)
class Size:
    """A support, how many steps are learned first (each of a random pair), and what is to be reached."""

    states: int
    actions: int
    next_states: int
    context_size: int
    steps: int
    megabytes: float
    seconds: float
    file_megabytes: float

    @property
    def name(self) -> str:
        shape = (
            f"{self.states:,} states, {self.actions} actions, {self.next_states} next states, d = {self.context_size}"
        )
        return f"{shape}, {self.steps:,} steps"


SIZES = (
    Size(1_000, 10, 5, 10, 100_000, 150.0, 0.05, 70.0),
    Size(100_000, 2, 3, 4, 100_000, 3_000.0, 2.0, 4_000.0),
    Size(100_000, 10, 5, 10, 20_000, 3_000.0, 2.0, 4_000.0),
)


@dataclass(frozen=True)
class Measured:
    """Bytes and seconds."""

    whole: int
    """all arrays of a learner, each number of all pairs"""
    resident: int
    """what the process grew by, with one plan made"""
    file: int
    plan: float
    confidence_set: float | None
    """None: a learner without confidence sets"""
    pair_by_pair: float
    """the sets of all pairs and their known tests, one call for each"""
    save: float
    load: float


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; returns 1 if a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1,000 states and 100 crossings only")
    parser.add_argument("--one", nargs=2, metavar=("SIZE", "LEARNER"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one is not None:
        size, kind = options.one
        print(json.dumps(asdict(measure(SIZES[int(size)], kind))))
        return 0
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}; the best of {ROUNDS}, each size in its process")
    sizes = range(1 if options.quick else len(SIZES))
    reached = [_report(number, kind) for number in sizes for kind in LEARNERS]
    compare_bounds(10 if options.quick else 20)
    return 0 if all(reached) else 1


def _report(number: int, kind: str) -> bool:
    size = SIZES[number]
    command = [sys.executable, "-m", "benchmarks.large", "--one", str(number), kind]
    told = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    found = Measured(**json.loads(told))
    rows = [
        ("memory, MB", found.resident / 1e6, size.megabytes, found.whole / found.resident),
        ("file, MB", found.file / 1e6, size.file_megabytes, found.whole / found.file),
        ("plan, ms", 1e3 * found.plan, 1e3 * size.seconds, found.pair_by_pair / found.plan),
        ("save, ms", 1e3 * found.save, math.inf, math.nan),
        ("load, ms", 1e3 * found.load, math.inf, math.nan),
    ]
    if found.confidence_set is not None:
        ratio = found.pair_by_pair / found.confidence_set
        rows.append(("confidence set, ms", 1e3 * found.confidence_set, 1e3 * size.seconds, ratio))
    print(f"\n{kind}: {size.name}\n{'':20}{'':>10}{'goal':>10}{'whole, or pair by pair, is x':>32}")
    for name, value, goal, ratio in rows:
        shown = "" if math.isinf(goal) else f"{goal:10.0f}{ratio:32.1f}"
        print(f"{name:20}{value:10.1f}{shown}{'   MISSED' if value > goal else ''}", flush=True)
    return all(value <= goal for _, value, goal, _ in rows)


def _likelihood(support: Support, context_size: int) -> RidgeLearner:
    return LRCSSP(support, context_size, loss_floor=0.1)


def _sharp(support: Support, context_size: int) -> RidgeLearner:
    return LRCSSP(support, context_size, loss_floor=0.1, widths=widths.sharp())


def _posterior(support: Support, context_size: int) -> RidgeLearner:
    return PosteriorSampling(support, context_size, loss_floor=0.1, rng=np.random.default_rng(0))


LEARNERS = {
    "LRCSSP": _likelihood,
    "LRCSSP, sharp widths": _sharp,
    "PosteriorSampling": _posterior,
}


def measure(size: Size, kind: str) -> Measured:
    """One learner, from its support to its file and back."""
    make = LEARNERS[kind]
    rng = np.random.default_rng(0)
    support = random_support(size, rng)
    with compiled_ahead():
        _use(make(Support.full(2, 2), 2))
        before = _resident_bytes()
        learner = make(support, size.context_size)
        learner.learn_log(random_log(support, size, rng))
        contexts = rng.dirichlet(np.ones(size.context_size), ROUNDS)
        learner.plan(contexts[0])
        resident = _resident_bytes() - before
        plan = min(_timed(lambda c=c: learner.plan(c)) for c in contexts)
        sets = None
        if learner.has_sets:
            sets = min(_timed(lambda c=c: learner.confidence_set(c)) for c in contexts)
        pair_by_pair = _timed(lambda: _each_pair(learner, contexts[0]))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "learner.npz"
            save = _timed(lambda: learner.save(path), clock=time.perf_counter)
            load = _timed(lambda: type(learner).load(path), clock=time.perf_counter)
            file = path.stat().st_size
    return Measured(_whole_bytes(learner), resident, file, plan, sets, pair_by_pair, save, load)


def random_support(size: Size, rng: np.random.Generator) -> Support:
    """Random next states for every pair; the first action of each state may lead to the goal."""
    pairs = size.states * size.actions
    target = rng.integers(0, size.states, (pairs, size.next_states))
    target[:: size.actions, -1] = size.states
    target.sort(axis=1)
    new = np.ones(target.shape, dtype=np.bool_)
    new[:, 1:] = target[:, 1:] != target[:, :-1]
    return Support(
        np.arange(0, pairs + 1, size.actions), np.tile(np.arange(size.actions), size.states),
        np.append(0, np.cumsum(new.sum(axis=1))), target[new],
    )  # fmt: skip


def random_log(support: Support, size: Size, rng: np.random.Generator) -> Iterator[tuple[NDArray[np.float64], Step]]:
    """Steps of random pairs under random contexts."""
    for _ in range(size.steps):
        pair = int(rng.integers(support.pairs))
        following = int(rng.choice(support.next_state[support.row(pair)]))
        step = Step(int(support.pair_state[pair]), int(support.pair_action[pair]), rng.uniform(0.1, 1.0), following)
        yield rng.dirichlet(np.ones(size.context_size)), step


def _use(learner: RidgeLearner) -> None:
    """All that is measured, once: it is compiled then."""
    learner.learn_log([([0.5, 0.5], Step(0, 0, 0.5, 1))] * 2)
    learner.plan([0.5, 0.5])
    if learner.has_sets:
        learner.confidence_set([0.5, 0.5])
    _each_pair(learner, np.array([0.5, 0.5]))


def _each_pair(learner: RidgeLearner, context: NDArray[np.float64]) -> None:
    """As plans were made and shown before: a call for the set of each pair, and one for its known test."""
    constants, state, arrays = learner._constants, learner._state, learner._new_episode_state()
    arrays.context[:] = context
    look, test = learner._program[look_at], learner._program[known_test]
    for pair in range(learner.support.pairs):
        look.compiled(constants, state, arrays, pair)
    for pair in range(learner.support.pairs):
        test.compiled(constants, state, arrays, pair)


@lean
def known_test(constants, state, view, pair):
    """The known test of a pair."""
    return is_known(constants, state, view, pair)


def _whole_bytes(learner: RidgeLearner) -> int:
    """Gram matrices, what they lack, inverses and variances as whole matrices; the vectors of pairs and triples."""
    size, support = learner.context_size, learner.support
    vectors = 6 * support.pairs + 3 * support.triples
    return 8 * (size**2 * (3 * support.pairs + support.triples) + size * vectors)


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _timed(run: Callable[[], object], *, clock: Callable[[], float] = time.process_time) -> float:
    """Seconds of CPU, which other programs on the machine change little; one thread runs."""
    begin = clock()
    run()
    return clock() - begin


def compare_bounds(side: int) -> None:
    """Bounds over all contexts of a city of four regimes: by prices, then by pairs in the same time."""
    problem = routing_grid(side, side, regimes=4)
    before = branch_and_bound.FEW_STATES
    print(f"\ncontext_bounds to {BOUNDS_TOLERANCE:.0%}, {side} x {side} crossings, 4 traffic regimes")
    seconds = math.inf
    for name, few_states in (("by prices", 0), ("by pairs", problem.support.states)):
        branch_and_bound.FEW_STATES = few_states
        with compiled_ahead():
            context_bounds(routing_grid(3, 3, regimes=4), tolerance=0.3)
        begin = time.perf_counter()
        bound = context_bounds(problem, tolerance=BOUNDS_TOLERANCE, time_limit=seconds).time_bound
        seconds = min(seconds, time.perf_counter() - begin)
        print(
            f"{name:12}{seconds:8.1f} s  T* in [{bound.lower:.4g}, {bound.upper:.4g}]; {bound.status.value}", flush=True
        )
    branch_and_bound.FEW_STATES = before


if __name__ == "__main__":
    sys.exit(main())
