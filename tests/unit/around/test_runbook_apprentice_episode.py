"""Episodes of an apprentice among people: overrides, a world that moves, actions that are not possible."""

from __future__ import annotations

import numpy as np
import pytest

from goalbound.around.runbook import Lead
from goalbound.errors import LearnerError
from goalbound.models import Step
from goalbound.planning import evaluate
from tests.support.apprenticeship import BUSY, SERVICE, followed_loss, log, taught

DOWN, DEGRADED, GOAL = 0, 1, 2
RESTART, ROLL_BACK = (SERVICE.support.action(name) for name in ("restart", "roll back"))


def test_the_policy_of_an_episode_stays_what_it_was_at_its_first_act() -> None:
    apprentice = taught(100)
    episode = apprentice.begin(BUSY)
    episode.observe(Step(DOWN, episode.act(DOWN), 0.8, DOWN))
    apprentice.learn_log(log(2000, 7))
    assert apprentice.progress(BUSY).switches.all()
    assert episode.act(DOWN) == RESTART
    assert episode.led_by == "runbook"


@pytest.mark.parametrize("how", ["overridden", "moved"])
def test_where_people_or_the_world_interfere_the_test_is_made_anew(how: str) -> None:
    apprentice = taught(100)
    episode = apprentice.begin(BUSY)
    episode.act(DOWN)
    apprentice.learn_log(log(2000, 7))
    if how == "overridden":
        episode.observe(Step(DOWN, ROLL_BACK, 0.3, DEGRADED), overridden=True)
    else:
        episode.moved_to(DEGRADED)
    assert episode.act(DEGRADED) == ROLL_BACK
    assert episode.led_by == "learner"
    assert (apprentice.led_by_runbook, apprentice.led_by_learner) == (0, 1)


def test_after_an_override_the_rest_is_no_worse_than_the_runbook_from_there() -> None:
    """What it does from there is what an episode does that begins there, of which the guarantee is tested."""
    apprentice = taught(400, scale=0.5)
    episode = apprentice.begin(BUSY)
    episode.act(DOWN)
    episode.observe(Step(DOWN, ROLL_BACK, 0.3, DEGRADED), overridden=True)
    fresh = apprentice.begin(BUSY)
    assert episode.act(DEGRADED) == fresh.act(DEGRADED)
    assert episode.led_by == fresh.led_by
    truth = SERVICE.at(BUSY)
    assert apprentice.confidence_set(BUSY).contains(truth)
    assert followed_loss(apprentice, truth, BUSY)[DEGRADED] <= evaluate(truth, apprentice.runbook).values[DEGRADED]


def test_a_step_that_is_called_overridden_but_was_proposed_changes_no_decision() -> None:
    apprentice = taught(100)
    episode = apprentice.begin(BUSY)
    apprentice_learns_later = log(2000, 7)
    episode.observe(Step(DOWN, episode.act(DOWN), 0.8, DOWN), overridden=True)
    apprentice.learn_log(apprentice_learns_later)
    assert episode.act(DOWN) == RESTART


def test_the_proposed_action_is_played_if_it_is_allowed() -> None:
    episode = taught(1500).begin(BUSY)
    assert episode.act("down", allowed=iter(["restart", "roll back"])) == ROLL_BACK


def test_an_action_that_is_not_possible_is_replaced_and_the_test_made_anew() -> None:
    apprentice = taught(100)
    episode = apprentice.begin(BUSY)
    assert episode.act("down", allowed=["roll back"]) == ROLL_BACK
    assert episode.led_by == "runbook"
    assert (apprentice.led_by_runbook, apprentice.led_by_learner) == (1, 0)
    apprentice.learn_log(log(2000, 7))
    episode.observe(Step(DOWN, ROLL_BACK, 0.3, DEGRADED))
    assert episode.act(DEGRADED) == ROLL_BACK
    assert episode.led_by == "learner"


def test_asked_again_it_says_the_same_and_counts_once() -> None:
    apprentice = taught(1500)
    episode = apprentice.begin(BUSY)
    assert {episode.act(DOWN) for _ in range(3)} == {ROLL_BACK}
    assert apprentice.led_by_learner == 1
    with pytest.raises(LearnerError, match="was chosen already"):
        episode.act(DOWN, allowed=["restart"])
    episode.take_back()
    assert episode.pending_action is None
    assert episode.act(DOWN) == ROLL_BACK
    assert apprentice.led_by_learner == 1


def test_an_episode_that_the_learner_led_stays_counted_under_it() -> None:
    apprentice = taught(1500)
    episode = apprentice.begin(BUSY)
    episode.act(DOWN)
    apprentice.margin = -100.0  # the next test fails
    episode.moved_to(DEGRADED, missing_at_random=True)
    assert episode.act(DEGRADED) == RESTART
    assert episode.led_by == "runbook"
    assert (apprentice.led_by_runbook, apprentice.led_by_learner) == (0, 1)


def test_an_episode_may_come_to_a_state_where_the_learner_takes_over() -> None:
    """The states that pass the test are set by hand: not the first, but the second."""
    apprentice = taught(1500)
    episode = apprentice.begin(BUSY)
    candidate = apprentice.progress(BUSY).candidate
    apprentice._notes[episode.inner] = Lead("", True, False, candidate, np.array([False, True]))
    assert (episode.act(DOWN), episode.led_by, apprentice.led_by_runbook) == (RESTART, "runbook", 1)
    episode.observe(Step(DOWN, RESTART, 0.8, DEGRADED))
    assert (episode.act(DEGRADED), episode.led_by) == (ROLL_BACK, "learner")
    assert (apprentice.led_by_runbook, apprentice.led_by_learner) == (0, 1)
    episode.observe(Step(DEGRADED, ROLL_BACK, 0.2, DEGRADED))
    assert episode.act(DEGRADED) == ROLL_BACK
