"""c. Every episode ends, on every family of problems, whatever the contexts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goalbound import Adversary, Dirichlet, OneHot
from goalbound.problems import CATALOG
from guarantees.result import Check, Notify, Result, ignore_progress
from guarantees.settings import DELTA, certified, full_support, run_episodes, simulation

STEP_LIMIT = 1_000_000
MAX_STATES = 30
"""Up to this many states the learner is also run without its support."""


@dataclass(frozen=True)
class Size:
    """How many episodes of each."""

    episodes: int = 2000
    adversarial_episodes: int = 1000
    families: tuple[str, ...] = tuple(name for name in CATALOG if name != "demo")


QUICK = Size(episodes=200, adversarial_episodes=100)


def termination(size: Size, notify: Notify = ignore_progress) -> Result:
    """Play every family with one-hot, mixed and adversarial contexts."""
    rows: list[list[Any]] = []
    for place, name in enumerate(size.families):
        notify(name, place, len(size.families))
        instance = certified(CATALOG[name].make(), tolerance=0.1)
        components = instance.problem.context_size
        supports = {"own": instance.problem.support}
        if instance.problem.support.states <= MAX_STATES:
            supports["full"] = full_support(instance.problem.support)
        for knows, support in supports.items():
            for contexts, source in (
                ("one-hot", OneHot(components)),
                ("mixed", Dirichlet.symmetric(components)),
                ("adversary", Adversary.anywhere(components)),
            ):
                learner = instance.learner(support=support)
                run = simulation(instance.problem, learner, source, seed=place)
                episodes = size.adversarial_episodes if contexts == "adversary" else size.episodes
                history = run_episodes(run, episodes)
                rows.append([
                    name, knows, contexts, history.episodes, int(history.abandoned.sum()), int(history.steps.sum()),
                    int(history.steps.max()), float(np.mean(history.steps[-history.episodes // 10 :])),
                    instance.time_bound,
                ])  # fmt: skip
    abandoned, episodes = sum(row[4] for row in rows), sum(row[3] for row in rows)
    longest = max(row[6] for row in rows)
    return Result(
        "c", "every episode ends",
        f"paper widths, delta = {DELTA}; losses 0 or 1; an episode of {STEP_LIMIT:,} steps would be abandoned",
        [Check("no episode was abandoned", abandoned == 0, f"{episodes:,} episodes, the longest {longest:,} steps")],
        ["family", "support", "contexts", "episodes", "abandoned", "steps", "longest", "last tenth", "T*"], rows,
        ["last tenth: mean steps of an episode in the last tenth of the run; T*: what optimal policies need at most"],
    )  # fmt: skip
