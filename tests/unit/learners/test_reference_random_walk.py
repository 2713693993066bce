"""A walk at random: uniform, from its own stream, the same in every loop."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from goalbound.around.contexts import ContextBlind, Discretized
from goalbound.errors import InputError
from goalbound.learners.reference import RandomWalk
from goalbound.models import LinearCSSP, Step, Support
from goalbound.simulation import Cyclic, Dirichlet, ModelEnvironment, bernoulli, play
from goalbound.simulation.history import PER_EPISODE, History
from goalbound.testing import check_learner
from tests.support.driving import small_problem
from tests.support.kernel_forms import COMPILED, PYTHON, kernels

PROBLEM = small_problem(2, actions=3)


def walk(seed: int = 4) -> RandomWalk:
    return RandomWalk(PROBLEM.support, rng=np.random.default_rng(seed))


def run(learner: Any, *, compiled: bool = True) -> History:
    return play(
        PROBLEM, learner, Dirichlet.symmetric(2), episodes=80, seed=3, step_limit=200, compiled=compiled,
        environment=partial(ModelEnvironment, PROBLEM, losses=bernoulli()),
    )  # fmt: skip


def test_the_contract_is_kept() -> None:
    check_learner(lambda problem, rng: RandomWalk(problem.support, rng=rng))


def test_one_number_is_one_step() -> None:
    # 0.512, 0.950, 0.144, 0.949 of three actions: 1, 2, 0, 2.
    numbers = np.random.default_rng(1).random(4)
    assert numbers.round(3).tolist() == [0.512, 0.950, 0.144, 0.949]
    episode = RandomWalk(Support.full(2, 3), rng=np.random.default_rng(1)).begin([1.0])
    actions = []
    for state in (0, 1, 0, 1):
        actions.append(episode.act(state))
        assert episode.act(state) == actions[-1]  # asked again, nothing is drawn
        episode.observe(Step(state, actions[-1], 0.5, 1 - state))
    assert actions == [1, 2, 0, 2]


def test_actions_are_those_of_the_state() -> None:
    support = Support.from_pairs([{1: [2]}, {0: [2], 4: [0], 7: [1]}])
    episode = RandomWalk(support, rng=np.random.default_rng(0)).begin([1.0])
    seen: dict[int, list[int]] = {0: [], 1: []}
    for state in [0, 1] * 300:
        seen[state].append(episode.act(state))
        episode.observe(Step(state, seen[state][-1], 0.5, 2))
    assert set(seen[0]) == {1}
    # 300 draws of three actions: each count has mean 100 and deviation sqrt(300 * 2/9) = 8.2; five of them is 41.
    for action in (0, 4, 7):
        assert abs(seen[1].count(action) - 100) < 41


@pytest.mark.parametrize("way", [PYTHON, COMPILED])
def test_the_compiled_loop_walks_the_same_way_to_the_bit(way: dict[str, Any]) -> None:
    plain, looped = walk(), walk()
    history = run(plain, compiled=False)
    with kernels(way):
        again = run(looped)
    for column in PER_EPISODE:
        assert getattr(again, column).tobytes() == getattr(history, column).tobytes(), column
    assert plain._rng.bit_generator.state == looped._rng.bit_generator.state


def test_it_is_as_blind_as_it_is_in_cells() -> None:
    histories = [run(ContextBlind(walk()), compiled=way) for way in (True, False)]
    histories.append(run(walk()))
    for history in histories[1:]:
        assert history.steps.tolist() == histories[0].steps.tolist()
    in_cells = [
        run(
            Discretized(lambda rng: RandomWalk(PROBLEM.support, rng=rng), 2, parts=2, rng=np.random.default_rng(4)),
            compiled=way,
        )
        for way in (True, False)
    ]
    assert in_cells[0].steps.tolist() == in_cells[1].steps.tolist()


def test_it_arrives_when_chance_says_so() -> None:
    # One action of two arrives: the number of steps is geometric with mean 2 and variance 2. Over 4000 episodes the
    # mean has deviation sqrt(2 / 4000) = 0.022; five of them, one false alarm in a million seeds.
    problem = LinearCSSP.dense([[[0.25, 0.5]]], [[[[1.0, 0.0], [0.0, 1.0]]]])
    history = play(
        problem, RandomWalk(problem.support, rng=np.random.default_rng(2)), Cyclic([[1.0]]), episodes=4000, seed=1
    )
    assert abs(history.steps.mean() - 2.0) < 0.112
    # The optimum pays 0.5 once; the walk pays 0.25 on average once before: 0.25 * (2 - 1) more.
    assert history.expected_regret.mean() == pytest.approx(0.25 * (history.steps.mean() - 1.0), rel=1e-6)


def test_the_same_stream_is_the_same_walk_and_without_one_every_walk_is_another() -> None:
    one, other = (run(walk(5)) for _ in range(2))
    assert one.steps.tolist() == other.steps.tolist()
    one, other = (run(RandomWalk(PROBLEM.support)) for _ in range(2))
    assert one.steps.tolist() != other.steps.tolist()
    assert run(walk(5)).steps.tolist() != run(walk(6)).steps.tolist()


def test_misuse_is_named() -> None:
    episode = walk().begin("whatever")
    for state, message in (
        (3, "nothing can be done in state 3; states are 0 to 2"),
        (-1, "no state -1; they are 0 to 3"),
    ):
        with pytest.raises(InputError, match=message):
            episode.act(state)
    other = small_problem(2, states=4)
    with pytest.raises(InputError, match="the problem has other states or actions than the support of the random walk"):
        play(other, walk(), Dirichlet.symmetric(2), episodes=1)


def test_a_state_may_be_called_by_its_name() -> None:
    support = Support.from_pairs([{0: [0, 2], 1: [1]}, {0: [2]}], state_names=["home", "road"])
    assert RandomWalk(support).begin([1.0]).act("road") == 0  # type: ignore[arg-type]
