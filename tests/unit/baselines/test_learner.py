"""The context-free learners as people drive them."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.baselines import Method, TabularLearner
from goalbound.errors import InputError, LearnerError, PlanningStopped
from goalbound.models import LinearCSSP, Step, Support
from goalbound.problems import dense_random
from goalbound.simulation import play
from goalbound.simulation.contexts import Cyclic
from goalbound.testing import check_learner
from tests.support.driving import written
from tests.support.kernel_forms import COMPILED, PYTHON, kernels
from tests.support.tabular_driving import METHODS, clinic, learner_of, small_problem

ONE = Support.full(1, 1)
ONCE = Cyclic([[1.0]])


@pytest.mark.parametrize("method", METHODS)
def test_every_method_keeps_the_contract_of_learners(method: str) -> None:
    def make(problem: LinearCSSP, rng: np.random.Generator) -> TabularLearner:
        return TabularLearner(problem.support, METHODS[method], loss_floor=0.1, rng=rng)

    check_learner(make, small_problem(), episodes=20)


@pytest.mark.parametrize("method", METHODS)
def test_compiled_and_plain_kernels_say_the_same_to_several_episodes(method: str) -> None:
    runs = []
    for way in (COMPILED, PYTHON):
        with kernels(way):
            one = clinic(method, 3).run(150)
            runs.append((one.actions, written(one.learner)))
    assert runs[0] == runs[1]


@pytest.mark.parametrize("method", METHODS)
def test_looking_changes_nothing(method: str) -> None:
    one = clinic(method, 2).run(60)  # held, so that its episodes are open
    before = written(one.learner)
    plan = one.learner.plan([1.0])
    assert written(one.learner) == before
    again = one.learner.plan([1.0])
    assert plan.policy.tobytes() == again.policy.tobytes()
    assert plan.values.tobytes() == again.values.tobytes()
    assert plan.values[-1] == 0.0
    assert str(plan).startswith('state 0 ("start")')


@pytest.mark.parametrize("method", [name for name in METHODS if name != "psrl"])
def test_the_plan_shown_is_the_plan_followed(method: str) -> None:
    learner = learner_of(small_problem(), method)
    for _ in range(10):
        for start in range(3):
            shown = learner.plan()
            episode = learner.begin([1.0])
            action = episode.act(start)
            assert action == shown.policy[start]
            following = int(learner.support.next_state[learner.support.row(learner.support.pair(start, action))][-1])
            episode.observe(Step(start, action, 0.5, following))


def test_a_context_is_refused_with_what_to_do() -> None:
    learner = TabularLearner(ONE, Method("eb-ssp"), loss_floor=0.0)
    with pytest.raises(InputError, match=r"2 entries.*ContextBlind.*Discretized"):
        learner.begin([0.5, 0.5])
    with pytest.raises(InputError, match=r"\[0.5\].*single number 1.0"):
        learner.plan([0.5])
    problem = dense_random(2, context_size=2)
    other = TabularLearner(problem.support, Method("eb-ssp"), loss_floor=0.0)
    with pytest.raises(InputError, match="ContextBlind"):
        play(problem, other, Cyclic([[0.5, 0.5]]), episodes=1)


def test_steps_that_cannot_be_change_nothing() -> None:
    learner = learner_of(small_problem(), "bernstein")
    episode = learner.begin()
    with pytest.raises(LearnerError, match="act"):
        episode.observe(Step(0, 0, 0.5, 1))
    action = episode.act(0)
    before = written(learner)
    with pytest.raises(LearnerError, match="another action than was proposed"):
        episode.observe(Step(0, 1 - action, 0.5, 1))
    with pytest.raises(LearnerError, match="the episode is in"):
        episode.observe(Step(1, action, 0.5, 1))
    with pytest.raises(LearnerError, match="the episode is in"):
        episode.act(1)
    with pytest.raises(InputError, match="losses lie in"):
        episode.observe(Step(0, action, 1.5, 1))
    with pytest.raises(InputError, match="support does not allow"):
        episode.observe(Step(0, action, 0.5, 3))
    assert written(learner) == before
    with pytest.raises(LearnerError, match="is the goal"):
        learner.begin().act(3)
    episode.abandon()
    assert episode.ended
    with pytest.raises(LearnerError, match="has ended"):
        episode.act(0)
    assert learner.open_episodes == ()


def test_a_plan_that_does_not_settle_is_an_error_and_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = small_problem()
    learner = learner_of(problem, "bernstein")
    play(problem, learner, ONCE, episodes=50, seed=1)
    learner._state.totals["stale"] = 1
    monkeypatch.setattr(TabularLearner, "MOST_SWEEPS", 1)
    learner._state.main.iteration.progress["residual"] = np.inf
    learner._state.main.iteration.values[:-1] = 1e6
    episode = learner.begin()
    with pytest.raises(PlanningStopped, match="raise loss_floor"):
        episode.act(0)
    assert episode.intervals == 0
    with pytest.raises(PlanningStopped):
        play(problem, learner, ONCE, episodes=1, seed=1)
    with pytest.raises(PlanningStopped):
        learner.plan()
    monkeypatch.undo()
    assert episode.act(0) in (0, 1)


def test_a_learner_shows_what_it_is() -> None:
    learner = learner_of(small_problem(), "uc")
    assert repr(learner) == "TabularLearner(3 states, 6 pairs, 12 next states, 0.1 x uc-ssp, 0 steps)"
    assert learner.loss_bound is None
    assert learner.context_size == learner.settings.context_size == 1
    assert learner.visits.tolist() == [0] * 6
    with pytest.raises(ValueError, match="read-only"):
        learner.visits[0] = 1
    episode = learner.begin()
    assert (episode.number, episode.state, episode.intervals, episode.ended) == (0, None, 0, False)
    assert episode.context.tolist() == [1.0]
    assert learner.begin().number == 1
