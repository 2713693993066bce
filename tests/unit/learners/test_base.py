"""What all learners have: episodes in the order of begin, files of their own settings, a description."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound.baselines import Method, TabularLearner, TabularOptions
from goalbound.errors import ArgumentError, FileFormatError
from goalbound.learners.audit import new_regret_audit
from goalbound.learners.base import LearnerBase
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.ridge import EpsilonGreedy, GreedyRidge, KwikRmax, PosteriorSampling
from goalbound.models import LinearCSSP, Step, Support
from goalbound.simulation import ModelEnvironment
from goalbound.simulation.history import EpisodeBuffer

SUPPORT = Support.full(2, 2)
LEARNERS: dict[str, Callable[[], LearnerBase]] = {
    **{cls.kind: lambda cls=cls: cls(SUPPORT, 1, loss_floor=0.1) for cls in (LRCSSP, GreedyRidge, KwikRmax)},
    **{
        cls.kind: lambda cls=cls: cls(SUPPORT, 1, loss_floor=0.1, rng=np.random.default_rng(1))
        for cls in (EpsilonGreedy, PosteriorSampling)
    },
    "TabularLearner": lambda: TabularLearner(SUPPORT, Method("uc-ssp"), loss_floor=0.1),
}  # type: ignore[misc]


@pytest.fixture(params=LEARNERS)
def learner(request: pytest.FixtureRequest) -> Any:
    return LEARNERS[request.param]()


def test_open_episodes_are_those_that_someone_holds_in_the_order_of_begin(learner: Any) -> None:
    first, dropped, last = learner.begin([1.0]), learner.begin([1.0]), learner.begin([1.0])
    del dropped
    gc.collect()
    assert learner.open_episodes == (first, last)
    assert [one.number for one in learner.open_episodes] == [0, 2]
    first.abandon()
    assert learner.open_episodes == (last,)


def test_an_episode_whose_outcome_is_awaited_is_held_until_it_comes(learner: Any) -> None:
    episode = learner.begin([1.0])
    step = Step(0, episode.act(0), 0.5, 1)
    del episode
    gc.collect()
    (held,) = learner.open_episodes
    held.observe(step)
    del held
    gc.collect()
    assert learner.open_episodes == ()


def test_an_abandoned_episode_is_not_held(learner: Any) -> None:
    for missing_at_random in (False, True):
        episode = learner.begin([1.0])
        episode.act(0)
        episode.abandon(missing_at_random=missing_at_random)
        assert episode.ended
    assert learner.open_episodes == ()


def test_every_class_reads_its_own_files_only(learner: Any, tmp_path: Path) -> None:
    learner.save(tmp_path / "learner")
    for kind, make in LEARNERS.items():
        cls = type(make())
        if kind == learner.kind:
            assert repr(cls.load(tmp_path / "learner")) == repr(learner)
        else:
            with pytest.raises(FileFormatError, match=f"the kind is '{learner.kind}'"):
                cls.load(tmp_path / "learner")


def test_only_a_learner_with_the_same_settings_goes_on_from_a_file(learner: Any, tmp_path: Path) -> None:
    learner.save(tmp_path / "learner")
    assert repr(learner.restored(tmp_path / "learner")) == repr(learner)
    arguments: list[Any] = [Method("uc-ssp")] if learner.kind == "TabularLearner" else [1]
    other = type(learner)(SUPPORT, *arguments, loss_floor=0.2)
    with pytest.raises(FileFormatError, match="has other settings"):
        other.restored(tmp_path / "learner")


def test_a_description_has_the_class_the_support_and_the_steps() -> None:
    assert repr(LEARNERS["GreedyRidge"]()) == "GreedyRidge(2 states, 4 pairs, 12 next states, 1 components, 0 steps)"
    assert repr(LEARNERS["TabularLearner"]()) == "TabularLearner(2 states, 4 pairs, 12 next states, uc-ssp, 0 steps)"


def test_a_learner_without_contexts_is_not_audited() -> None:
    problem = LinearCSSP.dense([[[0.5]]], [[[[0.5, 0.5]]]])
    learner = TabularLearner(
        problem.support, Method("uc-ssp"), loss_floor=0.1, options=TabularOptions(known_losses=[0.5])
    )
    results = EpisodeBuffer.empty(1, 1).results
    environment = ModelEnvironment(problem, rng=np.random.default_rng(0))
    with pytest.raises(ArgumentError, match="no confidence sets to audit"):
        learner.play_episodes(
            environment, np.ones((1, 1)), np.ones((1, 2)), step_limit=9, results=results,
            audit=new_regret_audit(1),
        )  # fmt: skip
