"""A small world with a runbook, a restart that breaks, and cases that are handled one by one."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalbound import Builder, GreedyRidge, LinearCSSP, ModelEnvironment, Monitored, Step, Support

RUNBOOK = {"down": "page", "degraded": "page"}


def world(restart: float = 0.8) -> LinearCSSP:
    """A restart leads to the goal with this probability when calm, and 0.1 less when busy; a page with 0.9."""
    plan = Builder(components=["calm", "busy"])
    fails = [1.0 - restart, 1.1 - restart]
    plan.add("down", "restart", loss=0.1, to={"goal": [restart, restart - 0.1], "degraded": 0.0, "down": fails})
    plan.add("down", "page", loss=0.4, to={"goal": 0.9, "degraded": 0.1})
    plan.add("degraded", "restart", loss=0.1, to={"goal": [restart, restart - 0.1], "degraded": fails})
    plan.add("degraded", "page", loss=0.4, to={"goal": 0.9, "degraded": 0.1})
    return plan.linear_cssp(start="down")


BEFORE, AFTER = world(), world(restart=0.12)


def greedy() -> GreedyRidge:
    return GreedyRidge(BEFORE.support, 2, loss_floor=0.1)


def contexts(count: int, seed: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).dirichlet([1.0, 1.0], size=count)


def handle(learner: Any, problem: LinearCSSP, cases: NDArray[np.float64], *, seed: int = 0) -> list[list[Step]]:
    """The steps of each case."""
    environment = ModelEnvironment(problem, rng=np.random.default_rng(seed))
    found = []
    for context in cases:
        episode, state, steps = learner.begin(context), environment.begin(context), []
        while state != problem.support.states:
            steps.append(environment.step(episode.act(state)))
            episode.observe(steps[-1])
            state = steps[-1].next_state
        found.append(steps)
    return found


def people(problem: LinearCSSP, cases: int, *, seed: int = 0) -> list[tuple[NDArray[np.float64], Step]]:
    """The log of people who do anything, step by step."""
    rng = np.random.default_rng(seed)
    environment, log = ModelEnvironment(problem, rng=rng), []
    for context in contexts(cases, seed):
        state = environment.begin(context)
        while state != problem.support.states:
            log.append((context, environment.step(int(rng.integers(2)))))
            state = log[-1][1].next_state
    return log


def changed(inner: Any = None) -> Monitored:
    """A monitored learner that has noticed that restarts hardly help any more."""
    learner = Monitored(greedy() if inner is None else inner, run_length=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner.learn_log([*people(BEFORE, 200), *people(AFTER, 60, seed=1)])
    assert learner.alarms
    return learner


def with_state_before(support: Support, name: str) -> Support:
    """The support with one more state, before the others; there a page helps, or nothing changes."""
    states, actions = support.state_names, support.action_names
    assert states is not None
    assert actions is not None
    rows = {
        states[state]: {
            actions[support.pair_action[pair]]: [[*states, "goal"][s] for s in support.next_state[support.row(pair)]]
            for pair in range(support.pair_start[state], support.pair_start[state + 1])
        }
        for state in range(support.states)
    }
    return Support.from_names({name: {"page": [name, "goal"]}, **rows})


def rewrite_header(path: Path, **entries: Any) -> None:
    """The file gets other entries in its header."""
    rewrite_file(path, **entries)


def rewrite_file(path: Path, *, without: str | None = None, **entries: Any) -> None:
    """The file gets other entries in its header, and has an array less."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist() if name != f"{without}.npy"}
    members["header.json"] = json.dumps(json.loads(members["header.json"]) | entries).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    path.write_bytes(out.getvalue())
