"""Batches of episodes: one at a time as Python until the compiler pays, all at once then; and where they break off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from goalbound.jit.compile import Effort, Kernel
from goalbound.learners.episode_loop import Batch, play_batch, play_fixed, rows_of
from goalbound.models import LinearCSSP
from goalbound.simulation import ModelEnvironment
from goalbound.simulation.history import EpisodeBuffer

PROBLEM = LinearCSSP.dense([[[0.5]], [[0.5]]], [[[[0.5, 0.5]]], [[[0.1, 0.9]]]])


class Limited(Effort):
    """Runs kernels as Python up to so much work."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def engine(self, work: int) -> Callable[[Kernel], Any]:
        self.spent += work
        return (lambda kernel: kernel.python) if self.spent <= self.most else (lambda kernel: "compiled")


def batch(episodes: int) -> Batch:
    contexts = np.tile([0.25, 0.75], (episodes, 1))
    results = EpisodeBuffer.empty(episodes, 2).results
    return Batch.of(
        ModelEnvironment(PROBLEM, rng=np.random.default_rng(0)),
        contexts,
        np.ones((episodes, 2)),
        step_limit=9,
        results=results,
    )


def noted(sizes: list[int], *, steps: int = 1, ends: int | None = None) -> Callable[[Any, Batch], int]:
    def play(run: Any, part: Batch) -> int:
        sizes.append(len(part.contexts))
        part.results.steps[:] = steps
        return len(part.contexts) if ends is None or sum(sizes) <= ends else 0

    return play


def test_a_learner_sees_the_contexts_unless_it_is_shown_something_else() -> None:
    made = batch(3)
    assert made.seen is made.contexts
    shown = np.ones((3, 1))
    arguments: dict[str, Any] = {"step_limit": 9, "results": made.results, "shown": shown}
    assert (
        Batch.of(ModelEnvironment(PROBLEM, rng=np.random.default_rng(0)), made.contexts, made.values, **arguments).seen
        is shown
    )


def test_parts_are_views_so_that_results_are_filled_in_place() -> None:
    made = batch(3)
    part = made.rows(1, 3)
    part.results.steps[:] = [5, 7]
    rows_of(made.results, 0, 1).steps[0] = 3
    assert made.results.steps.tolist() == [3, 5, 7]
    assert (len(part.contexts), len(part.seen), len(part.values)) == (2, 2, 2)


@pytest.mark.parametrize(("steps", "sizes"), [(1, [1, 1, 1, 1]), (100, [1, 3])])
def test_the_kernel_is_compiled_when_episodes_turn_out_to_be_long(steps: int, sizes: list[int]) -> None:
    found: list[int] = []
    assert play_batch(play_fixed, batch(4), noted(found, steps=steps), effort=Limited(50), work=1)
    assert found == sizes


def test_an_episode_that_does_not_end_breaks_the_batch_off() -> None:
    found: list[int] = []
    assert not play_batch(play_fixed, batch(4), noted(found, ends=2), effort=Limited(10**9), work=1)
    assert found == [1, 1, 1]
