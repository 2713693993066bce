"""An episode of a monitored learner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from goalbound.around.episode_wrapper import WrappedEpisode
from goalbound.estimation.statistics import checked_step
from goalbound.models import Step

if TYPE_CHECKING:
    from goalbound.around.monitored import Monitored


class MonitoredEpisode(WrappedEpisode):
    """An episode of the learner inside, whose outcomes are tested; all else is as it is there."""

    learner: Monitored

    def observe(self, step: Step, *, overridden: bool = False) -> None:
        """What came of the action; the learner learns from it, and it is tested."""
        self.inner.observe(step, overridden=overridden)
        pair, place = checked_step(self.learner.support, step)
        case = self.learner._logged_cases + self.inner.number
        self.learner._test_one(self.inner.context, pair, place, float(step[2]), case=case)
