"""A program of a user who has ``mypy --strict``."""

import numpy as np

from goalbound import LRCSSP, Builder, ModelEnvironment, Solution, play, solve
from goalbound.errors import GoalboundError
from goalbound.problems import treatment_ladder
from goalbound.simulation import Dirichlet

problem = treatment_ladder(3, markers=2)
learner = LRCSSP(problem.support, context_size=3, loss_floor=0.1)
environment = ModelEnvironment(problem, rng=np.random.default_rng(0))
episode = learner.begin([0.5, 0.3, 0.2])
state: int = environment.begin([0.5, 0.3, 0.2])
action: int = episode.act(state)
best: Solution = solve(problem.at([0.5, 0.3, 0.2]))
regret: float = play(problem, learner, Dirichlet.symmetric(3), episodes=5).expected_regret.sum()


def made() -> Builder:
    """A problem written down by hand."""
    plan = Builder(components=["young", "old"])
    try:
        plan.add("sick", "drug A", loss=0.2, to={"goal": [0.6, 0.1], "sick": [0.4, 0.9]})
    except GoalboundError as error:
        print(error)
    return plan
