"""Playing a learner by hand, and comparing what it played."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.kernels.environment import EpisodeResults
from goalbound.learners.protocol import Learner
from goalbound.models import Step
from goalbound.simulation.environment import ModelEnvironment
from goalbound.simulation.regret import step_regret


class Trace(NamedTuple):
    """One episode: its steps, whether it reached the goal, and where ``act``, called again, gave another action."""

    steps: list[Step]
    reached_goal: bool
    inconsistent: str | None


def play_one(
    learner: Learner, environment: ModelEnvironment, context: NDArray[np.float64], *, step_limit: int, act_calls: int
) -> Trace:
    """One episode by ``begin``, ``act`` and ``observe``; every ``act`` is called so many times."""
    state, episode = environment.begin(context), learner.begin(context)
    steps: list[Step] = []
    inconsistent: str | None = None
    goal = environment.problem.support.states
    while state != goal and len(steps) < step_limit:
        answers = [episode.act(state) for _ in range(act_calls)]
        if inconsistent is None and len(set(answers)) > 1:
            inconsistent = f"in state {state}, step {len(steps)}, it gave {answers[0]} and then {answers[1]}"
        step = environment.step(answers[-1])
        episode.observe(step)
        steps.append(step)
        state = step.next_state
    return Trace(steps, state == goal, inconsistent)


def play_all(
    learner: Learner,
    environment: ModelEnvironment,
    contexts: NDArray[np.float64],
    *,
    step_limit: int,
    act_calls: int = 1,
) -> list[Trace]:
    """One episode for each of the contexts [K, d]; none after one that does not arrive."""
    traces: list[Trace] = []
    for context in contexts:
        traces.append(play_one(learner, environment, context.copy(), step_limit=step_limit, act_calls=act_calls))
        if not traces[-1].reached_goal:
            break
    return traces


def difference(ours: Sequence[Trace], theirs: Sequence[Trace]) -> str | None:
    """The first difference of two plays, in words; None if they are the same."""
    for episode, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        for at, (mine, yours) in enumerate(zip(one.steps, other.steps, strict=False)):
            if mine != yours:
                return (
                    f"episode {episode}, step {at}: action {mine.action} against {yours.action} in state {mine.state}"
                )
        if len(one.steps) != len(other.steps):
            return f"episode {episode}: {len(one.steps)} steps against {len(other.steps)}"
    return None if len(ours) == len(theirs) else f"{len(ours)} episodes against {len(theirs)}"


def play_into(
    results: EpisodeResults, learner: Learner, environment: ModelEnvironment,
    contexts: NDArray[np.float64], values: NDArray[np.float64],
    *, step_limit: int,
) -> None:  # fmt: skip
    """The plain loop, which a learner's ``play_episodes`` must equal: one row of the results for each context."""
    goal = environment.problem.support.states
    for k, context in enumerate(contexts):
        state = results.start[k] = environment.begin(context)
        episode = learner.begin(context)
        steps = 0
        while state != goal and steps < step_limit:
            step = environment.step(episode.act(int(state)))
            episode.observe(step)
            results.loss[k] += step.loss
            results.expected_regret[k] += step_regret(
                environment.problem, step.state, step.action, context=context, optimal_values=values[k]
            )
            state, steps = step.next_state, steps + 1
        results.intervals[k] = getattr(episode, "intervals", 0)
        results.unknown_steps[k] = getattr(episode, "unknown_steps", 0)
        results.abandoned[k], results.steps[k] = state != goal, steps
