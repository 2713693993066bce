"""An outcome and the next action in one call, for programs that drive many episodes: the same bits, less on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from goalbound.learners import loop as kernels
from goalbound.learners.episode import LearnerEpisode
from goalbound.learners.explore.protocol import follow_plan, select
from goalbound.learners.learner import RidgeLearner

IMPOSSIBLE, ENDED = -1, -1
_SAME = ("_observe", "_await_outcome", "_after_learning", "_choose")
_MOST_PLACES = 100_000


class Advance:
    """``observe`` of the action that was proposed, then ``act``, of episodes of one learner.

    For ridge learners whose visits count when their outcome comes: all but the optimistic ones. :meth:`of` gives None
    for others.

    Args:
        learner: the learner of all the episodes.
    """

    def __init__(self, learner: RidgeLearner) -> None:
        self.learner = learner
        support = learner.support
        self._goal = support.states
        self._next_start, self._next_state = support.next_start, support.next_state
        self._actions = support.pair_action
        self._failed = np.asarray(learner._state.totals)["failed_projections"]
        self._follows_plans = learner._program[select] is follow_plan
        self._program: Callable[..., Any] | None = None
        self._places: dict[tuple[int, int], int] = {}
        self._declared = learner.prior is not None

    @classmethod
    def of(cls, learner: Any) -> Self | None:
        """For a learner; None where its episodes need :meth:`LearnerEpisode.observe` and :meth:`LearnerEpisode.act`."""
        if not isinstance(learner, RidgeLearner) or learner.settings.is_optimistic:
            return None
        kind = type(learner)
        own = any(getattr(kind, name) is not getattr(RidgeLearner, name) for name in _SAME)
        return None if own else cls(learner)

    def place(self, episode: LearnerEpisode, next_state: int) -> int:
        """Where among the next states of the awaited pair a state is; ``IMPOSSIBLE``: it is none of them.

        What was declared beforehand and forbids it is an error, as in ``observe``.
        """
        pair = episode._pair
        found = self._places.get((pair, next_state))
        if found is None:
            found = self._find(pair, next_state)
        if self._declared and found != IMPOSSIBLE:
            self.learner._check_possible(pair, found, episode._context)
        return found

    def _find(self, pair: int, next_state: int) -> int:
        first, last = int(self._next_start[pair]), int(self._next_start[pair + 1])
        place = first + int(self._next_state[first:last].searchsorted(next_state))
        if place == last or self._next_state[place] != next_state:
            return IMPOSSIBLE
        if len(self._places) < _MOST_PLACES:
            self._places[pair, next_state] = place
        return place

    def __call__(self, episode: LearnerEpisode, place: int, loss: float, next_state: int) -> int:
        """Learn from the outcome of the awaited action, and choose the next one; ``ENDED`` at the goal.

        The arguments are taken as they are: ``place`` is that of ``next_state`` (:meth:`place`), ``loss`` a float in
        [0, 1], and the episode awaits an outcome. After an error the learner has changed.
        """
        learner, arrays, program = self.learner, episode._arrays, self._program or self._any_program
        ended = program(learner._constants, learner._state, arrays, learner._scratch, episode._pair, place, loss)
        learner._pending.remove(episode)
        if next_state == self._goal or self._failed.item():
            episode._go_to(next_state)
            learner._after_learning()
            return ENDED
        episode._state, episode._action = next_state, None
        if ended:
            pair = learner._choose(arrays, next_state, None)
        elif self._follows_plans:
            pair = arrays.iteration.policy.item(next_state)
        else:
            pair = learner.settings.exploration.select(learner, arrays, next_state)
        action: int = self._actions.item(pair)
        episode._action = action
        # As _await_outcome: what that notes of the learner's restarts changes with the loss bound only.
        learner._pending.add(episode, pair)
        return action

    def _any_program(self, *arguments: Any) -> Any:
        """The kernel before it is compiled, or when nobody knows yet that it is.

        Once it is, its program is used from then on: the arguments of all episodes of a learner have the same types.
        """
        found = self.learner._run(kernels.observe, self.learner._step_work)(*arguments)
        self._program = self.learner._program[kernels.observe].program(*arguments)
        return found
