"""A learner that tries every action of a state some times and then plays the one that cost least."""

from __future__ import annotations

import numpy as np

from goalbound import LinearCSSP, Step, plugin


class Tryer:
    """Mean loss of each pair; blind to the context, and to what comes later."""

    def __init__(self, problem: LinearCSSP, *, tries: int, rng: np.random.Generator) -> None:
        self.support = problem.support
        self.tries = tries
        self.rng = rng
        self.visits = np.zeros(self.support.pairs)
        self.losses = np.zeros(self.support.pairs)

    def begin(self, context) -> TryerEpisode:
        return TryerEpisode(self)


class TryerEpisode:
    """Keeps its action until it observes."""

    def __init__(self, learner: Tryer) -> None:
        self.learner = learner
        self._action: int | None = None
        self.intervals = 0

    def act(self, state: int) -> int:
        if self._action is None:
            self._action = self._chosen(state)
        return self._action

    def _chosen(self, state: int) -> int:
        learner = self.learner
        pairs = np.arange(learner.support.pair_start[state], learner.support.pair_start[state + 1])
        fresh = pairs[learner.visits[pairs] < learner.tries]
        if len(fresh) or learner.rng.random() < 0.2:
            pair = learner.rng.choice(fresh if len(fresh) else pairs)
        else:
            pair = pairs[np.argmin(learner.losses[pairs] / learner.visits[pairs])]
        return int(learner.support.pair_action[pair])

    def observe(self, step: Step) -> None:
        pair = self.learner.support.pair(step.state, step.action)
        self.learner.visits[pair] += 1
        self.learner.losses[pair] += step.loss
        self._action = None


@plugin
def tryer(problem: LinearCSSP, *, rng: np.random.Generator, tries: int = 3) -> Tryer:
    """What an experiment names: ``use = "careful_walks.learner:tryer"``."""
    return Tryer(problem, tries=tries, rng=rng)
