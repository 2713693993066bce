"""A learner that sees the contexts through a function learns from what it is shown, in the true environment; one that
is not shown the context is the learner of one component, to the bit."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from goalbound import LRCSSP, Clairvoyant, Dirichlet, ModelEnvironment, play
from goalbound.around.contexts import ContextBlind, MappedContexts
from goalbound.errors import InputError
from goalbound.learners.protocol import Episode
from goalbound.models import LinearCSSP, Step
from goalbound.simulation import Cyclic, bernoulli
from goalbound.simulation.history import PER_EPISODE, History
from goalbound.testing import check_learner
from tests.support.driving import MODES, small_problem, written
from tests.support.kernel_forms import COMPILED, PYTHON, kernels
from tests.support.ridge import lr_cssp

PROBLEM = small_problem(2, context_size=3)
MERGE = np.array([[1.0, 0.0], [0.3, 0.7], [0.0, 1.0]])


def merged(context: np.ndarray) -> np.ndarray:
    return context @ MERGE


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


def test_seen_through_the_unit_matrix_it_is_the_learner_itself() -> None:
    bare, seeing = (lr_cssp(PROBLEM.support, 3, **MODES["narrow"]) for _ in range(2))
    assert_same(run(bare, compiled=True), run(MappedContexts(seeing, np.eye(3)), compiled=True))
    assert written(bare) == written(seeing)


@pytest.mark.parametrize("see", [MERGE, merged], ids=["matrix", "function"])
def test_the_compiled_loop_plays_what_the_plain_one_plays(see: Any) -> None:
    plain = lr_cssp(PROBLEM.support, 2, **MODES["narrow"])
    history = run(MappedContexts(plain, see), compiled=False)
    for way in (PYTHON, COMPILED):
        looped = lr_cssp(PROBLEM.support, 2, **MODES["narrow"])
        with kernels(way):
            assert_same(run(MappedContexts(looped, see), compiled=True), history)
        assert written(looped) == written(plain)


def test_it_keeps_the_contract_of_learners() -> None:
    def make(problem: Any) -> MappedContexts:
        first = np.eye(2)[[0, *[1] * (problem.context_size - 1)]]
        return MappedContexts(LRCSSP(problem.support, 2, loss_floor=0.1, widths=MODES["narrow"]["widths"]), first)

    check_learner(make, episodes=10)


def test_the_episode_has_the_context_that_was_shown() -> None:
    learner = MappedContexts(LRCSSP(PROBLEM.support, 2, loss_floor=0.1), MERGE)
    np.testing.assert_allclose(learner.begin([0.5, 0.5, 0.0]).context, [0.65, 0.35])
    np.testing.assert_allclose(learner.plan([0.5, 0.5, 0.0]).context, [0.65, 0.35])


def test_a_learner_without_a_compiled_loop_for_it_plays_in_the_plain_one() -> None:
    other = small_problem(2, context_size=2)
    assert not hasattr(MappedContexts(Clairvoyant(other), MERGE), "play_episodes")
    assert hasattr(MappedContexts(LRCSSP(PROBLEM.support, 2, loss_floor=0.1), MERGE), "play_episodes")


def test_what_it_has_learned_is_saved_by_the_learner_inside(tmp_path: Path) -> None:
    learner = MappedContexts(lr_cssp(PROBLEM.support, 2, **MODES["narrow"]), merged)
    run(learner, compiled=True)
    learner.save(tmp_path / "saved")
    assert written(LRCSSP.load(tmp_path / "saved")) == written(learner.inner)


@pytest.mark.parametrize(
    ("see", "message"),
    [
        ([[1.0, 0.0], [0.5, 0.4], [0.0, 1.0]], r"see\[1\] sums to 0.9, not 1"),
        ([1.0, 0.0], r"see has shape \(2,\); it needs a function of a context, or a matrix"),
    ],
)
def test_a_matrix_has_points_of_the_simplex_as_rows(see: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        MappedContexts(LRCSSP(PROBLEM.support, 2, loss_floor=0.1), see)


def test_what_is_seen_is_checked_in_both_loops() -> None:
    for compiled in (True, False):
        learner = MappedContexts(LRCSSP(PROBLEM.support, 2, loss_floor=0.1), lambda context: context[:2])
        with pytest.raises(InputError, match="sums to"):
            run(learner, compiled=compiled)
        learner = MappedContexts(LRCSSP(PROBLEM.support, 2, loss_floor=0.1), lambda context: 1.0)
        with pytest.raises(InputError, match="shape"):
            run(learner, compiled=compiled)
    with pytest.raises(InputError, match=r"the context has shape \(2,\); see is a matrix for 3 entries"):
        MappedContexts(LRCSSP(PROBLEM.support, 2, loss_floor=0.1), MERGE).begin([0.5, 0.5])


class Fed:
    """A learner of one component that is fed [1.0] whatever the context."""

    def __init__(self, learner: LRCSSP) -> None:
        self.learner = learner

    def begin(self, context: ArrayLike) -> Episode:
        return self.learner.begin([1.0])


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


def test_those_who_see_alike_are_merged_and_others_say_why_not() -> None:
    support = PROBLEM.support
    one, other = (MappedContexts(lr_cssp(support, 2, loss_floor=0.1), MERGE) for _ in range(2))
    other.learn([0.2, 0.3, 0.5], Step(0, 0, 0.5, 2))
    one.merge(other)
    assert one.inner.statistics.visits.sum() == 1
    functions = [MappedContexts(lr_cssp(support, 2, loss_floor=0.1), see) for see in (merged, merged)]
    functions[0].merge(functions[1])
    for wrong in (functions[0], MappedContexts(lr_cssp(support, 2, loss_floor=0.1), MERGE[::-1])):
        with pytest.raises(InputError, match=r"through another function or matrix.*inner\.merge"):
            one.merge(wrong)
    blind = [ContextBlind(lr_cssp(support, 1, loss_floor=0.1)) for _ in range(2)]
    blind[0].merge(blind[1])
    with pytest.raises(InputError, match="sees contexts as this one does"):
        blind[0].merge(one)


def test_on_a_larger_support_and_under_other_settings_it_sees_as_before() -> None:
    mapped = MappedContexts(lr_cssp(PROBLEM.support, 2, loss_floor=0.1), MERGE)
    mapped.learn([0.2, 0.3, 0.5], Step(0, 0, 0.5, 2))
    for found in (mapped.extended(PROBLEM.support), mapped.with_settings(delta=0.2)):
        assert found.inner.statistics.visits.sum() == 1
        np.testing.assert_array_equal(found.begin([0.0, 1.0, 0.0]).context, [0.3, 0.7])  # type: ignore[attr-defined]
    blind = ContextBlind(lr_cssp(PROBLEM.support, 1, loss_floor=0.1)).extended(PROBLEM.support)
    assert isinstance(blind, ContextBlind)
