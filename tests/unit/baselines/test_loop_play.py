"""Whole episodes of the context-free learners in one call against single steps, number by number."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from goalbound.baselines import TabularLearner, loop
from goalbound.baselines.protocol import kernel_of
from goalbound.learners.episode_loop import Batch
from goalbound.models.simulated import EpisodeResults
from goalbound.models.step import bernoulli
from goalbound.planning import solve
from goalbound.problems import dense_random
from goalbound.simulation import ModelEnvironment, play
from goalbound.simulation.contexts import Cyclic
from goalbound.simulation.history import EpisodeBuffer
from tests.support.driving import written
from tests.support.kernel_forms import COMPILED, PYTHON, kernels
from tests.support.tabular_driving import KINDS, METHODS, learner_of

ONCE = Cyclic([[1.0]])
PROBLEM = dense_random(4, actions=2, context_size=1, seed=3)
EPISODES = 20


def played(learner: TabularLearner, *, form: str = "python", step_limit: int = 1000) -> tuple[int, EpisodeResults]:
    results = EpisodeBuffer.empty(EPISODES, 1).results
    environment = ModelEnvironment(PROBLEM, losses=bernoulli(), rng=np.random.default_rng(2))
    values = np.tile(solve(PROBLEM.at([1.0])).values, (EPISODES, 1))
    batch = Batch.of(environment, np.ones((EPISODES, 1)), values, step_limit=step_limit, results=results)
    learner._before_playing(batch)
    return learner._play(getattr(kernel_of(loop.play, learner.method.name), form), batch), results


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
def test_the_compiled_loop_plays_what_act_and_observe_play(method: str, kind: str) -> None:
    problem = dense_random(4, actions=2, context_size=1, seed=3)
    ended = []
    for compiled, way in ((True, COMPILED), (False, PYTHON)):
        with kernels(way):
            learner = learner_of(problem, method, kind)
            environment = partial(ModelEnvironment, problem, losses=bernoulli())
            history = play(problem, learner, ONCE, episodes=40, seed=1, environment=environment, compiled=compiled)
            columns = (history.loss, history.steps, history.expected_regret, history.intervals, history.unknown_steps)
            ended.append(([column.tobytes() for column in columns], written(learner)))
    assert ended[0] == ended[1]


@pytest.mark.parametrize("method", METHODS)
def test_the_loop_as_python_plays_what_anybody_would_write(method: str) -> None:
    whole, single = learner_of(PROBLEM, method), learner_of(PROBLEM, method)
    ended, results = played(whole)
    assert ended == EPISODES
    environment = ModelEnvironment(PROBLEM, losses=bernoulli(), rng=np.random.default_rng(2))
    for k in range(EPISODES):
        state, episode, loss, steps = environment.begin(np.ones(1)), single.begin(), 0.0, 0
        assert results.start[k] == state
        while state != PROBLEM.support.states:
            step = environment.step(episode.act(state))
            episode.observe(step)
            state, loss, steps = step.next_state, loss + step.loss, steps + 1
        assert (results.loss[k], results.steps[k]) == (loss, steps)
        assert (results.intervals[k], results.unknown_steps[k]) == (episode.intervals, episode.unknown_steps)
    assert written(whole) == written(single)


def test_episodes_at_the_step_limit_are_broken_off() -> None:
    _, results = played(learner_of(PROBLEM, "bernstein"), step_limit=2)
    assert results.steps.max() == 2
    assert 0 < results.abandoned.sum() < EPISODES
    assert not results.abandoned[results.steps == 1].any()


def test_the_loop_stops_where_a_plan_does_not_come_to_its_end() -> None:
    learner = learner_of(PROBLEM, "uc")
    learner.MOST_SWEEPS = 3  # enough as long as attempts are short
    ended, results = played(learner)
    assert 0 < ended < EPISODES
    assert results.steps[:ended].all()
    assert not results.steps[ended:].any()  # nothing is written of an episode that did not end
