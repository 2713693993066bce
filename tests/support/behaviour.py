"""People who choose actions, and what comes of it: logs of steps that no learner chose."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from goalbound.models import LinearCSSP, Step
from tests.support.driving import draw_step

Log = list[tuple[NDArray[np.float64], Step]]
Choose = Callable[[NDArray[np.float64], int, Log, np.random.Generator], int]
"""The action for a context, a state and what was seen before."""


def at_random(context: NDArray[np.float64], state: int, before: Log, rng: np.random.Generator) -> int:
    return int(rng.integers(2))


def by_context_and_past(context: NDArray[np.float64], state: int, before: Log, rng: np.random.Generator) -> int:
    """Action 1 the more, the heavier component 0; after a bad step anything but what was played there last."""
    if before and before[-1][1].loss > 0.5:
        return 1 - before[-1][1].action
    return int(rng.random() < 0.1 + 0.8 * context[0])


def log_of(problem: LinearCSSP, choose: Choose, steps: int, seed: int) -> Log:
    """So many steps of episodes that begin anywhere, under contexts that drift with what was seen; losses are 0 or 1.

    Contexts too depend on the past: those after a step to the goal lean to component 0.
    """
    rng = np.random.default_rng(seed)
    log: Log = []
    goal = state = problem.support.states
    context = np.full(problem.context_size, 1.0 / problem.context_size)
    for _ in range(steps):
        if state == goal:
            lean = np.ones(problem.context_size)
            lean[0] += 2.0 * bool(log and log[-1][1].loss > 0.5)
            context, state = rng.dirichlet(lean), int(rng.integers(goal))
        step = draw_step(problem, context, state, choose(context, state, log, rng), rng.random())
        log.append((context, step._replace(loss=float(rng.random() < step.loss))))
        state = step.next_state
    return log
