"""The same answer, to the bit, for any number of threads, and again."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from goalbound import Solution, solve
from goalbound.jit import compile as compilation
from tests.support.large_problems import grid, mostly_zero, random_exits, uniform

ROOT = Path(__file__).parents[3]

PROBLEMS = {
    "a grid with drift": lambda: grid(70, 0.2, uniform),
    "a grid that wanders where half of the pairs are free": lambda: grid(70, 0.9, mostly_zero),
    "random exits": lambda: random_exits(5500, 0.001),
}


def digest(found: Solution) -> str:
    """SHA-256 of all that a solution says."""
    bits = hashlib.sha256()
    for array in (found.values, found.lower, found.upper, found.policy):
        bits.update(array.tobytes())
    return bits.hexdigest()


def digests() -> list[str]:
    problems = [make() for make in PROBLEMS.values()]
    assert all(ssp.support.triples > compilation.TOY_WORK for ssp in problems)
    return [digest(solve(ssp)) for ssp in problems]


@pytest.fixture(scope="module")
def here() -> list[str]:
    """The digests of this process, on as many threads as there are."""
    return digests()


@pytest.mark.parametrize("threads", [1, 2])
def test_processes_with_other_thread_counts_find_the_same_bits(threads: int, here: list[str]) -> None:
    counts = {f"{name}_NUM_THREADS": str(threads) for name in ("OPENBLAS", "OMP", "MKL", "NUMBA")}
    command = [sys.executable, "-m", "tests.unit.planning.test_solve_threads"]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | counts, capture_output=True, text=True, check=True)
    assert done.stdout.split() == here


if __name__ == "__main__":
    print(*digests())
