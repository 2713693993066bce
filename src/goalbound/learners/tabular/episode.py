"""An episode of a context-free learner, as people drive it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import LearnerError
from goalbound.estimation.statistics import checked_step
from goalbound.kernels.tabular.state import EpisodeState
from goalbound.learners.checks import check_own_step, checked_state
from goalbound.learners.copying import copied_state, deep_copy, restore_state
from goalbound.models import Step
from goalbound.models.validation import set_readonly

if TYPE_CHECKING:
    from goalbound.learners.tabular.learner import TabularLearner


class TabularEpisode:
    """One way to the goal: ``act``, then ``observe`` what came of it, until the goal."""

    def __init__(self, learner: TabularLearner, episode_state: EpisodeState) -> None:
        self.learner = learner
        self._arrays = episode_state
        self._state: int | None = None
        self._pair: int | None = None
        self._ended = False
        learner._open.add(self)

    # A copy of an episode comes with a copy of its learner.
    __getstate__ = copied_state
    __setstate__ = restore_state
    __copy__ = deep_copy

    def act(self, state: int) -> int:
        """The action (its number) to play in a state. Plans if the method asks for a plan here.

        Asked again before ``observe``, it gives the same answer and draws nothing.
        """
        support = self.learner.support
        self._check_open()
        here = checked_state(support, state, self._state)
        if self._pair is None:
            self._pair = self.learner._choose(self._arrays, here)
        self._state = here
        return int(support.pair_action[self._pair])

    def observe(self, step: Step) -> None:
        """What came of the action. The order of these calls, over all episodes, is that of learning."""
        support = self.learner.support
        self._check_open()
        chosen = None if self._pair is None else int(support.pair_action[self._pair])
        check_own_step(support, step, self._state, chosen)
        pair, place = checked_step(support, step)
        self.learner._observe(self._arrays, pair, place, float(step[2]))
        self._pair = None
        self._state = support.state(step[3])
        self._ended = self._state == support.states

    def abandon(self) -> None:
        """The episode ends without the goal: it will not go on, and is not part of checkpoints any more."""
        self._ended = True
        self._pair = None

    def _check_open(self) -> None:
        if self._ended:
            raise LearnerError("the episode has ended; begin([1.0]) a new one")

    @property
    def ended(self) -> bool:
        """Whether the goal was reached, or the episode abandoned."""
        return self._ended

    @property
    def context(self) -> NDArray[np.float64]:
        """[1], the number 1."""
        return set_readonly(np.ones(1))

    @property
    def state(self) -> int | None:
        """Where the episode is; None before the first ``act``."""
        return self._state

    @property
    def number(self) -> int:
        """How many episodes were begun before this one."""
        return int(self._arrays.progress["number"]) - 1

    @property
    def intervals(self) -> int:
        """How many plans (attempts, epochs, intervals) the episode has begun to follow."""
        return int(self._arrays.progress["intervals"])

    @property
    def unknown_steps(self) -> int:
        """How many steps played a pair that was not known (Hoeffding-SSP; 0 for the others)."""
        return int(self._arrays.progress["unknown_steps"])
