"""A problem small enough to check a learner on, and an environment to play it in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.kernels import environment as kernels
from goalbound.kernels.compile import engine
from goalbound.kernels.environment import BERNOULLI, DETERMINISTIC, Components
from goalbound.models import Builder, LinearCSSP, Step


def small_problem() -> LinearCSSP:
    """Two kinds of weather, three states with one to three actions, and one action that never arrives.

    >>> small_problem().support
    Support(3 states, 6 pairs, 12 next states)
    """
    plan = Builder(components=["dry", "wet"])
    plan.add("start", "walk", loss=0.3, to={"middle": [0.9, 0.8], "start": [0.1, 0.2]})
    plan.add("start", "run", loss=0.2, to={"last": [0.8, 0.1], "start": [0.2, 0.9]})
    plan.add("middle", "run", loss=[0.2, 0.4], to={"last": [0.9, 0.5], "start": [0.1, 0.5]})
    plan.add("last", "walk", loss=0.4, to={"goal": [0.9, 0.9], "middle": [0.1, 0.1]})
    plan.add("last", "run", loss=0.3, to={"goal": [0.9, 0.3], "middle": [0.05, 0.6], "start": [0.05, 0.1]})
    plan.add("last", "wait", loss=0.9, to={"last": 1.0})
    return plan.linear_cssp()


class Law(NamedTuple):
    """A law of losses, as kernels know it."""

    code: int = DETERMINISTIC
    spread: float = 0.0


class SmallEnvironment:
    """A problem as an environment, for checks: ``begin(context)``, then ``step(action)`` until the goal.

    It takes from its stream what those of :mod:`goalbound.simulation` take, in the same order, and has what a
    learner's compiled loop asks of an environment.
    """

    def __init__(self, problem: LinearCSSP, *, rng: np.random.Generator, noisy: bool = False) -> None:
        support, start = problem.support, problem.start
        self.problem = problem
        self.rng = rng
        self.losses = Law(BERNOULLI if noisy else DETERMINISTIC)
        self.components = Components(support.next_start, support.next_state, problem.losses, problem.probabilities)
        self.start_law: NDArray[np.float64] = np.empty((0, 1))
        if not isinstance(start, int):
            self.start_law = np.ascontiguousarray(start if start.ndim == 2 else start[:, None])
        self.start_law.flags.writeable = False
        self._state = support.states
        self._context = np.empty(0)
        self._run = engine(support.triples)

    def begin(self, context: NDArray[np.float64]) -> int:
        """A new episode under a context [d]; its first state."""
        self._context = self.problem.check_context(context).copy()
        start = self.problem.start
        if not isinstance(start, int):
            start = int(self._run(kernels.draw_start)(self.start_law, self._context, self.rng.random()))
        self._state = start
        return start

    def step(self, action: int) -> Step:
        """Plays an action in the present state."""
        rows, context, state = self.components, self._context, self._state
        pair = self.problem.support.pair(state, int(action))
        following = self._run(kernels.draw_next)(
            rows.next_start, rows.next_state, rows.probabilities, pair, context, self.rng.random()
        )
        loss = float(self._run(kernels.mixed)(rows.losses, pair, context))
        if self.losses.code == BERNOULLI:
            loss = float(self._run(kernels.loss_of)(BERNOULLI, 0.0, loss, self.rng.random()))
        self._state = int(following)
        return Step(state, int(action), loss, self._state)

    def regret_of(self, step: Step, values: NDArray[np.float64]) -> float:
        """What a step lost in expectation, given the optimal values [S + 1] of the context."""
        pair = self.problem.support.pair(step.state, step.action)
        gap = self._run(kernels.suboptimality_gap)
        return float(gap(self.components, pair, step.state, self._context, values, kernels.VALUE_TOLERANCE))
