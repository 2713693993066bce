"""Copies and pickles of learners: the same to the bit, and nothing shared that changes."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from goalbound import (
    LRCSSP,
    Clairvoyant,
    Dirichlet,
    EpsilonGreedy,
    GreedyRidge,
    KwikRmax,
    MappedContexts,
    ModelEnvironment,
    PosteriorSampling,
    PriorKnowledge,
)
from goalbound.adapters.covariates import (
    Additive,
    Categories,
    CovariateLearner,
    Hats,
    Periodic,
    SoftClusters,
    Tensor,
)
from goalbound.around.contexts import ContextBlind, Discretized
from goalbound.confidence import sharp
from goalbound.errors import InputError
from goalbound.learners.reference import RandomWalk
from goalbound.simulation import Simulation
from tests.support.driving import MODES, Clinic, draw_step, learner_of, small_problem, written
from tests.support.tabular_driving import METHODS
from tests.support.tabular_driving import clinic as tabular_clinic

PROBLEM = small_problem()
SUPPORT = PROBLEM.support


def pickled(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


WAYS: dict[str, Callable[[Any], Any]] = {"deepcopy": copy.deepcopy, "copy": copy.copy, "pickle": pickled}

VARIANCE_RIDGE: dict[str, Callable[[], LRCSSP]] = {
    **{mode: lambda mode=mode: learner_of(PROBLEM, **MODES[mode]) for mode in MODES},  # type: ignore[misc]
    "sharp": lambda: learner_of(PROBLEM, loss_floor=0.1, widths=sharp(), check_linearity=True),
    "told": lambda: learner_of(
        PROBLEM, loss_floor=0.1, prior=PriorKnowledge.nothing(SUPPORT, 2).with_losses({(0, 0): PROBLEM.losses[0]})
    ),
    "greedy": lambda: GreedyRidge(SUPPORT, 2, loss_floor=0.1),
    "epsilon": lambda: EpsilonGreedy(SUPPORT, 2, loss_floor=0.1, rng=np.random.default_rng(3)),
    "ps": lambda: PosteriorSampling(SUPPORT, 2, loss_floor=0.1, rng=np.random.default_rng(3)),
    "rmax": lambda: KwikRmax(SUPPORT, 2, loss_floor=0.1),
}
EVERY = {
    **{name: lambda name=name: Clinic(PROBLEM, VARIANCE_RIDGE[name](), beds=3, seed=5) for name in VARIANCE_RIDGE},  # type: ignore[misc]
    **{name: lambda name=name: tabular_clinic(name, 3) for name in METHODS},  # type: ignore[misc]
}


def moved(clinic: Clinic, learner: Any) -> Clinic:
    """The clinic going on with a copy of its learner, and with the episodes of that copy."""
    other = copy.copy(clinic)
    other.learner, other.rng, other.actions = learner, copy.deepcopy(clinic.rng), list(clinic.actions)
    episodes = {one.number: one for one in learner.open_episodes}
    assert len(episodes) == len(clinic.patients)
    other.patients = [copy.copy(patient) for patient in clinic.patients]
    for patient in other.patients:
        patient.episode = episodes[patient.episode.number]
    return other


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", EVERY)
def test_a_copy_with_open_episodes_goes_on_to_the_bit_and_alone(name: str, way: str) -> None:
    clinic = EVERY[name]().run(37)  # some episodes wait for an act, some for a step
    before = written(clinic.learner)
    other = moved(clinic, WAYS[way](clinic.learner))
    assert written(other.learner) == before
    other.run(60)
    assert written(clinic.learner) == before  # what the copy observed taught the original nothing
    clinic.run(60)
    assert clinic.actions == other.actions
    assert written(clinic.learner) == written(other.learner)


def arrays_of(thing: Any, seen: set[int] | None = None) -> Iterator[np.ndarray[Any, Any]]:
    """Every array that can be reached from a thing."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield thing
    elif isinstance(thing, dict):
        for value in thing.values():
            yield from arrays_of(value, seen)
    elif isinstance(thing, list | tuple | set):
        for value in thing:
            yield from arrays_of(value, seen)
    elif type(thing).__module__.startswith("goalbound") and hasattr(thing, "__dict__"):
        yield from arrays_of(vars(thing), seen)
        yield from arrays_of(list(getattr(thing, "open_episodes", ())), seen)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", EVERY)
def test_a_copy_shares_no_array_that_can_be_written_to(name: str, way: str) -> None:
    learner = EVERY[name]().run(10).learner
    mine = [array for array in arrays_of(learner) if array.flags.writeable]
    assert len(mine) >= 10
    for other in arrays_of(WAYS[way](learner)):
        if other.flags.writeable:
            assert not any(np.may_share_memory(one, other) for one in mine)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["narrow", "sharp", "ps", "told", "ulcvi", "psrl"])
def test_kernels_meet_arrays_of_the_same_types_so_that_none_is_compiled_again(name: str, way: str) -> None:
    clinic = EVERY[name]().run(10)
    learner: Any = clinic.learner
    other = WAYS[way](learner)
    for part in ("_constants", "_state", "_scratch", "_workspace"):
        if hasattr(learner, part):
            assert getattr(other, part)._type_id == getattr(learner, part)._type_id
    for one, its in zip(learner.open_episodes, other.open_episodes, strict=True):
        assert its._arrays._type_id == one._arrays._type_id


def test_a_step_observed_through_the_copy_does_not_teach_the_original() -> None:
    learner = learner_of(PROBLEM, **MODES["narrow"])
    episode = learner.begin([0.5, 0.5])
    action = episode.act(0)
    other = copy.deepcopy(learner)
    (its,) = other.open_episodes
    assert (its is episode, its.learner is other, its.number) == (False, True, episode.number)
    its.observe(draw_step(PROBLEM, its.context, 0, action, 0.99))
    assert (learner.statistics.visits.sum(), other.statistics.visits.sum()) == (0, 1)
    assert learner.open_episodes == (episode,)


def test_the_copy_holds_its_open_episodes_until_they_end() -> None:
    learner = learner_of(PROBLEM, **MODES["narrow"])
    episode = learner.begin([0.5, 0.5])
    other = pickled(learner)
    del episode
    gc.collect()
    assert learner.open_episodes == ()
    assert len(other.open_episodes) == 1
    other.open_episodes[0].abandon()
    assert other.open_episodes == ()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["narrow", "psrl"])
def test_a_copy_of_an_episode_comes_with_a_copy_of_its_learner(name: str, way: str) -> None:
    clinic = EVERY[name]().run(21)
    for patient in clinic.patients:
        episode: Any = patient.episode
        its = WAYS[way](episode)
        assert its.learner is not clinic.learner
        assert any(one is its for one in its.learner.open_episodes)
        assert [one.number for one in its.learner.open_episodes] == sorted(
            one.episode.number for one in clinic.patients
        )
        assert written(its.learner) == written(clinic.learner)
        assert (its.state, its.number, its.ended) == (episode.state, episode.number, episode.ended)


def test_an_episode_that_ended_is_copied_too() -> None:
    episode = learner_of(PROBLEM, **MODES["narrow"]).begin([0.5, 0.5])
    episode.abandon()
    other = pickled(episode)
    assert (other.ended, other.context.tolist(), other.learner.open_episodes) == (True, [0.5, 0.5], ())


def test_learner_and_episodes_that_are_copied_together_stay_together() -> None:
    learner = learner_of(PROBLEM, **MODES["narrow"])
    episodes = [learner.begin([0.5, 0.5]), learner.begin([1.0, 0.0])]
    for way in (copy.deepcopy, pickled):
        other, its = way((learner, episodes))
        assert list(other.open_episodes) == its


def cell_learner(rng: np.random.Generator) -> LRCSSP:
    return PosteriorSampling(SUPPORT, 1, loss_floor=0.1, rng=rng)


def wrapped(name: str) -> Any:
    inner = learner_of(PROBLEM, **MODES["narrow"])
    return {
        "blind": lambda: ContextBlind(cell_learner(np.random.default_rng(1))),
        "cells": lambda: Discretized(cell_learner, 2, parts=2, rng=np.random.default_rng(1)),
        "seen through": lambda: MappedContexts(inner, [[0.9, 0.1], [0.2, 0.8]]),
        "random": lambda: RandomWalk(SUPPORT, rng=np.random.default_rng(1)),
        "clairvoyant": lambda: Clairvoyant(PROBLEM),
    }[name]()


def played(learner: Any, episodes: int, *, seed: int) -> list[int]:
    """The actions of whole episodes."""
    rng, actions = np.random.default_rng(seed), []
    for _ in range(episodes):
        context = rng.dirichlet(np.ones(2))
        episode, state = learner.begin(context), 0
        while state != SUPPORT.states:
            actions.append(episode.act(state))
            step = draw_step(PROBLEM, context, state, actions[-1], rng.random())
            episode.observe(step)
            state = step.next_state
    return actions


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["blind", "cells", "seen through", "random", "clairvoyant"])
def test_learners_around_learners_are_copied_with_what_is_inside(name: str, way: str) -> None:
    learner = wrapped(name)
    played(learner, 5, seed=1)
    other, untouched = WAYS[way](learner), WAYS[way](learner)
    assert type(other) is type(learner)
    first = played(other, 6, seed=2)
    assert first == played(learner, 6, seed=2) == played(untouched, 6, seed=2)
    if hasattr(learner, "play_episodes"):
        assert other.play_episodes.__self__ is other


@pytest.mark.parametrize("way", WAYS)
def test_open_episodes_inside_other_learners_are_copied(way: str) -> None:
    for learner, inside in (
        (wrapped("blind"), lambda one: one.inner),
        (wrapped("seen through"), lambda one: one.inner),
        (wrapped("cells"), lambda one: one.cells[1, 0]),
    ):
        episode = learner.begin([0.9, 0.1])
        action = episode.act(0)
        other = WAYS[way](learner)
        (its,) = inside(other).open_episodes
        assert its.act(0) == action
        its.observe(draw_step(PROBLEM, np.array([0.9, 0.1]), 0, action, 0.5))
        assert inside(other).statistics.visits.sum() == 1
        assert inside(learner).statistics.visits.sum() == 0


MAPS = {
    "hats": (Hats([20, 80], clamp=True), 35.0),
    "periodic": (Periodic(24, [0, 8, 16]), 3.0),
    "clusters": (SoftClusters([[0.0, 1.0], [1.0, 0.0]], temperature=1.0, missing=[0.5, 0.5]), [0.2, 0.3]),
    "categories": (Categories(["a", "b"], missing=[0.5, 0.25, 0.25]), "a"),
    "additive": (Additive([Hats([0, 1]), Hats([0, 2])], ["x", "y"]), {"x": 0.5, "y": 0.5}),
    "tensor": (Tensor([Hats([0, 1]), Hats([0, 2])], ["x", "y"]), {"x": 0.5, "y": 0.5}),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MAPS)
def test_a_learner_of_covariates_is_copied_with_its_map_and_counts(name: str, way: str) -> None:
    map, row = MAPS[name]
    learner = CovariateLearner(map, learner_of(small_problem(context_size=map.context_size), **MODES["narrow"]))
    episode: Any = learner.begin(row)
    other = WAYS[way](learner)
    assert (other.begun, other.outside.tolist()) == (1, learner.outside.tolist())
    assert other.map(row).tobytes() == map(row).tobytes()
    (its,) = other.inner.open_episodes
    assert its is not episode
    other.begin(row)
    assert (learner.begun, other.begun) == (1, 2)
    for array in vars(other.map).values():
        assert not (isinstance(array, np.ndarray) and array.flags.writeable)


@pytest.mark.parametrize("way", WAYS)
def test_frozen_data_stays_frozen_in_copies(way: str) -> None:
    given = PriorKnowledge.nothing(SUPPORT, 2).with_losses({(0, 0): 0.5})
    assert SUPPORT.pair_state is not None  # which is remembered from now on
    for thing in (SUPPORT, PROBLEM, PROBLEM.at([0.5, 0.5]), given):
        other = WAYS[way](thing)
        assert other == thing
        found = list(arrays_of(other))
        assert len(found) >= 4
        assert not any(array.flags.writeable for array in found)


@pytest.mark.parametrize("way", WAYS)
def test_a_simulation_and_its_world_go_on_in_a_copy(way: str) -> None:
    def made(rng: np.random.Generator) -> LRCSSP:
        return PosteriorSampling(SUPPORT, 2, loss_floor=0.1, rng=rng)

    simulation = Simulation(PROBLEM, made, Dirichlet.symmetric(2), seed=4, compiled=False)
    simulation.run(5)
    other = copy.deepcopy(simulation) if way == "copy" else WAYS[way](simulation)
    assert isinstance(other.environment, ModelEnvironment)
    assert not any(array.flags.writeable for array in other.environment.components)
    first, second = simulation.run(5), other.run(5)
    assert first.expected_regret.tobytes() == second.expected_regret.tobytes()
    assert first.steps.tobytes() == second.steps.tobytes()


def test_arrays_that_come_back_from_files_that_can_only_be_read_are_copied() -> None:
    # As joblib does it with large arrays: what a worker gets can only be read.
    clinic = EVERY["narrow"]().run(37)
    expected = written(clinic.learner)
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(clinic.learner, protocol=5, buffer_callback=buffers.append)
    assert len(buffers) > 20
    other = pickle.loads(data, buffers=[bytes(buffer.raw()) for buffer in buffers])
    assert written(other) == expected
    assert moved(clinic, other).run(20).actions == clinic.run(20).actions


def test_a_pickle_of_another_version_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pickle.dumps(learner_of(PROBLEM, **MODES["narrow"]))
    monkeypatch.setattr("goalbound.__version__", "99.0")
    with pytest.raises(InputError, match=r"this LRCSSP was pickled by goalbound .*, and this is 99\.0; .*save\(path\)"):
        pickle.loads(data)
