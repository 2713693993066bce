"""An episode of a context-free learner, as people drive it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from goalbound.estimation.statistics import checked_step
from goalbound.kernels.tabular.layout import INTERVALS, NUMBER, UNKNOWN_STEPS, Walk
from goalbound.learners.errors import LearnerError
from goalbound.models import Step
from goalbound.models.validation import sealed

if TYPE_CHECKING:
    from goalbound.learners.tabular.learner import TabularLearner


class TabularEpisode:
    """One way to the goal: ``act``, then ``observe`` what came of it, until the goal."""

    def __init__(self, learner: TabularLearner, walk: Walk) -> None:
        self.learner = learner
        self._walk = walk
        self._state: int | None = None
        self._pair: int | None = None
        self._ended = False
        learner._open.add(self)

    def act(self, state: int) -> int:
        """The action (its number) to play in a state. Plans if the method asks for a plan here.

        Asked again before ``observe``, it gives the same answer and draws nothing.
        """
        support = self.learner.support
        self._check_open()
        here = support.state(state)
        if here == support.states:
            raise LearnerError(f"state {here} is the goal, where nothing is to be done")
        if self._state is not None and here != self._state:
            raise LearnerError(
                f"the episode is in {support.state_name(self._state)}, not in {support.state_name(here)}"
            )
        if self._pair is None:
            self._pair = self.learner._choose(self._walk, here)
        self._state = here
        return int(support.pair_action[self._pair])

    def observe(self, step: Step) -> None:
        """What came of the action. The order of these calls, over all episodes, is that of learning."""
        support = self.learner.support
        self._check_open()
        if self._pair is None or self._state is None:
            raise LearnerError("no action was chosen; act(state) comes before observe(step)")
        state, action, loss, following = step
        if support.state(state) != self._state:
            was, said = support.state_name(self._state), support.state_name(support.state(state))
            raise LearnerError(f"the step is from {said}, but the episode is in {was}")
        chosen = int(support.pair_action[self._pair])
        if support.action(action) != chosen:
            raise LearnerError(
                f"the step played {support.action_name(support.action(action))}, but {support.action_name(chosen)} "
                "was chosen; a learner learns from its own actions"
            )
        pair, place = checked_step(support, step)
        self.learner._observe(self._walk, pair, place, float(loss))
        self._pair = None
        self._state = support.state(following)
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
        return sealed(np.ones(1))

    @property
    def state(self) -> int | None:
        """Where the episode is; None before the first ``act``."""
        return self._state

    @property
    def number(self) -> int:
        """How many episodes were begun before this one."""
        return int(self._walk.tally[NUMBER]) - 1

    @property
    def intervals(self) -> int:
        """How many plans (attempts, epochs, intervals) the episode has begun to follow."""
        return int(self._walk.tally[INTERVALS])

    @property
    def unknown_steps(self) -> int:
        """How many steps played a pair that was not known (Hoeffding-SSP; 0 for the others)."""
        return int(self._walk.tally[UNKNOWN_STEPS])
