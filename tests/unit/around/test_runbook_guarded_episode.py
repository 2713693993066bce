"""Episodes of guarded learners: what is counted, what is compared with the plan, and what a file may say of them."""

from __future__ import annotations

from typing import Any

import pytest

from goalbound import Guarded, Step
from goalbound.around.excess import COUNT, LOST
from goalbound.errors import LearnerError
from tests.support.incidents_at_work import BEFORE, RUNBOOK, greedy, people


@pytest.fixture
def guarded() -> Guarded:
    found = Guarded(greedy(), RUNBOOK, after_steps=4)
    found.learn_log(people(BEFORE, 100))
    return found


def restart(episode: Any, following: str, loss: float = 0.1) -> None:
    episode.act("down")
    episode.observe(Step("down", "restart", loss, following))


def test_an_episode_is_compared_with_its_plan_when_it_ends_at_the_goal(guarded: Guarded) -> None:
    episode = guarded.begin([0.5, 0.5])
    restart(episode, "down")
    assert guarded._test.sums[COUNT].max() == 0
    restart(episode, "goal")
    assert guarded._test.sums[COUNT].tolist() == [1.0] * 3
    assert guarded._test.sums[LOST] == pytest.approx([0.2] * 3)


@pytest.mark.parametrize("way", ["overridden", "moved", "abandoned", "limit"])
def test_an_episode_that_leaves_its_plan_counts_with_what_it_lost_until_then(guarded: Guarded, way: str) -> None:
    episode = guarded.begin([0.5, 0.5])
    restart(episode, "down", 0.25)
    if way == "overridden":
        episode.act("down")
        episode.observe(Step("down", "page", 0.9, "goal"), overridden=True)
    elif way == "moved":
        episode.moved_to("degraded")
    elif way == "abandoned":
        episode.abandon("no use")
    else:
        for _ in range(3):
            restart(episode, "down", 0.0)
        episode.act("down")
        assert episode.guarded
    assert guarded._test.sums[COUNT].tolist() == [1.0] * 3
    assert guarded._test.sums[LOST] == pytest.approx([0.25] * 3)


def test_asking_again_changes_nothing_and_a_proposal_may_be_taken_back(guarded: Guarded) -> None:
    episode = guarded.begin([0.5, 0.5], id=7)
    assert episode.act("down") == episode.act("down")
    episode.take_back()
    assert episode.pending_action is None
    assert (episode.lost, episode.guarded, episode.id, episode.ended) == (0.0, False, 7, False)
    with pytest.raises(LearnerError):
        episode.act("goal")


def test_an_episode_that_does_not_begin_by_its_plan_is_not_compared_with_it(guarded: Guarded) -> None:
    for _ in range(3):
        episode = guarded.begin([0.5, 0.5])
        assert episode.act("down", allowed=["page"]) == BEFORE.support.action("page")
        episode.observe(Step("down", "page", 1.0, "goal"))
    assert guarded._test.sums[COUNT].max() == 0
    assert not guarded._trials


def test_where_the_action_of_the_plan_is_not_allowed_later_what_was_lost_until_then_counts(guarded: Guarded) -> None:
    episode = guarded.begin([0.5, 0.5])
    restart(episode, "down", 0.25)
    episode.act("down", allowed=["page"])
    assert guarded._test.sums[COUNT].tolist() == [1.0] * 3
    episode.observe(Step("down", "page", 1.0, "goal"))
    assert guarded._test.sums[COUNT].tolist() == [1.0] * 3
    assert guarded._test.sums[LOST] == pytest.approx([0.25] * 3)
