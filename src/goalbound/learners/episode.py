"""An episode of LR-CSSP, as people drive it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import LearnerError
from goalbound.estimation.statistics import checked_step
from goalbound.kernels.state import EpisodeState
from goalbound.learners.checks import check_own_step, checked_state
from goalbound.learners.copying import copied_state, deep_copy, restore_state
from goalbound.learners.plan import Plan
from goalbound.models import Step
from goalbound.models.validation import set_readonly

if TYPE_CHECKING:
    from goalbound.learners.core import RidgeLearner


class LRCSSPEpisode:
    """One way to the goal under one context: ``act``, then ``observe`` what came of it, until the goal."""

    def __init__(self, learner: RidgeLearner, episode_state: EpisodeState) -> None:
        self.learner = learner
        self._held: EpisodeState | None = episode_state
        self._context, self._progress = episode_state.context, episode_state.progress
        self._state: int | None = None
        self._action: int | None = None
        self._acted: int | None = None  # the number of the visit whose outcome is awaited, in the order of act
        self._pair = -1  # the pair of that visit
        self.number = learner._begun
        learner._begun += 1
        learner._open.add(self)

    # A copy of an episode comes with a copy of its learner.
    __getstate__ = copied_state
    __setstate__ = restore_state
    __copy__ = deep_copy

    @property
    def _arrays(self) -> EpisodeState:
        if self._held is None:
            raise LearnerError("the episode has ended; begin(context) a new one")
        return self._held

    def act(self, state: int) -> int:
        """The action (its number) to play in a state. Plans if the interval has no plan yet (lines 7 and 25).

        Asked again before ``observe``, it gives the same answer. The learner holds the episode until its outcome comes
        or it is abandoned.
        """
        support, episode_state = self.learner.support, self._arrays
        here = checked_state(support, state, self._state)
        if self._action is not None:
            return self._action
        if episode_state.progress["planned"] == 0:
            self.learner._prepare(episode_state)
        self._state = here
        pair = self.learner._choose(episode_state, here)
        self._action = int(support.pair_action[pair])
        self.learner._await_outcome(self, pair)
        return self._action

    def observe(self, step: Step) -> None:
        """What came of the action (lines 8 to 20).

        Over all episodes outcomes may come in any order, even one that depends on them, and some may never come: the
        sets stay valid (docs/explanation/pending.md).
        """
        support = self.learner.support
        if self.ended:
            raise LearnerError("the episode has ended; nothing can follow the goal")
        check_own_step(support, step, self._state, self._action)
        pair, place = checked_step(support, step)
        if self.learner.prior is not None:
            self.learner.prior.check_step(pair, place, self._context)
        self.learner._observe(self, pair, place, float(step[2]))
        self._action = None
        self._state = support.state(step[3])
        if self._state == support.states:
            self._held = None  # what is left of an episode that ended is small
        self.learner._check_projections()

    def abandon(self, *, missing_at_random: bool = False) -> None:
        """The episode ends without the goal: it will not go on, and is not part of checkpoints any more.

        If an action was taken whose outcome was not observed, that visit counts from now on as one whose outcome may
        have been anything, which makes the sets of its pair a little wider for ever. ``missing_at_random=True`` says
        that whether the outcome is missing has nothing to do with what it was; then the visit does not count at all.
        Said where it is not so (treatments broken off because they failed), the guarantees are lost.
        """
        if self._held is not None and self._action is not None:
            self.learner._abandon(self, missing_at_random)
        self._held = None
        self._action = None

    @property
    def ended(self) -> bool:
        """Whether the goal was reached, or the episode abandoned."""
        return self._held is None

    @property
    def context(self) -> NDArray[np.float64]:
        """[d]"""
        return set_readonly(self._context.copy())

    @property
    def state(self) -> int | None:
        """Where the episode is; None before the first ``act``."""
        return self._state

    @property
    def _counted(self) -> bool:
        """Whether the visit whose outcome is awaited is in the Gram matrix already."""
        return bool(self._progress["counted"])

    @property
    def plan(self) -> Plan | None:
        """The plan that is held, or None if there is none (the next ``act`` makes a new one)."""
        if self._held is None or not self._held.progress["planned"]:
            return None
        return self.learner._shown(self._held)

    @property
    def interval(self) -> int:
        """m, the number of the present interval."""
        return int(self._progress["interval"])

    @property
    def intervals(self) -> int:
        """How many intervals the episode has had."""
        return int(self._progress["intervals"])

    @property
    def unknown_steps(self) -> int:
        """How many steps played a pair that was not known."""
        return int(self._progress["unknown_steps"])
