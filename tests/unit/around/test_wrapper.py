"""What learners that stand before others pass on: the same things, nothing made up, nothing that is not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound import LRCSSP, InUnits, LossScale, MappedContexts, Step, Support
from goalbound.adapters.covariates import CovariateLearner, Hats
from goalbound.around.context_map import ContextBlind
from goalbound.around.discretized import Discretized
from goalbound.around.wrapper import bytes_of, copy_with_episode
from goalbound.baselines import Method, TabularLearner
from goalbound.errors import LearnerError, WrongPriorWarning
from goalbound.estimation import sharp
from goalbound.learners.reference import RandomWalk
from tests.support.ridge import lr_cssp

SUPPORT = Support.full(2, 2)
PASSED_ON = ("support", "open_episodes", "statistics", "estimate", "alarm")


def inside(size: int, **others: Any) -> LRCSSP:
    return lr_cssp(SUPPORT, size, loss_bound=9.0, widths=sharp(), **{"loss_floor": 0.1, **others})


def free_steps(learner: Any, shown: Any) -> None:
    """400 episodes of one step that costs nothing."""
    for _ in range(400):
        episode = learner.begin(shown)
        episode.observe(Step(0, episode.act(0), 0.0, 2))


WRAPPED: dict[str, Any] = {
    "CovariateLearner": (lambda learner: CovariateLearner(Hats([20, 80]), learner), 2, 35.0, [0.75, 0.25]),
    "MappedContexts": (
        lambda learner: MappedContexts(learner, [[1, 0], [0, 1], [0, 1]]),
        2,
        [0.5, 0.2, 0.3],
        [0.5, 0.5],
    ),
    "ContextBlind": (lambda learner: ContextBlind(learner), 1, [0.5, 0.5], [1.0]),
}
"""how to wrap, d of the learner, what begin takes, and the context that the learner sees then"""


@pytest.mark.parametrize(("wrap", "size", "shown", "seen"), WRAPPED.values(), ids=WRAPPED)
def test_a_wrapper_has_what_its_learner_has(wrap: Any, size: int, shown: Any, seen: list[float]) -> None:
    wrapper = wrap(inside(size))
    first, second = wrapper.begin(shown), wrapper.begin(shown)
    first.observe(Step(0, first.act(0), 0.5, 2))
    assert wrapper.open_episodes == (second,)
    assert wrapper.support is SUPPORT
    assert wrapper.statistics.visits.sum() == 1
    assert wrapper.estimate.losses.tolist() == wrapper.inner.estimate.losses.tolist()
    assert wrapper.alarm is None
    one, other = wrapper.confidence_set(shown), wrapper.inner.confidence_set(seen)
    np.testing.assert_array_equal(one.loss_high, other.loss_high)


@pytest.mark.parametrize(("wrap", "size", "shown"), [case[:3] for case in WRAPPED.values()], ids=WRAPPED)
def test_an_alarm_of_the_learner_is_that_of_its_wrapper(wrap: Any, size: int, shown: Any) -> None:
    wrapper = wrap(inside(size, loss_floor=0.9))
    with pytest.warns(WrongPriorWarning, match="loss_floor is too high"):
        free_steps(wrapper, shown)
    assert wrapper.alarm is not None
    assert wrapper.alarm == wrapper.inner.alarm


@pytest.mark.parametrize("name", PASSED_ON)
def test_what_the_learner_lacks_the_wrapper_lacks(name: str) -> None:
    blind = ContextBlind(TabularLearner(SUPPORT, Method("eb-ssp"), loss_floor=0.1))
    there = hasattr(blind.inner, name)
    assert hasattr(blind, name) == there
    if not there:
        with pytest.raises(AttributeError, match=f"the {name} of the learner inside, and a TabularLearner has none"):
            getattr(blind, name)
    assert not hasattr(ContextBlind(RandomWalk(SUPPORT)), "open_episodes")


def test_what_is_passed_on_cannot_be_set() -> None:
    with pytest.raises(AttributeError, match="alarm of a ContextBlind is that of the learner inside"):
        ContextBlind(inside(1)).alarm = None


def test_open_episodes_of_a_file_are_found_through_the_wrapper(tmp_path: Path) -> None:
    learner = CovariateLearner(Hats([20, 80]), inside(2))
    episode = learner.begin(35.0)
    episode.act(0)
    learner.save(tmp_path / "saved")
    (again,) = CovariateLearner.load(tmp_path / "saved").open_episodes
    assert again.context.tolist() == [0.75, 0.25]


def test_cells_show_their_open_episodes_and_their_alarms() -> None:
    learner = Discretized(lambda rng: inside(1, loss_floor=0.9), 2, parts=2)
    first, second, third = (learner.begin(context) for context in ([0.9, 0.1], [0.1, 0.9], [0.8, 0.2]))
    assert learner.open_episodes == (first, third, second)
    assert learner.alarms == {}
    with pytest.warns(WrongPriorWarning):
        free_steps(learner, [0.1, 0.9])
    assert learner.alarms == {(0, 1): learner.cells[0, 1].alarm}
    assert repr(learner) == "Discretized(2 components in 2 parts, 2 cells)"
    assert repr(ContextBlind(learner.cells[0, 1])).startswith("ContextBlind(LRCSSP(2 states")


def test_a_copy_with_one_episode_proposes_what_the_learner_would_and_leaves_it_as_it_was() -> None:
    learner = InUnits(LRCSSP(Support.full(2, 3), 2, loss_floor=0.1), LossScale("min", cap=1))
    episodes = [learner.begin([0.5, 0.5], id=number) for number in range(3)]
    for episode in episodes:
        episode.act(0)
    before = bytes_of(learner).tobytes()
    copied = copy_with_episode(learner, 1)
    assert [one.id for one in copied.open_episodes] == [1]
    mine = copied.episode(1)
    mine.take_back()
    proposed = mine.act(0, allowed=[1, 2])
    assert bytes_of(learner).tobytes() == before
    assert [one.id for one in learner.open_episodes] == [0, 1, 2]
    episodes[1].take_back()
    assert episodes[1].act(0, allowed=[1, 2]) == proposed


ASKED: dict[str, tuple[Any, ...]] = {
    "plan": (), "progress": (), "policy_bounds": (), "robust_plan": (), "explain": (0,), "confidence_set": (),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("inner", [lambda: RandomWalk(SUPPORT), lambda: ContextBlind(RandomWalk(SUPPORT))])
def test_what_the_learner_cannot_be_asked_is_an_error_of_whoever_asks(inner: Any, name: str) -> None:
    for wrapper, shown in (
        (InUnits(inner(), LossScale("min", cap=1)), [0.5, 0.5]),
        (CovariateLearner(Hats([20, 80]), inner()), 35.0),
        (ContextBlind(inner()), [0.5, 0.5]),
    ):
        if hasattr(wrapper, name):
            with pytest.raises(LearnerError, match=rf"a (RandomWalk|ContextBlind.*) has no {name}; .* it"):
                getattr(wrapper, name)(shown, *ASKED[name])
