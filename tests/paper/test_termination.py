"""Every episode ends."""

from __future__ import annotations

from guarantees.termination import Size, termination
from tests.paper.claims import assert_held


def test_every_episode_ends_on_every_family() -> None:
    # With probability 1 - delta every episode ends; a million steps are three times the longest ever seen.
    result = termination(Size(episodes=20, adversarial_episodes=10))
    assert_held(result)
    assert len({row[0] for row in result.rows}) >= 6
    assert {row[1] for row in result.rows} == {"own", "full"}
    assert {row[2] for row in result.rows} == {"one-hot", "mixed", "adversary"}
