"""What wrappers with episodes of their own share."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalbound import LRCSSP, Apprentice, Guarded, Monitored, Step, Support, load_learner, widths
from goalbound.around.around import Around
from goalbound.errors import FileFormatError

SUPPORT = Support.full(2, 2)
MAKE: dict[str, Callable[[Any], Any]] = {
    "Guarded": lambda learner: Guarded(learner, [1, 0], after_steps=3),
    "Apprentice": lambda learner: Apprentice(learner, [1, 0]),
    "Monitored": Monitored,
}


def wrapped(kind: str) -> Any:
    return MAKE[kind](LRCSSP(SUPPORT, 2, loss_floor=0.1, widths=widths.sharp()))


@pytest.mark.parametrize("kind", MAKE)
def test_an_episode_is_found_by_its_id_is_equal_to_itself_and_copied_with_its_learner(kind: str) -> None:
    learner = wrapped(kind)
    episode = learner.begin([0.3, 0.7], id="case")
    assert episode == learner.episode("case") == learner.open_episodes[0]
    assert hash(episode) == hash(learner.episode("case"))
    assert episode != learner.begin([0.3, 0.7])
    assert episode != episode.inner
    assert (episode.id, episode.state, episode.ended) == ("case", None, False)
    np.testing.assert_array_equal(episode.context, [0.3, 0.7])
    twin = copy.copy(episode)
    assert twin.learner is not learner
    twin.observe(Step(0, twin.act(0), 0.5, 2))
    assert (twin.ended, episode.ended) == (True, False)
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = episode.nothing_such


@pytest.mark.parametrize("kind", MAKE)
def test_what_is_inside_is_asked_by_the_same_names(kind: str) -> None:
    learner = wrapped(kind)
    assert learner.learn_log([([0.3, 0.7], Step(0, 1, 0.5, 1))] * 2) == 2
    learner.learn([0.3, 0.7], Step(1, 0, 0.5, 2))
    assert learner.statistics.visits.sum() == 3
    assert learner.context_size == learner.settings.context_size == 2
    assert learner.policy_bounds([0.3, 0.7], [1, 0]).upper.shape == (3,)


@pytest.mark.parametrize("kind", MAKE)
def test_a_file_of_another_one_is_refused_by_name(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "learner.npz"
    learner = wrapped(kind)
    learner.learn([0.3, 0.7], Step(1, 0, 0.5, 2))
    learner.save(path)
    assert load_learner(path).statistics.visits.sum() == 1
    assert learner.restored(path).statistics.visits.sum() == 1
    others = {
        "Guarded": Guarded(wrapped(kind).inner, [1, 1], after_steps=3),
        "Apprentice": Apprentice(wrapped(kind).inner, [1, 0], margin=0.5),
        "Monitored": Monitored(wrapped(kind).inner, window=5),
    }
    with pytest.raises(FileFormatError, match=r"in it has (another runbook|another run length)"):
        others[kind].restored(path)
    with pytest.raises(FileFormatError, match="the limit is 10; raise it with limit="):
        type(learner).load(path, limit=10)


class Counting(Around):
    """Notes steps, and says nothing of episodes."""

    def __init__(self, learner: Any) -> None:
        super().__init__(learner)
        self.steps = 0

    def _watch(self, episode: Any, step: Any, *, foreign: bool) -> None:
        self.steps += step is not None


class Always(Around):
    """Leads, and says nothing of episodes."""

    def _lead(self, episode: Any, state: int, allowed: list[Any] | None) -> int:
        action: int = episode.inner.act(state, allowed=[1])
        return action


def test_a_wrapper_of_a_third_party_that_overrides_a_hook_is_asked_by_its_episodes() -> None:
    counting, always = Counting(LRCSSP(SUPPORT, 2, loss_floor=0.1)), Always(LRCSSP(SUPPORT, 2, loss_floor=0.1))
    episode = counting.begin([0.3, 0.7])
    episode.observe(Step(0, episode.act(0), 0.5, 1))
    assert counting.steps == 1
    assert always.begin([0.3, 0.7]).act(0) == 1
