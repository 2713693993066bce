"""A walk along a ditch: careful steps arrive in any weather, hasty ones fall back when it is wet."""

from __future__ import annotations

from functools import partial

import numpy as np

from goalbound import Builder, LinearCSSP, Step, plugin
from goalbound.experiments.registry import ProblemInstance


@plugin
def ditch(*, length: int = 3, haste: float = 0.9) -> LinearCSSP:
    """What an experiment names: ``use = "careful_walks.problem:ditch"``."""
    plan = Builder(components=["dry", "wet"])
    for at in range(length):
        here, ahead = f"step {at}", f"step {at + 1}" if at + 1 < length else "goal"
        plan.add(here, "careful", loss=0.5, to={ahead: 1.0})
        back = "step 0" if at else here
        plan.add(here, "hasty", loss=0.2, to={ahead: [haste, 0.1], back: [1.0 - haste, 0.9]})
    return plan.linear_cssp()


class DitchEnvironment:
    """An environment of one's own: here it draws from the problem, elsewhere it would be a machine."""

    def __init__(self, problem: LinearCSSP, *, rng: np.random.Generator) -> None:
        self.problem, self.rng = problem, rng

    def begin(self, context) -> int:
        self.now = self.problem.at(context)
        self.state = 0
        return 0

    def step(self, action: int) -> Step:
        support = self.problem.support
        pair = support.pair(self.state, action)
        row = support.row(pair)
        following = int(self.rng.choice(support.next_state[row], p=self.now.probabilities[row]))
        step = Step(self.state, action, float(self.now.losses[pair]), following)
        self.state = following
        return step


@plugin
def real_ditch(*, length: int = 3) -> ProblemInstance:
    """A problem with an environment of its own."""
    problem = ditch(length=length)
    return ProblemInstance(problem, partial(DitchEnvironment, problem))
