"""Learners around others forward what is inside, nothing made up and nothing that is not there, in any order."""

from __future__ import annotations

import copy
import pickle
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound import LRCSSP, Apprentice, Guarded, LossScale, MappedContexts, Monitored, Step, Support, load_learner
from goalbound.adapters.covariates import CovariateLearner, Hats
from goalbound.around.around import Around, has_own
from goalbound.around.contexts import ContextBlind, Discretized
from goalbound.baselines import Method, TabularLearner
from goalbound.confidence import sharp
from goalbound.errors import ArgumentError, LearnerError, WrongPriorWarning
from goalbound.learners.card import THIRD_PARTY, learner_card
from goalbound.learners.reference import RandomWalk
from goalbound.logs import LogColumns, read_log
from tests.support.ridge import lr_cssp
from tests.support.units import in_units

SUPPORT = Support.full(2, 2)
PASSED_ON = ("support", "open_episodes", "statistics", "estimate", "alarm")
MINUTES = LossScale("min", cap=60)


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
    for name in ("confidence_set", "policy_bounds", "robust_plan"):
        one, other = getattr(wrapper, name)(shown), getattr(wrapper.inner, name)(seen)
        last = "loss_high" if name == "confidence_set" else "upper"
        np.testing.assert_array_equal(getattr(one, last), getattr(other, last))


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
        with pytest.raises(AttributeError, match=f"the {name} of the learner inside, and a TabularLearner has no"):
            getattr(blind, name)
    assert not hasattr(ContextBlind(RandomWalk(SUPPORT)), "open_episodes")


ASKED = ("plan", "progress", "policy_bounds", "robust_plan", "explain", "confidence_set", "anew", "extended", "merge")


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("inner", [lambda: RandomWalk(SUPPORT), lambda: ContextBlind(RandomWalk(SUPPORT))])
def test_what_the_learner_cannot_be_asked_is_an_attribute_error(inner: Any, name: str) -> None:
    for wrapper in (CovariateLearner(Hats([20, 80]), inner()), ContextBlind(inner()), Around(inner())):
        if name != "merge":
            assert not hasattr(wrapper, name)
        with pytest.raises(AttributeError, match=rf"a (RandomWalk|ContextBlind) has no {name}|object has no"):
            _ = wrapper.merge(wrapper) if name == "merge" else getattr(wrapper, name)


def test_the_remedy_for_a_learner_that_cannot_be_changed_is_its_log() -> None:
    guarded = Guarded(TabularLearner(SUPPORT, Method("eb-ssp"), loss_floor=0.1), [0, 0], after_steps=1)
    for ask in (
        lambda: guarded.extended(SUPPORT),
        lambda: guarded.merge(copy.deepcopy(guarded)),
        lambda: guarded.with_settings(delta=0.2),
    ):
        with pytest.raises(LearnerError, match=r"a TabularLearner has no \w+; make a new learner.*learn_log"):
            ask()


def test_the_card_of_a_wrapper_that_says_nothing_is_that_of_a_third_party() -> None:
    class Other(Around):
        pass

    assert learner_card(Around(inside(2))) == learner_card(inside(2))
    assert learner_card(Other(inside(2))) == THIRD_PARTY


def test_a_wrapper_of_a_third_party_needs_only_the_hooks_that_it_changes() -> None:
    class Reversed(Around):
        def _see(self, context: Any) -> Any:
            return context[::-1]

    reversed_, plain = Reversed(inside(2)), inside(2)
    steps = [([0.25, 0.75], Step(0, 1, 0.5, 1)), ([0.5, 0.5], Step(1, 0, 0.25, 2))]
    assert reversed_.learn_log(steps) == 2
    plain.learn_log([(context[::-1], step) for context, step in steps])
    np.testing.assert_array_equal(reversed_.statistics.loss_sums, plain.statistics.loss_sums)
    assert reversed_.begin([0.25, 0.75]).context.tolist() == [0.75, 0.25]
    assert reversed_.explain([0.25, 0.75], 0).as_json() == plain.explain([0.75, 0.25], 0).as_json()
    assert isinstance(reversed_.anew(), Reversed)


def test_open_episodes_of_a_file_are_found_through_the_wrapper(tmp_path: Path) -> None:
    learner = CovariateLearner(Hats([20, 80]), inside(2))
    episode = learner.begin(35.0)
    episode.act(0)
    learner.save(tmp_path / "saved")
    (again,) = CovariateLearner.load(tmp_path / "saved").open_episodes
    assert again.context.tolist() == [0.75, 0.25]


def test_cells_show_their_open_episodes() -> None:
    learner = Discretized(lambda rng: inside(1, loss_floor=0.9), 2, parts=2)
    first, second, third = (learner.begin(context) for context in ([0.9, 0.1], [0.1, 0.9], [0.8, 0.2]))
    assert learner.open_episodes == (first, third, second)
    assert repr(learner) == "Discretized(2 components in 2 parts, 2 cells)"
    assert repr(ContextBlind(learner.cells[0, 1])).startswith("ContextBlind(LRCSSP(2 states")


# Any of them around any other.

AROUND: dict[str, Any] = {
    "Guarded": lambda learner, given, size: Guarded(learner, [1, 0], after_steps=1),
    "Apprentice": lambda learner, given, size: Apprentice(learner, [1, 0]),
    "Monitored": lambda learner, given, size: Monitored(learner),
    "MappedContexts": lambda learner, given, size: MappedContexts(learner, np.full((given, size), 1.0 / size)),
    "ContextBlind": lambda learner, given, size: ContextBlind(learner),
    "CovariateLearner": lambda learner, given, size: CovariateLearner(Hats(np.linspace(0, 1, size)), learner),
}
"""Puts one around a learner: ``given`` and ``size`` are those of contexts outside and inside."""
LOOK_INSIDE = ("Guarded", "Apprentice", "Monitored")
PAIRS = [
    (outer, inner)
    for outer, inner in product(AROUND, AROUND)
    if inner != "CovariateLearner" or outer in LOOK_INSIDE  # what is made of covariates is a context
]


def stacked(outer: str, inner: str) -> Any:
    """The outer one around the inner one around an LRCSSP with a unit."""
    given = 1 if outer == "ContextBlind" else 2
    size = 1 if inner == "ContextBlind" or outer == "ContextBlind" else 2
    if "CovariateLearner" in (outer, inner):
        size = 2 if inner != "ContextBlind" else 1
    base = in_units(LRCSSP(SUPPORT, size, loss_floor=0.1, widths=sharp()), MINUTES)
    between = AROUND[inner](base, given, size)
    return AROUND[outer](between, 2, 2)


@pytest.mark.parametrize(("outer", "inner"), PAIRS)
def test_any_goes_around_any_other(outer: str, inner: str, tmp_path: Path) -> None:
    learner = stacked(outer, inner)
    shown: Any = 0.25 if "CovariateLearner" in (outer, inner) else [0.75, 0.25]
    learner.learn(shown, Step(0, 1, 12.0, 1))
    assert learner.learn_log([(shown, Step(1, 0, 6.0, 2))] * 3) == 3
    assert learner.statistics.loss_sums.sum() == pytest.approx(0.2 + 3 * 0.1)  # in [0, 1]
    assert learner.plan(shown).loss_scale == learner.policy_bounds(shown).loss_scale == learner.loss_scale == MINUTES
    episode = learner.begin(shown, id="case")
    episode.observe(Step(0, episode.act(0), 30.0, 1))
    action = episode.act(1)
    assert episode.explain().actions[episode.explain().chosen].number == action
    assert learner.explain(shown, 1).loss_scale == MINUTES
    path = tmp_path / "learner.npz"
    learner.save(path)
    fresh = stacked(outer, inner).restored(path)
    for again in (fresh, copy.deepcopy(learner), pickle.loads(pickle.dumps(learner)), learner):
        assert repr(again) == repr(learner) or again is fresh
        one = again.episode("case")
        assert one.pending_action == action
        one.observe(Step(1, action, 6.0, 2))
        assert (one.ended, again.open_episodes) == (True, ())
        assert again.statistics.visits.sum() == 6
    if not {outer, inner} & {"MappedContexts", "ContextBlind"}:
        assert type(load_learner(path).inner) is type(learner.inner)
    for other in (learner.extended(SUPPORT), learner.with_settings(delta=0.2)):
        assert [type(other), type(other.inner)] == [type(learner), type(learner.inner)]
        assert (other.statistics.visits.sum(), other.loss_scale) == (6, MINUTES)
    anew = learner.anew()
    assert (anew.statistics.visits.sum(), anew.loss_scale) == (0, MINUTES)
    learner.merge(fresh)
    assert learner.statistics.visits.sum() == 12


@pytest.mark.parametrize(("outer", "inner"), product(LOOK_INSIDE, ["Guarded", "Apprentice", "Monitored"]))
def test_all_of_them_see_each_step_of_an_episode(outer: str, inner: str) -> None:
    learner = stacked(outer, inner)
    episode = learner.begin([0.5, 0.5])
    episode.observe(Step(0, episode.act(0), 30.0, 1))
    episode.act(1)
    if "Guarded" in (outer, inner):  # its runbook acts after one step
        assert (episode.guarded, episode.lost, learner.interventions) == (True, 0.5, 1)
    if "Monitored" in (outer, inner):
        assert learner.detector.steps == 1
    if "Apprentice" in (outer, inner):
        assert learner.led_by_runbook == 1


def test_a_guard_inside_an_apprentice_has_the_last_word() -> None:
    learner = Apprentice(Guarded(inside(2), [0, 0], after_steps=1), [1, 1])
    episode = learner.begin([0.5, 0.5])
    assert episode.act(0) == 1
    episode.observe(Step(0, 1, 0.5, 1))
    assert (episode.act(1), episode.guarded, learner.interventions) == (0, True, 1)
    assert "as the runbook says: after 1 step" in str(episode.explain())


@pytest.mark.parametrize("inner", AROUND)
def test_cells_are_made_with_all_that_is_around_them(inner: str) -> None:
    if inner == "CovariateLearner":
        return

    def make(rng: Any) -> Any:
        return AROUND[inner](LRCSSP(SUPPORT, 1, loss_floor=0.1), 1, 1)

    learner = Discretized(make, 2, parts=2)
    episode = learner.begin([0.9, 0.1])
    episode.observe(Step(0, episode.act(0), 0.5, 2))
    assert isinstance(learner.cells[1, 0], type(make(None)))
    assert learner.plan([0.9, 0.1]).policy.shape == (2,)
    for outer in LOOK_INSIDE:
        with pytest.raises(ArgumentError, match=rf"Discretized\(lambda rng: {outer}\("):
            AROUND[outer](learner, 2, 2)
    blind = MappedContexts(learner, np.eye(2))
    blind.learn([0.9, 0.1], Step(0, 1, 0.5, 2))
    assert blind.cells[1, 0].statistics.visits.sum() == 2


def test_the_unit_of_what_is_around_is_that_of_the_learner_inside() -> None:
    base = inside(2)
    learner = Monitored(Guarded(base, [0, 1], after_steps=2))
    learner.loss_scale = MINUTES
    assert (base.loss_scale, learner.loss_scale, learner.unit) == (MINUTES, MINUTES, "min")
    with pytest.raises(AttributeError, match="a RandomWalk has no loss_scale"):
        ContextBlind(RandomWalk(SUPPORT)).loss_scale = MINUTES


def test_cells_learn_a_log_that_was_read_with_their_unit() -> None:
    table = {"case": [1, 2], "time": [1, 2], "state": [0, 0], "action": [0, 1], "loss": [12.0, 30.0],
             "next_state": ["goal", "goal"], "a": [0.9, 0.1], "b": [0.1, 0.9]}  # fmt: skip
    columns = LogColumns(context=("a", "b"))
    log = read_log(table, columns=columns, support=SUPPORT, loss_scale=MINUTES)
    learner = Discretized(lambda rng: in_units(inside(1), MINUTES), 2, parts=2)
    assert learner.learn_log(log) == 2
    sums = [cell.statistics.loss_sums.sum() for cell in learner.cells.values()]
    assert sums == pytest.approx([12 / 60, 30 / 60])
    with pytest.raises(ArgumentError, match="step 0 of the log, from 0 on: the log was read with no unit"):
        learner.learn_log(read_log({**table, "loss": [0.1, 0.2]}, columns=columns, support=SUPPORT))
    with pytest.raises(ArgumentError, match="takes losses in min"):
        learner.check_simulated()


def test_cells_count_the_clipped_losses_of_a_log() -> None:
    clipped = LossScale("min", cap=60, beyond="clip")
    table = {"case": [1, 2, 3], "time": [1, 2, 3], "state": [0] * 3, "action": [0, 1, 0], "loss": [75.0, 30.0, 90.0],
             "next_state": ["goal"] * 3, "a": [0.9, 0.1, 0.1], "b": [0.1, 0.9, 0.9]}  # fmt: skip
    log = read_log(table, columns=LogColumns(context=("a", "b")), support=SUPPORT, loss_scale=clipped)
    in_minutes = [(row, step._replace(loss=loss)) for (row, step), loss in zip(log, table["loss"], strict=True)]
    for given in (log, in_minutes):
        learner = Discretized(lambda rng: in_units(inside(1), clipped), 2, parts=2)
        assert learner.learn_log(given) == 3
        assert {cell: one.clipped for cell, one in learner.cells.items()} == {(1, 0): 1, (0, 1): 1}


def test_attributes_of_its_own_are_told_from_those_inside() -> None:
    learner = Monitored(Guarded(inside(2), [0, 1], after_steps=2))
    assert has_own(learner, "detector")
    assert not has_own(learner, "excess")
    assert has_own(learner.inner, "excess")
