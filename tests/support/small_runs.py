"""Runs of few episodes, and a listener to them."""

from __future__ import annotations

from functools import partial
from typing import Any

from goalbound.experiments import run as running
from goalbound.experiments.run_spec import RunSpec
from goalbound.experiments.spec import ExperimentSpec

HERE = "tests.support.third_party_learner"
SMALL = {"use": "random", "states": 3, "actions": 2, "context_size": 2, "seed": 1}
NARROW = {"use": "lr-cssp", "scale": 0.05}
EPISODES = 30

run = partial(running.run, plugins=[HERE])


def spec_of(learner: dict[str, Any] | None = None, **changes: Any) -> RunSpec:
    values = {"name": "x", "episodes": EPISODES, "problems": [SMALL], "learners": [learner or NARROW], **changes}
    return ExperimentSpec.of(values, plugins=[HERE]).runs()[0]


RUNS = {
    "lr-cssp": spec_of(),
    "doubling and forgetting": spec_of({**NARROW, "loss_bound": "doubling", "forget": True}),
    "noisy losses": spec_of({**NARROW, "support": "full"}, losses="bernoulli"),
    "adversary": spec_of(contexts=[{"use": "adversary"}]),
    "drifting": spec_of(contexts=[{"use": "drifting", "noise": 0.3}]),
    "abandoned episodes": spec_of(step_limit=2),
    "context-blind": spec_of({"use": "context-blind", "scale": 0.05}),
}


class Listening:
    """Keeps what progress it is told."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, int, float]] = []

    def __call__(self, done: int, episodes: int, regret: float) -> None:
        self.calls.append((done, episodes, regret))
