"""Playing a learner by hand, and comparing what it played."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.kernels.world import Tally
from goalbound.learners.protocol import Learner
from goalbound.models import Step
from goalbound.testing.small_world import SmallWorld


class Trace(NamedTuple):
    """One episode: its steps, whether it came to the goal, and where ``act``, asked again, said something else."""

    steps: list[Step]
    arrived: bool
    wavered: str | None


def play_one(learner: Learner, world: SmallWorld, context: NDArray[np.float64], *, step_limit: int, asks: int) -> Trace:
    """One episode by ``begin``, ``act`` and ``observe``; every ``act`` is asked so many times."""
    state, episode = world.begin(context), learner.begin(context)
    steps: list[Step] = []
    wavered: str | None = None
    goal = world.problem.support.states
    while state != goal and len(steps) < step_limit:
        answers = [episode.act(state) for _ in range(asks)]
        if wavered is None and len(set(answers)) > 1:
            wavered = f"in state {state}, step {len(steps)}, it said {answers[0]} and then {answers[1]}"
        step = world.step(answers[-1])
        episode.observe(step)
        steps.append(step)
        state = step.next_state
    return Trace(steps, state == goal, wavered)


def play_all(
    learner: Learner, world: SmallWorld, contexts: NDArray[np.float64], *, step_limit: int, asks: int = 1
) -> list[Trace]:
    """One episode for each of the contexts [K, d]; none after one that does not arrive."""
    traces: list[Trace] = []
    for context in contexts:
        traces.append(play_one(learner, world, context.copy(), step_limit=step_limit, asks=asks))
        if not traces[-1].arrived:
            break
    return traces


def difference(ours: Sequence[Trace], theirs: Sequence[Trace]) -> str | None:
    """Where two plays part first, in words; None if they are the same."""
    for episode, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        for at, (mine, yours) in enumerate(zip(one.steps, other.steps, strict=False)):
            if mine != yours:
                return (
                    f"episode {episode}, step {at}: action {mine.action} against {yours.action} in state {mine.state}"
                )
        if len(one.steps) != len(other.steps):
            return f"episode {episode}: {len(one.steps)} steps against {len(other.steps)}"
    return None if len(ours) == len(theirs) else f"{len(ours)} episodes against {len(theirs)}"


def empty_tally(episodes: int) -> Tally:
    """Room for so many episodes."""
    floats, counts = np.zeros((2, episodes)), np.zeros((4, episodes), dtype=np.int64)
    return Tally(floats[0], floats[1], counts[0], counts[1], counts[2], np.zeros(episodes, dtype=np.bool_), counts[3])


def play_into(
    tally: Tally, learner: Learner, world: SmallWorld, contexts: NDArray[np.float64], values: NDArray[np.float64],
    *, step_limit: int,
) -> None:  # fmt: skip
    """The plain loop, which a learner's ``play_episodes`` must equal: one row of the tally for each context."""
    goal = world.problem.support.states
    for k, context in enumerate(contexts):
        state = tally.start[k] = world.begin(context)
        episode = learner.begin(context)
        steps = 0
        while state != goal and steps < step_limit:
            step = world.step(episode.act(int(state)))
            episode.observe(step)
            tally.loss[k] += step.loss
            tally.expected_regret[k] += world.regret_of(step, values[k])
            state, steps = step.next_state, steps + 1
        tally.intervals[k] = getattr(episode, "intervals", 0)
        tally.unknown_steps[k] = getattr(episode, "unknown_steps", 0)
        tally.abandoned[k], tally.steps[k] = state != goal, steps
