"""A learner that is not shown the context is the learner of one component, to the bit."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from goalbound.errors import InputError
from goalbound.learners.context_map import ContextBlind
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.protocol import Episode
from goalbound.models import LinearCSSP, Step
from goalbound.simulation import Cyclic, Dirichlet, ModelEnvironment, bernoulli, play
from goalbound.simulation.history import PER_EPISODE, History
from tests.support.driving import COMPILED, MODES, PYTHON, kernels, small_problem, written
from tests.support.ridge import lr_cssp

PROBLEM = small_problem(2, context_size=3)


class Fed:
    """A learner of one component that is fed [1.0] whatever the context."""

    def __init__(self, learner: LRCSSP) -> None:
        self.learner = learner

    def begin(self, context: ArrayLike) -> Episode:
        return self.learner.begin([1.0])


def run(learner: Any, *, compiled: bool) -> History:
    environment = partial(ModelEnvironment, PROBLEM, losses=bernoulli())
    return play(
        PROBLEM,
        learner,
        Dirichlet.symmetric(3),
        episodes=60,
        seed=3,
        step_limit=50,
        environment=environment,
        compiled=compiled,
    )


def assert_same(one: History, other: History) -> None:
    for name in PER_EPISODE:
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name


@pytest.mark.parametrize("mode", MODES)
def test_a_blind_learner_is_one_that_is_fed_the_same_context_always(mode: str) -> None:
    fed, blind = (lr_cssp(PROBLEM.support, 1, **MODES[mode]) for _ in range(2))
    history = run(Fed(fed), compiled=False)
    assert_same(run(ContextBlind(blind), compiled=False), history)
    assert written(blind) == written(fed)
    for way in (PYTHON, COMPILED):
        looped = lr_cssp(PROBLEM.support, 1, **MODES[mode])
        with kernels(way):
            assert_same(run(ContextBlind(looped), compiled=True), history)
        assert written(looped) == written(fed)


def test_where_there_is_one_context_only_nothing_is_lost_by_not_looking() -> None:
    single = small_problem(4, context_size=1)
    seeing, blind = (lr_cssp(single.support, 1, **MODES["narrow"]) for _ in range(2))
    one, other = (
        play(single, learner, Cyclic([[1.0]]), episodes=60, seed=3) for learner in (seeing, ContextBlind(blind))
    )
    assert_same(one, other)
    assert written(seeing) == written(blind)


def test_the_price_of_not_looking() -> None:
    # Under component j action j ends the episode and the other one stays, both at a loss of 1/4. Seeing, one step
    # does. On average both actions end it with probability 1/2, so whichever is played, it is wrong half of the time.
    rows = np.zeros((2, 1, 2, 2))
    for component in range(2):
        for action in range(2):
            rows[component, 0, action] = [0.0, 1.0] if action == component else [1.0, 0.0]
    problem = LinearCSSP.dense(np.full((2, 1, 2), 0.25), rows)
    settings = {"loss_floor": 0.25, "loss_bound": 5.0, "widths": MODES["narrow"]["widths"]}
    blind = lr_cssp(problem.support, 1, **settings)
    seeing = lr_cssp(problem.support, 2, **settings)
    histories = [
        play(problem, learner, Dirichlet([0.1, 0.1]), episodes=300, seed=1, step_limit=1000)
        for learner in (seeing, ContextBlind(blind))
    ]
    late = [history.expected_regret[200:].sum() for history in histories]
    assert late[0] < 2.0
    assert late[1] > 10.0 * late[0]


def test_episodes_are_those_of_the_learner_and_the_context_is_not_even_checked() -> None:
    blind = ContextBlind(LRCSSP(PROBLEM.support, 1, loss_floor=0.1))
    episode = blind.begin("whatever")
    action = episode.act(0)
    following = int(PROBLEM.support.next_state[PROBLEM.support.row(PROBLEM.support.pair(0, action))][0])
    episode.observe(Step(0, action, 0.5, following))
    assert blind.inner.statistics.visits.sum() == 1


def test_a_learner_of_several_components_is_not_blind() -> None:
    with pytest.raises(InputError, match="the learner has 3 components; one that is not shown the context has 1"):
        ContextBlind(LRCSSP(PROBLEM.support, 3, loss_floor=0.1))
