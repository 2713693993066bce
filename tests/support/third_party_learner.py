"""Things that an experiment may name by import path, as someone else would write them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from goalbound import plugin
from goalbound.learners.reference import Clairvoyant, FixedPolicy
from goalbound.models import LinearCSSP

SEEN: dict[str, Any] = {}


class Declared:
    """Plays one policy whatever the context, and says so."""

    def __init__(self, problem: LinearCSSP, policy: list[int]) -> None:
        self.problem, self.policy = problem, np.array(policy)

    def begin(self, context: Any) -> FixedPolicy:
        return FixedPolicy(self.problem, self.policy)

    def plan(self, context: Any) -> Any:
        return SimpleNamespace(policy=self.policy)


@plugin
def drugs(*, start: list[float] | None = None) -> LinearCSSP:
    """A drug that always works (loss 0.5), one that does in 0.9 or 0.1 of all cases (0.2), and waiting (0.1)."""
    works, waits = [0.0, 1.0], [1.0, 0.0]
    tables = [[[works, [1.0 - rate, rate], waits]] for rate in (0.9, 0.1)]
    return LinearCSSP.dense([[[0.5, 0.2, 0.1]]] * 2, tables)


@plugin
def given(problem: LinearCSSP, *, policy: list[int] | None = None) -> Declared:
    return Declared(problem, [0] * problem.support.states if policy is None else policy)


@plugin
def asks_for_all(problem: LinearCSSP, *, episodes: int, rng: np.random.Generator, patience: int = 3) -> Clairvoyant:
    SEEN.update(episodes=episodes, draw=rng.random(), patience=patience)
    return Clairvoyant(problem)


@plugin
def refuses(problem: LinearCSSP, *, patience: int = 3) -> Clairvoyant:
    raise ValueError(f"patience {patience} is a virtue")


@plugin
def no_learner(problem: LinearCSSP) -> str:
    return "hello"
