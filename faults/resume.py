"""Stopped at any moment and opened again, a store does what it would have done without a stop."""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

from faults.result import Result
from faults.world import CONTEXT, NAME, learner, outcome, quick_folder
from goalbound.serve.store.engine import Engine
from goalbound.serve.store.log import SqliteLog

_AT_ONCE = 4


def resume(folder: Path, *, seeds: int, steps: int) -> Result:
    """For each seed a run with stops, some of them after a snapshot, against one without: same actions, same state."""
    result = Result("resume is no stop")
    for seed in range(seeds):
        with tempfile.TemporaryDirectory(dir=quick_folder()) as place:
            straight, _ = _run(Path(place) / "straight", seed, steps, stops=False)
            stopped, count = _run(Path(place) / "stopped", seed, steps, stops=True)
        result.add("steps", steps)
        result.add("stops", count)
        result.check(straight[0] == stopped[0], f"seed {seed}: other actions")
        result.check(straight[1] == stopped[1], f"seed {seed}: another state")
    result.counts["seeds"] = seeds
    shutil.rmtree(folder, ignore_errors=True)
    return result


def _opened(folder: Path) -> Engine:
    folder.mkdir(exist_ok=True)
    return Engine(SqliteLog(folder, create=True), most_cases=1000)


def _run(folder: Path, seed: int, steps: int, *, stops: bool) -> tuple[tuple[list[Any], str], int]:
    """The actions and the state at the end; and how often it was stopped."""
    draws, when = random.Random(seed), random.Random(f"stops {seed}")
    engine, stopped, begun = _opened(folder), 0, 0
    engine.create(NAME, learner())
    open_cases: dict[str, int] = {}
    actions: list[Any] = []
    for number in range(steps):
        if len(open_cases) < _AT_ONCE:
            begun += 1
            id = f"s{seed}-{begun}"
            answer = engine.begin(NAME, CONTEXT, 0, id=id)
        else:
            id = sorted(open_cases)[draws.randrange(_AT_ONCE)]
            loss, state = outcome(id, open_cases[id] + 1)
            taken = draws.choice((None, None, 0, 1))
            answer = engine.observe(NAME, id, loss, state, taken=taken, step=open_cases[id] + 1)
        actions.append((id, answer.step, answer.action))
        open_cases[id] = answer.step
        if answer.done:
            del open_cases[id]
        if stops and when.random() < 0.05:
            if when.random() < 0.5:
                engine.snapshot()
            engine.commit()
            engine.log.close()
            engine, stopped = _opened(folder), stopped + 1
        elif number % 8 == 0:
            engine.commit()
    engine.commit()
    found = (actions, engine.digest()["state"])
    engine.log.close()
    return found, stopped
