"""Whole episodes in a simulated environment, without leaving compiled code; as Python while they are few.

The same moves as the plain loop makes, in the same order, with the same numbers of the stream: to the bit the same run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.protocol import before_visit
from goalbound.jit.compile import Effort, Kernel, Slot, lean, short_loops
from goalbound.learners.doubling import plan_under_bound
from goalbound.learners.explore.protocol import draw, select
from goalbound.learners.loop import begin, observe
from goalbound.learners.protocol import SimulatedEnvironment
from goalbound.models.simulated import (
    VALUE_TOLERANCE,
    EnvironmentArrays,
    EpisodeResults,
    env_step,
    first_state,
    greedy_pair,
    uniform_pair,
    write_results,
)

if TYPE_CHECKING:
    from goalbound.learners.audit import RegretAudit

watch_plan = Slot("watch_plan")
watch_step = Slot("watch_step")
watch_pair = Slot("watch_pair")
"""What an audit looks at: after a new plan, after a step and before the learner learns, and afterwards."""


@lean
def successor_index(next_start, next_state, pair, following):
    """Where a next state stands in the row of a pair, or -1. O(log of the row)."""
    low = next_start[pair]
    high = next_start[pair + 1]
    guess = low + following  # the place in a full row
    if guess < high and next_state[guess] == following:
        return guess
    while low < high:
        middle = (low + high) // 2
        if next_state[middle] < following:
            low = middle + 1
        else:
            high = middle
    if low < next_start[pair + 1] and next_state[low] == following:
        return low
    return -1


@lean
def watch_no_plan(audit, rows, constants, state, view, s, before, optimal):
    """Nobody watches."""


@lean
def watch_no_step(audit, rows, constants, state, view, context, s, pair, following, loss):
    """Nobody watches."""


@lean
def watch_no_pair(audit, rows, constants, state, pair):
    """Nobody watches."""


UNWATCHED = {watch_plan: watch_no_plan, watch_step: watch_no_step, watch_pair: watch_no_pair}
"""The slots of an audit where there is none."""


@short_loops
def play(
    constants,
    state,
    view,
    scratch,
    workspace,
    env,
    contexts,
    shown,
    optimal,
    rng,
    own,
    step_limit,
    sweeps,
    audit,
    out,
):
    """Play one episode for each row of ``contexts`` [K, d]; ``optimal`` [K, S + 1] holds the true optimal values.

    ``shown`` [K, d'] is what the learner sees of the contexts: themselves or others. The environment draws from
    ``rng``, the learner from ``own``.

    Stops at a plan that did not come to its end, and at a projection that failed. Returns the number of episodes played
    to their end.
    """
    goal = len(constants.pair_start) - 1
    rows = env.components
    for k in range(len(contexts)):
        context = contexts[k]
        start = first_state(env, context, rng)
        begin(constants, state, view, shown[k])
        s = start
        total = 0.0
        regret = 0.0
        steps = 0
        while s != goal and steps < step_limit:
            if view.progress["planned"] == 0:
                draw(constants, view, own)
                before = view.iteration.values[s] if steps > 0 else np.nan
                if not plan_under_bound(constants, state, view, workspace, sweeps):
                    return k
                watch_plan(audit, rows, constants, state, view, s, before, optimal[k, s])
            pair = select(constants, view, s, own)
            view.progress["restarts"] = state.totals["restarts"]
            before_visit(constants, state, view, pair)
            following, loss, gap = env_step(env, pair, s, context, optimal[k], rng)
            regret += gap
            total += loss
            steps += 1
            place = successor_index(constants.next_start, constants.next_state, pair, following)
            watch_step(audit, rows, constants, state, view, context, s, pair, following, loss)
            observe(constants, state, view, scratch, pair, place, loss)
            if state.totals["failed_projections"] > 0:
                return k
            watch_pair(audit, rows, constants, state, pair)
            s = following
        write_results(
            out,
            k,
            total,
            regret,
            start,
            view.progress["intervals"],
            view.progress["unknown_steps"],
            s != goal,
            steps,
        )
    return len(contexts)


@short_loops
def play_fixed(pair_start, env, contexts, optimal, rng, own, at_random, step_limit, out):
    """Play the best pair of every state, given the true optimal values [K, S + 1] of each of the contexts [K, d]; or,
    ``at_random``, any pair, drawn from ``own``."""
    goal = len(pair_start) - 1
    rows = env.components
    for k in range(len(contexts)):
        context = contexts[k]
        start = first_state(env, context, rng)
        state = start
        total = 0.0
        regret = 0.0
        steps = 0
        while state != goal and steps < step_limit:
            if at_random:
                pair = uniform_pair(pair_start, state, own.random())
            else:
                pair = greedy_pair(rows, pair_start, state, context, optimal[k])
            following, loss, gap = env_step(env, pair, state, context, optimal[k], rng)
            regret += gap
            total += loss
            steps += 1
            state = following
        write_results(out, k, total, regret, start, 0, 0, state != goal, steps)


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
