"""An episode of a monitored learner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from goalbound.estimation.statistics import checked_step
from goalbound.learners.copying import deep_copy
from goalbound.models import Step

if TYPE_CHECKING:
    from goalbound.learners.monitored import Monitored


class MonitoredEpisode:
    """An episode of the learner inside, whose outcomes are tested; all else is as it is there.

    Two are equal if they are of the same episode.
    """

    def __init__(self, learner: Monitored, inner: Any) -> None:
        self.learner = learner
        self.inner = inner

    __copy__ = deep_copy  # a copy of an episode comes with a copy of its learner

    def observe(self, step: Step, *, overridden: bool = False) -> None:
        """What came of the action; the learner learns from it, and it is tested."""
        self.inner.observe(step, overridden=overridden)
        pair, place = checked_step(self.learner.support, step)
        case = self.learner._logged_cases + self.inner.number
        self.learner._test_one(self.inner.context, pair, place, float(step[2]), case=case)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("learner", "inner"):
            raise AttributeError(name)
        return getattr(self.inner, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MonitoredEpisode) and self.inner == other.inner

    def __hash__(self) -> int:
        return hash(self.inner)
