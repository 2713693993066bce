"""Now and then any action of the state: how often, by which numbers, and what it costs."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from goalbound.errors import ArgumentError
from goalbound.learners.explore.epsilon import Epsilon
from goalbound.learners.explore.protocol import select
from goalbound.learners.ridge import EpsilonGreedy
from goalbound.models import Support
from tests.support.kernel_forms import COMPILED, kernels
from tests.support.ridge import exploring
from tests.support.ridge_kernels import Arguments, arguments_of
from tests.support.uniform_numbers import Numbers

SUPPORT = Support.full(2, 2)
"""Pairs 0 and 1 of state 0, pairs 2 and 3 of state 1; each has places 0, 1 and 2 (the goal) of its own."""
CONTEXT = [0.25, 0.75]


def explorer(exploration: Any, **settings: Any) -> Arguments:
    return arguments_of(exploring(exploration, SUPPORT, 2, **settings), CONTEXT)


def test_a_learner_plays_any_pair_as_often_as_its_episode_asks() -> None:
    case = explorer(Epsilon(explore=0.5, fade=1.0))
    case.episode.iteration.policy[:] = [0, 3]

    def played(*numbers: float) -> tuple[int, int]:
        stream = Numbers(*numbers)
        pair = case.python(select)(case.constants, case.episode, 1, stream)
        return int(pair), len(stream.left)

    assert played(0.4999, 0.25) == (2, 0)  # the first half of [0, 1) is the first of two pairs
    assert played(0.4999, 0.75) == (3, 0)
    assert played(0.5, 0.25) == (3, 1)
    case.episode.progress["number"] = 4  # 0.5 / 4
    assert played(0.125, 0.25) == (3, 1)
    assert played(0.1249, 0.25) == (2, 0)
    never = explorer(Epsilon(explore=0.0, fade=1.0))
    assert never.python(select)(never.constants, never.episode, 1, Numbers()) == 2


def test_a_learner_that_explores_by_chance_keeps_nothing_of_its_steps(traced: None) -> None:
    # Compiled code that is handed a generator keeps 48 bytes of every call.
    learner = EpsilonGreedy(SUPPORT, 2, loss_floor=0.1, explore=0.5, rng=np.random.default_rng(1))

    episode = learner.begin([0.5, 0.5])

    def act(count: int) -> None:
        for _ in range(count):
            episode.act(0)
            episode.take_back()

    with kernels(COMPILED):
        act(50)
        before, _ = tracemalloc.get_traced_memory()
        act(3000)
        assert tracemalloc.get_traced_memory()[0] - before < 60_000  # 144,000 where each keeps 48


def test_who_never_explores_draws_nothing() -> None:
    assert [Epsilon(explore, 0.5).draws for explore in (0.0, 0.1, 1.0)] == [False, True, True]


def test_of_the_possible_actions_any_is_played_now_and_then() -> None:
    learner = EpsilonGreedy(Support.full(1, 3), 1, loss_floor=0.1, explore=1.0, fade=0.0, rng=np.random.default_rng(0))
    episode, played = learner.begin([1.0]), set()
    for _ in range(40):
        played.add(episode.act(0, allowed=[0, 2]))
        episode.take_back()
    assert played == {0, 2}


@pytest.mark.parametrize(
    ("explore", "fade", "message"),
    [
        (1.5, 0.0, r"explore is 1\.5; it is the share of steps that explore in the first episode, in \[0, 1\]"),
        (0.5, -1.0, r"fade is -1\.0; it is how fast exploring fades"),
    ],
)
def test_a_share_is_a_share(explore: float, fade: float, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Epsilon(explore, fade)
