"""Count the files and functions of the package that one call passes. ``python -m tests.house.walks`` prints a table;
with names, as in ``python -m tests.house.walks observe``, the functions.

Kernels run as Python here, so the profiler sees their functions too. Lambdas and comprehensions belong to the function
that they stand in.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median_low
from typing import Any, NamedTuple, TypeVar

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "goalbound"
T = TypeVar("T")


class Walk(NamedTuple):
    """How many files and functions of the package ran."""

    files: int
    functions: int


GOALS = {
    "begin": Walk(8, 20),
    "act": Walk(10, 35),
    "observe": Walk(10, 35),
    "policy_bounds": Walk(20, 90),
    "solve": Walk(12, 60),
}
WARM_UP, EPISODES = 30, 30
"""Episodes before those that are counted, and those."""


def functions_run(call: Callable[[], T], source: Path = SOURCE) -> tuple[T, set[tuple[str, str]]]:
    """What the call returns, and the functions below a folder that ran in it, as (file, name)."""
    found = set()

    def note(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(f"{source}{os.sep}") and not code.co_name.startswith("<"):
            found.add((os.path.relpath(code.co_filename, source), code.co_qualname))

    sys.setprofile(note)
    try:
        returned = call()
    finally:
        sys.setprofile(None)
    return returned, found


def walk_of(functions: set[tuple[str, str]]) -> Walk:
    """The walk through these functions."""
    return Walk(len({file for file, _ in functions}), len(functions))


def passed() -> dict[str, set[tuple[str, str]]]:
    """The functions that each call passes.

    ``begin``, ``act`` and ``observe`` are those of an ``LRCSSP`` as it comes, on a random problem of four states. Of
    its calls in the middle of an episode, neither the first nor the last step, the median in functions counts: where
    nothing rare happens. ``policy_bounds`` is the learner's, ``solve`` is that of the problem under one context.
    """
    import numpy as np

    import goalbound
    from goalbound.problems import random_cssp
    from goalbound.simulation import ModelEnvironment

    problem = random_cssp(4, actions=2, context_size=2, successors=3, exit_probability=0.2, seed=1)
    learner = goalbound.LRCSSP(problem.support, problem.context_size, loss_floor=0.1)
    rng = np.random.default_rng(1)
    environment = ModelEnvironment(problem, rng=rng)
    calls: dict[str, list[set[tuple[str, str]]]] = {name: [] for name in GOALS}
    for number in range(WARM_UP + EPISODES):
        context = rng.dirichlet([1.0, 1.0])
        episode, begun = functions_run(lambda context=context: learner.begin(context))
        state, steps = environment.begin(context), []
        while state != problem.support.states:
            action, acted = functions_run(lambda episode=episode, state=state: episode.act(state))
            step = environment.step(action)
            _, observed = functions_run(lambda episode=episode, step=step: episode.observe(step))
            state = step.next_state
            steps.append((acted, observed))
        if number >= WARM_UP:
            calls["begin"].append(begun)
            for acted, observed in steps[1:-1]:
                calls["act"].append(acted)
                calls["observe"].append(observed)
    context = np.array([0.5, 0.5])
    alone = problem.at(context)
    for name, call in (
        ("policy_bounds", lambda: learner.policy_bounds(context)),
        ("solve", lambda: goalbound.solve(alone)),
    ):
        call()  # what is imported on first use is there
        calls[name].append(functions_run(call)[1])
    return {name: _middle(found) for name, found in calls.items()}


def _middle(found: list[set[tuple[str, str]]]) -> set[tuple[str, str]]:
    length = median_low(map(len, found))
    return next(one for one in found if len(one) == length)


def walks() -> dict[str, set[tuple[str, str]]]:
    """The functions that each call passes, found by a process of its own, where kernels are Python."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(SOURCE.parent)}
    words = [sys.executable, "-m", "tests.house.walks", "--json"]
    ended = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return {name: {(file, function) for file, function in found} for name, found in json.loads(ended.stdout).items()}


def table(found: dict[str, set[tuple[str, str]]]) -> str:
    """The walks beside their goals."""
    lines = [f"{'':12} {'files':>9} {'goal':>9} {'functions':>9} {'goal':>9}"]
    for name, functions in found.items():
        walk, goal = walk_of(functions), GOALS[name]
        lines.append(f"{name:12} {walk.files:>9} {goal.files:>9} {walk.functions:>9} {goal.functions:>9}")
    return "\n".join(lines)


if __name__ == "__main__":
    if "--json" in sys.argv[1:]:
        print(json.dumps({name: sorted(found) for name, found in passed().items()}))
    elif sys.argv[1:]:
        print("\n".join(f"{file}: {function}" for name in sys.argv[1:] for file, function in sorted(walks()[name])))
    else:
        print(table(walks()))
