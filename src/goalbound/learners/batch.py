"""Whole episodes in a simulated environment, by a kernel: as Python while they are few, compiled when that pays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.jit.compile import Effort, Kernel
from goalbound.learners.audit import RegretAudit
from goalbound.learners.protocol import SimulatedEnvironment
from goalbound.models.simulated import VALUE_TOLERANCE, EnvironmentArrays, EpisodeResults


class Batch(NamedTuple):
    """Episodes to play: the environment, and one row of the arrays for each episode.

    Attributes:
        environment: as kernels take it; ``rng`` is its stream.
        step_limit: an episode of so many steps is broken off.
        contexts: [K, d] of the environment.
        seen: [K, d'] what the learner sees of them.
        values: [K, S + 1] the true optimal values, for the regret only.
        results: what came of the episodes, to be filled.
        audit: takes what only someone who knows the truth can see.
    """

    environment: EnvironmentArrays
    rng: np.random.Generator
    step_limit: int
    contexts: NDArray[np.float64]
    seen: NDArray[np.float64]
    values: NDArray[np.float64]
    results: EpisodeResults
    audit: RegretAudit | None

    @classmethod
    def of(
        cls,
        environment: SimulatedEnvironment,
        contexts: NDArray[np.float64],
        values: NDArray[np.float64],
        *,
        step_limit: int,
        results: EpisodeResults,
        shown: NDArray[np.float64] | None = None,
        audit: RegretAudit | None = None,
    ) -> Batch:
        """From the arguments of ``play_episodes``; the learner sees the contexts if nothing else is ``shown``."""
        start, law = environment.problem.start, environment.losses
        arrays = EnvironmentArrays(
            environment.components, start if isinstance(start, int) else -1, environment.start_law,
            law.code, law.spread, VALUE_TOLERANCE,
        )  # fmt: skip
        seen = contexts if shown is None else shown
        return cls(arrays, environment.rng, int(step_limit), contexts, seen, values, results, audit)

    def rows(self, first: int, last: int) -> Batch:
        """The episodes from ``first`` on, before ``last``."""
        return self._replace(
            contexts=self.contexts[first:last], seen=self.seen[first:last], values=self.values[first:last],
            results=rows_of(self.results, first, last),
        )  # fmt: skip


def rows_of(results: EpisodeResults, first: int, last: int) -> EpisodeResults:
    """The results of the episodes from ``first`` on, before ``last``, as views."""
    return EpisodeResults._make(column[first:last] for column in results)


def play_batch(
    loop: Kernel, batch: Batch, play: Callable[[Callable[..., Any], Batch], int], *, effort: Effort, work: int
) -> bool:
    """Play the episodes by the kernel ``loop``; whether all came to their end.

    ``play(run, part)`` plays a part of them by a form of the kernel, and returns how many came to their end. ``work``
    is about what a step costs.
    """
    episodes, played = len(batch.contexts), 0
    while played < episodes:
        run = effort.engine((episodes - played) * work)(loop)
        # As Python, one episode at a time: how long they are, and so whether the compiler pays, is seen only then.
        python = run is loop.python or (run == loop.ready and not play(loop.is_ready, batch.rows(played, played)))
        last = played + 1 if python else episodes
        part = batch.rows(played, last)
        played += play(run, part)
        effort.spent += int(part.results.steps.sum()) * work
        if played < last:
            return False
    return True
