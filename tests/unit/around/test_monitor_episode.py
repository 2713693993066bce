"""Episodes of monitored learners: all that those inside have, and outcomes that are tested."""

from __future__ import annotations

import copy

import pytest

from goalbound import Guarded, Monitored, Step
from goalbound.errors import LearnerError
from tests.support.incidents_at_work import RUNBOOK, greedy


def test_it_has_what_the_episode_inside_has() -> None:
    monitor = Monitored(Guarded(greedy(), RUNBOOK, after_steps=0))
    episode = monitor.begin([0.25, 0.75], id="case 3")
    assert monitor.support.action_names[episode.act("down")] == "page"
    assert (episode.id, episode.number, episode.guarded, episode.pending_action) == ("case 3", 0, True, "page")
    assert episode.context.tolist() == [0.25, 0.75]
    episode.abandon("wrong number")
    assert episode.ended
    assert monitor.abandoned == {"wrong number": 1}
    with pytest.raises(AttributeError):
        _ = episode.colour


def test_an_outcome_is_tested_once_and_one_that_cannot_be_is_not() -> None:
    monitor = Monitored(greedy())
    episode = monitor.begin([0.25, 0.75])
    with pytest.raises(LearnerError, match="no action was chosen"):
        episode.observe(Step("down", "page", 0.4, "goal"))
    assert monitor.detector.steps == 0
    episode.act("down")
    episode.take_back()
    episode.observe(Step("down", "page", 0.4, "degraded"), overridden=True)
    episode.moved_to("down")
    assert monitor.detector.steps == 1


def test_two_views_of_an_episode_are_equal_and_copies_come_with_their_learner() -> None:
    monitor = Monitored(Guarded(greedy(), RUNBOOK, after_steps=3))
    episode = monitor.begin([0.25, 0.75], id=7)
    assert monitor.episode(7) == episode
    assert len({episode, *monitor.open_episodes}) == 1
    other = copy.copy(episode)
    assert other != episode
    assert other.learner is not monitor
    assert other.learner.episode(7) == other
