"""The context-free learners as people drive them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from goalbound.baselines import Method, TabularLearner, TabularOptions
from goalbound.errors import InputError, LearnerError, PlanningStopped
from goalbound.models import LinearCSSP, Step, Support
from goalbound.planning import solve
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


@pytest.mark.parametrize("method", ["uc", "hoeffding", "bernstein", "psrl"])
def test_with_much_data_the_plan_is_the_optimal_one(method: str) -> None:
    problem = small_problem()
    learner = learner_of(problem, method, "known")
    play(problem, learner, ONCE, episodes=3000, seed=1)
    best = solve(problem.at([1.0]))
    plan = learner.plan()
    assert plan.policy.tolist() == best.policy.tolist()
    assert plan.values == pytest.approx(best.values, rel=0.15)


def test_an_action_that_was_given_stays_and_draws_nothing_more() -> None:
    learner = TabularLearner(small_problem().support, Method("psrl-ssp"), loss_floor=0.1, rng=np.random.default_rng(7))
    episode = learner.begin()
    first = episode.act(0)
    state = learner._rng.bit_generator.state
    assert state != np.random.default_rng(7).bit_generator.state
    assert [episode.act(0) for _ in range(3)] == [first] * 3
    assert learner._rng.bit_generator.state == state


def test_only_posterior_sampling_draws() -> None:
    for name in METHODS:
        learner = clinic(name, 2).run(60).learner
        drawn = learner._rng.bit_generator.state != np.random.default_rng(0).bit_generator.state
        assert drawn == (name == "psrl")


def test_hoeffding_plans_before_every_step_with_an_unknown_pair() -> None:
    method = Method("hoeffding-ssp", loss_bound=1.0, scale=0.01)
    learner = TabularLearner(ONE, method, loss_floor=1.0, options=TabularOptions(delta=0.5))
    # known after 0.01^2 * 5000 * ln(1000 / 0.5) = 0.5 * 7.6009 = 3.80 visits
    episode = learner.begin()
    for _ in range(9):
        episode.observe(Step(0, episode.act(0), 1.0, 0))
    assert learner._constants.known_after[0] == pytest.approx(0.5 * math.log(2000.0))
    assert episode.unknown_steps == 4  # with 0, 1, 2 and 3 visits before
    assert episode.intervals == 4


def test_an_attempt_of_uc_ends_after_its_horizon() -> None:
    learner = TabularLearner(ONE, Method("uc-ssp", scale=0.02), loss_floor=1.0)
    episode = learner.begin()
    walk = episode._arrays
    episode.act(0)
    assert walk.progress["limit"] == 2  # nothing seen: Q = 0, and |Q^1| <= 1
    for made in range(3):
        assert walk.progress["intervals"] == 1
        assert walk.progress["steps"] == made
        episode.observe(Step(0, episode.act(0), 1.0, 0))
    episode.observe(Step(0, episode.act(0), 1.0, 1))  # the fourth step is the first of attempt 1
    assert walk.progress["intervals"] == 2
    assert learner._state.totals["retries"] == 1
    # 3 of 4 steps stayed, and half the radius 0.02 sqrt(8 ln(2 * 4 / 0.1) / 4) = 0.0592 goes to the goal: Q = 0.7204.
    second = learner.begin()
    second.act(0)
    assert second._arrays.progress["limit"] == 3  # Q^2 = 0.519 <= gamma = 1 / sqrt(2) = 0.7071 < Q, so h - 1 = 2


def test_epochs_of_bernstein_end_when_visits_double_and_not_at_the_goal() -> None:
    learner = TabularLearner(ONE, Method("bernstein-ssp"), loss_floor=1.0)
    stale = []
    for _ in range(9):
        episode = learner.begin()
        episode.observe(Step(0, episode.act(0), 1.0, 1))
        stale.append(int(learner._state.totals["stale"]))
    # Epochs begin with 0, 1, 2, 4 and 8 visits, so steps 1, 2, 4 and 8 end one.
    assert stale == [1, 1, 0, 1, 0, 0, 0, 1, 0]


def test_eb_plans_at_powers_of_two_with_the_data_of_then() -> None:
    learner = TabularLearner(ONE, Method("eb-ssp", scale=1e-9), loss_floor=0.0)
    for n in range(1, 8):
        episode = learner.begin()
        episode.observe(Step(0, episode.act(0), 1.0 if n <= 4 else 0.0, 1))
    assert learner._state.totals["triggers"] == 3  # 1, 2, 4
    # Data of 4 visits, all of loss 1 and to the goal; the bonus is negligible.
    assert learner.plan().values[0] == pytest.approx(1.0, abs=1e-6)


def test_eb_doubles_its_bound_when_values_exceed_it() -> None:
    learner = TabularLearner(ONE, Method("eb-ssp", scale=1e-9), loss_floor=0.0)
    assert learner.loss_bound == 1.0
    episode = learner.begin()
    for _ in range(64):
        episode.observe(Step(0, episode.act(0), 1.0, 0))
    episode.act(0)
    # 64 visits, all back to the state: v = 1 + 64/65 v = 65, and the precision 2^-7 ends the iteration a little before.
    value = learner.plan().values[0]
    assert 64.0 < value < 65.0
    assert learner.loss_bound == 128.0


def test_ulcvi_has_the_horizon_of_its_bounds_and_takes_every_pair_in_turn() -> None:
    method = Method("ulcvi", loss_bound=1.0, time_bound=1.0, episodes=3)
    assert method.horizon == 26  # 8 ln(24) = 25.42
    learner = TabularLearner(Support.full(1, 3), method, loss_floor=0.0)
    actions = []
    for _ in range(6):
        episode = learner.begin()
        actions.append(episode.act(0))
        episode.observe(Step(0, actions[-1], 1.0, 1))
    assert actions == [0, 1, 2, 0, 1, 2]  # at scale 1 all lower values are 0: the fewest visits decide


def test_an_interval_of_ulcvi_has_so_many_steps() -> None:
    learner = TabularLearner(ONE, Method("ulcvi", loss_bound=1.0, time_bound=1.0, episodes=3), loss_floor=0.0)
    episode = learner.begin()
    counted = []
    for _ in range(53):
        action = episode.act(0)
        counted.append(episode.intervals)
        episode.observe(Step(0, action, 1.0, 0))
    assert counted == [1] * 26 + [2] * 26 + [3]


def test_epochs_of_psrl_end_when_goals_outnumber_those_before() -> None:
    learner = TabularLearner(ONE, Method("psrl-ssp"), loss_floor=0.1)
    ends = []
    for n in range(1, 20):
        episode = learner.begin()
        episode.observe(Step(0, episode.act(0), 1.0, 1))
        if learner._state.totals["stale"]:
            ends.append(n)
    # Epochs have 1, 2, 3, ... goals unless visits double first: 1, 1 + 1 (1 doubles), 2 + 2, then 3 and 4 and 5 goals.
    assert ends == [1, 2, 4, 7, 11, 16]


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


def test_a_world_that_the_support_does_not_allow_is_refused() -> None:
    problem = dense_random(2, context_size=1)
    with pytest.raises(InputError, match="other states or actions"):
        play(problem, TabularLearner(ONE, Method("eb-ssp"), loss_floor=0.0), ONCE, episodes=1)
    narrow = Support.from_pairs([{0: [0, 2], 1: [0, 1, 2]}, {0: [0, 1, 2], 1: [0, 1, 2]}])
    with pytest.raises(InputError, match="state 0, action 0 may lead to state 1"):
        play(problem, TabularLearner(narrow, Method("eb-ssp"), loss_floor=0.0), ONCE, episodes=1)


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
