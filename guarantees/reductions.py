"""e. With one component, and with one-hot contexts, the regressions are counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from goalbound import LinearCSSP, ModelEnvironment, OneHot, Step
from goalbound.simulation import Simulation, bernoulli
from guarantees.result import Check, Notify, Result, ignore_progress
from guarantees.settings import DELTA, certified, dense, run_episodes

MAX_DIFFERENCE = 1e-12


@dataclass(frozen=True)
class Size:
    """How long the runs are."""

    episodes: int = 3000


QUICK = Size(episodes=300)


class CountingWorld:
    """An environment that counts what happens under each component: visits, losses and next states."""

    def __init__(self, problem: LinearCSSP, *, rng: np.random.Generator) -> None:
        self.environment = ModelEnvironment(problem, losses=bernoulli(), rng=rng)
        support, size = problem.support, problem.context_size
        self.support = support
        self.visits = np.zeros((support.pairs, size))
        self.losses = np.zeros((support.pairs, size))
        self.follows = np.zeros((support.triples, size))
        self.component = 0

    def begin(self, context: np.ndarray) -> int:
        """An episode; the component is the one with all the weight."""
        self.component = int(np.argmax(context))
        return self.environment.begin(context)

    def step(self, action: int) -> Step:
        """A step, counted."""
        step = self.environment.step(action)
        pair = self.support.pair(step.state, step.action)
        row = self.support.row(pair)
        place = row.start + int(np.searchsorted(self.support.next_state[row], step.next_state))
        self.visits[pair, self.component] += 1.0
        self.losses[pair, self.component] += step.loss
        self.follows[place, self.component] += 1.0
        return step


def reductions(size: Size, notify: Notify = ignore_progress) -> Result:
    """Compare the learner's estimates with counts, which are all that a tabular learner keeps."""
    rows: list[list[Any]] = []
    for place, components in enumerate((1, 2, 3)):
        notify(f"d = {components}", place, 3)
        problem = dense(4, seed=components, context_size=components)
        rows.append([components, *_compared(problem, size)])
    worst = max(max(row[2:5]) for row in rows)
    return Result(
        "e", "one component, or one-hot contexts: the regressions are counts",
        f"paper widths, delta = {DELTA}, lambda = 1; S = 4, A = 2, one-hot contexts; losses 0 or 1; "
        f"{size.episodes} episodes",
        [Check(f"estimates and widths are those of counts, to {MAX_DIFFERENCE:g}", worst <= MAX_DIFFERENCE,
               f"largest difference {worst:.1e}")],
        ["d", "steps", "losses", "rows", "widths"], rows,
        ["for each component by itself: losses are sum / (n + lambda), rows are counts / (n + lambda), widths are "
         "1 / sqrt(n + lambda), n the visits under that component"],
    )  # fmt: skip


def _compared(problem: LinearCSSP, size: Size) -> list[Any]:
    """Steps, and the largest differences of losses, rows and widths from those of counts."""
    learner = certified(problem, tolerance=0.1).learner()
    run = Simulation(
        problem, learner, OneHot(problem.context_size), seed=1, environment=partial(CountingWorld, problem)
    )
    run_episodes(run, size.episodes)
    counted: Any = run.environment
    shrunk = counted.visits + 1.0
    support = problem.support
    pair = np.repeat(np.arange(support.pairs), np.diff(support.next_start))
    expected = counted.follows / shrunk[pair]
    to_state = support.next_state < support.states
    widths = np.sqrt(np.einsum("njj->nj", learner.statistics.inverse_gram))
    return [
        int(counted.visits.sum()),
        float(np.abs(learner.estimate.losses - counted.losses / shrunk).max()),
        float(np.abs(learner.estimate.rows - expected)[to_state].max()),
        float(np.abs(widths - 1.0 / np.sqrt(shrunk)).max()),
    ]
