"""An environment with one state and one action whose outcomes arrive late, in an order that may depend on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from goalbound import LRCSSP, SSP, LinearCSSP, Step

CHANCE, LOSS = 0.5, 0.5
TRUTH = SSP.dense([[LOSS]], [[[1.0 - CHANCE, CHANCE]]])
"""The action costs 0 or 1, each with probability 1/2, and leads to the goal with probability 1/2."""


class Outcome(NamedTuple):
    success: bool
    loss: float


Delay = Callable[[Outcome, np.random.Generator], int | None]
"""After how many ticks an outcome is reported; None: never, the episode is abandoned."""

DELAYS: dict[str, Delay] = {
    "success first": lambda one, _: 1 if one.success and one.loss == 0.0 else 10,
    "failure first": lambda one, _: 10 if one.success and one.loss == 0.0 else 1,
    "random": lambda _, rng: int(rng.integers(1, 11)),
    "failures never": lambda one, _: 1 if one.success else None,
    "successes never": lambda one, _: None if one.success else 1,
}


def truth(size: int) -> LinearCSSP:
    """The same under every context."""
    return LinearCSSP.mix([TRUTH] * size)


def watch(
    learner: LRCSSP, delay: Delay, *, open_episodes: int, outcomes: int, seed: int, look: Callable[[LRCSSP], None]
) -> int:
    """Run so many episodes at once until so many outcomes were reported; ``look`` after each. Returns how many never
    were."""
    rng = np.random.default_rng(seed)
    size = learner.context_size
    running = [learner.begin(rng.dirichlet(np.ones(size))) for _ in range(open_episodes)]
    due: list[tuple[int, int, Outcome] | None] = [None] * open_episodes
    tick = reported = lost = 0
    while reported < outcomes:
        for place, episode in enumerate(running):
            if due[place] is None:
                episode.act(0)
                outcome = Outcome(bool(rng.random() < CHANCE), float(rng.random() < LOSS))
                wait = delay(outcome, rng)
                if wait is None:
                    episode.abandon()
                    running[place] = learner.begin(rng.dirichlet(np.ones(size)))
                    lost += 1
                else:
                    due[place] = (tick + wait, place, outcome)
        tick += 1
        for when, place, outcome in sorted(one for one in due if one is not None and one[0] <= tick):
            assert when <= tick
            running[place].observe(Step(0, 0, outcome.loss, 1 if outcome.success else 0))
            due[place] = None
            reported += 1
            look(learner)
            if running[place].ended:
                running[place] = learner.begin(rng.dirichlet(np.ones(size)))
    return lost
