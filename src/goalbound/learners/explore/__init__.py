"""Exploration rules: what a learner plays besides the best policy of its model.

A rule of your own is an :class:`ExplorationRule` (docs/how_to/write_a_room.md).
"""

from typing import TYPE_CHECKING

from goalbound.lazy import load_on_use

if TYPE_CHECKING:
    from goalbound.learners.explore.epsilon import Epsilon
    from goalbound.learners.explore.greedy import Greedy
    from goalbound.learners.explore.kwik import Kwik, kwik_threshold
    from goalbound.learners.explore.local import Local
    from goalbound.learners.explore.optimistic import Optimistic
    from goalbound.learners.explore.posterior import Posterior
    from goalbound.learners.explore.protocol import ExplorationRule, ExploreSlots

__all__ = [
    "Epsilon",
    "ExplorationRule",
    "ExploreSlots",
    "Greedy",
    "Kwik",
    "Local",
    "Optimistic",
    "Posterior",
    "kwik_threshold",
]

load_on_use(
    __name__,
    {
        "goalbound.learners.explore.epsilon": "Epsilon",
        "goalbound.learners.explore.greedy": "Greedy",
        "goalbound.learners.explore.kwik": "Kwik kwik_threshold",
        "goalbound.learners.explore.local": "Local",
        "goalbound.learners.explore.optimistic": "Optimistic",
        "goalbound.learners.explore.posterior": "Posterior",
        "goalbound.learners.explore.protocol": "ExplorationRule ExploreSlots",
    },
)
