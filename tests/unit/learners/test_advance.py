"""An outcome and the next action in one call are the same, to the bit, as one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from goalbound import (
    LRCSSP,
    EpsilonGreedy,
    GreedyRidge,
    KwikRmax,
    LocalOptimism,
    PosteriorSampling,
    PriorKnowledge,
    Step,
    Support,
)
from goalbound.errors import InputError, ProjectionFailed
from goalbound.jit.compile import compiled_ahead
from goalbound.learners.advance import ENDED, IMPOSSIBLE, Advance
from tests.support.driving import written

SUPPORT = Support.full(3, 2)


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


LEARNERS: dict[str, Any] = {
    "greedy": lambda: GreedyRidge(SUPPORT, 2, loss_floor=0.1),
    "epsilon": lambda: EpsilonGreedy(SUPPORT, 2, loss_floor=0.1, explore=0.5, fade=0.0, rng=rng()),
    "local": lambda: LocalOptimism(SUPPORT, 2, loss_floor=0.1),
    "posterior": lambda: PosteriorSampling(SUPPORT, 2, loss_floor=0.1, rng=rng()),
    "rmax": lambda: KwikRmax(SUPPORT, 2, loss_floor=0.1, threshold=0.5),
}


def advanced(learner: Any, episode: Any, loss: float, following: int) -> int | None:
    advance = Advance.of(learner)
    assert advance is not None
    action = advance(episode, advance.place(episode, following), loss, following)
    return None if action == ENDED else action


def one_by_one(learner: Any, episode: Any, loss: float, following: int) -> int | None:
    episode.observe(Step(episode.state, episode._action, loss, following))
    return None if following == SUPPORT.states else episode.act(following)


def driven(learner: Any, go_on: Any, steps: int = 60) -> tuple[list[Any], Any]:
    """Some episodes at once, each a step in turn; what was proposed, and the learner as a file."""
    draws = np.random.default_rng(1)
    episodes: list[Any] = []
    found: list[Any] = []
    for number in range(steps):
        if len(episodes) < 3:
            episodes.append(learner.begin(draws.dirichlet([1.0, 1.0]), id=number))
            found.append(episodes[-1].act(0))
            continue
        place = int(draws.integers(3))
        if number % 7 == 0:
            episodes[place].park()
        following = int(draws.choice(4, p=[0.4, 0.3, 0.2, 0.1]))
        found.append(go_on(learner, episodes[place], float(draws.random()), following))
        if following == SUPPORT.states:
            del episodes[place]
    return found, written(learner)


@pytest.mark.parametrize("name", LEARNERS)
def test_it_is_observe_and_then_act_to_the_bit(name: str) -> None:
    assert driven(LEARNERS[name](), advanced) == driven(LEARNERS[name](), one_by_one)


def test_it_is_the_same_when_compiled_in_the_midst() -> None:
    def compiled(learner: Any, episode: Any, loss: float, following: int) -> int | None:
        if not hasattr(learner, "kept"):
            learner.kept = Advance.of(learner)
        with compiled_ahead():
            action: int = learner.kept(episode, learner.kept.place(episode, following), loss, following)
        return None if action == ENDED else action

    learner = LEARNERS["greedy"]()
    found = driven(learner, compiled)[0]
    assert learner.kept._program is not None
    other = LEARNERS["greedy"]()
    assert found == driven(other, one_by_one)[0]
    np.testing.assert_array_equal(learner.statistics.loss_sums, other.statistics.loss_sums)


def test_what_cannot_follow_is_said_before_anything_changes() -> None:
    support = Support.from_names({"down": {"restart": ["down", "goal"]}, "up": {"restart": ["up", "goal"]}})
    known = PriorKnowledge.nothing(support, 2).with_rows({(0, 0): {0: [0.0, 1.0], "goal": [1.0, 0.0]}})
    learner = GreedyRidge(support, 2, loss_floor=0.1, prior=known)
    advance = Advance.of(learner)
    assert advance is not None
    episode = learner.begin([1.0, 0.0])
    episode.act("down")
    assert advance.place(episode, 1) == IMPOSSIBLE
    with pytest.raises(InputError):
        advance.place(episode, 0)  # under this context the goal follows for sure
    assert advance.place(episode, 2) >= 0


def test_a_projection_that_failed_is_an_error() -> None:
    learner = LEARNERS["greedy"]()
    episode = learner.begin([0.5, 0.5])
    episode.act(0)
    learner._state.totals["failed_projections"] = 1
    with pytest.raises(ProjectionFailed):
        advanced(learner, episode, 0.5, 1)


def test_learners_that_count_visits_before_their_outcome_are_left_alone() -> None:
    assert Advance.of(LRCSSP(SUPPORT, 2, loss_floor=0.1)) is None
    assert Advance.of(object()) is None

    class Own(GreedyRidge):
        def _after_learning(self) -> None:
            pass

    assert Advance.of(Own(SUPPORT, 2, loss_floor=0.1)) is None
