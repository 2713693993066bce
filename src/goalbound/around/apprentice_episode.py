"""An episode of an apprentice: who leads it, and what people do in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from goalbound.around.apprentice_progress import LEARNER, RUNBOOK
from goalbound.around.episode_wrapper import WrappedEpisode
from goalbound.learners.checks import allowed_pairs, checked_state, is_as_proposed
from goalbound.learners.episode import LearnerEpisode
from goalbound.models import Step
from goalbound.models.validation import check_list

if TYPE_CHECKING:
    from goalbound.around.apprentice import Apprentice
    from goalbound.learners.explanation import Explanation


@dataclass(frozen=True, eq=False)
class Lead:
    """Who leads an episode.

    Attributes:
        candidate, switches: [S] the policy that may replace the runbook, and the states from which it does; None until
            it is decided, which the next ``act`` does.
        follows: whether the episode has come to such a state, and follows the candidate to the goal.
        counted: under whom the episode is counted; None before its first ``act``.
    """

    candidate: NDArray[np.int64] | None = None
    switches: NDArray[np.bool_] | None = None
    follows: bool = False
    counted: str | None = None


class ApprenticeEpisode(WrappedEpisode):
    """An episode of an apprentice: as :class:`~goalbound.learners.episode.LearnerEpisode`, and who leads it. Its plan
    is that of the learner inside, which explores; not what is followed."""

    learner: Apprentice
    inner: LearnerEpisode

    def act(self, state: int | str, *, allowed: Iterable[int | str] | None = None) -> int:
        """The action (its number) to play in a state, by whoever leads.

        ``allowed`` are the actions that are possible right now. If that of the leader is not among them, the learner
        chooses, as :meth:`LearnerEpisode.act <goalbound.learners.episode.LearnerEpisode.act>` says; of this step
        nothing is promised, and after it the test is made anew.
        """
        inner, support = self.inner, self.learner.support
        given = None if allowed is None else check_list(allowed, "allowed", "a list of actions, by number or name")
        if inner.ended or inner._action is not None:
            return inner.act(state, allowed=given)
        here = checked_state(support, state, inner.state)
        possible = None if given is None else allowed_pairs(support, here, given)
        lead, action = self.learner._next_lead(inner, here)
        if possible is not None and support.pair(here, action) not in possible:
            action = inner.act(here, allowed=given)
            self.learner._follow(inner, Lead(counted=lead.counted))
            return action
        inner.act(here, allowed=[action])
        self.learner._follow(inner, lead)
        return action

    def explain(self, *, allowed: Iterable[int | str] | None = None) -> Explanation:
        """Why the action that is awaited was proposed, by whoever leads; ``allowed`` as ``act`` was given it."""
        inner = self.inner
        action, found = inner._awaited, inner._explained_by(self.learner.inner)
        assert inner._state is not None
        found = self.learner._explained(found, inner.context, inner._state, self.learner._lead_of(inner))
        otherwise = "as it was proposed before; who leads is decided at the next step"
        return found.proposed(action, inner._possible(allowed), otherwise)

    def observe(self, step: Step, *, overridden: bool = False) -> None:
        """What came of the action; the learner learns from it. Where somebody played another action
        (``overridden=True``), the test is made anew in the state where that led."""
        proposed = self.inner._action
        self.inner.observe(step, overridden=overridden)
        if overridden and not is_as_proposed(self.learner.support, step, proposed):
            self.learner._decide_anew(self.inner)

    def moved_to(self, state: int | str, *, missing_at_random: bool = False) -> None:
        """The world moved by itself; the test is made anew in the state where it is."""
        self.inner.moved_to(state, missing_at_random=missing_at_random)
        self.learner._decide_anew(self.inner)

    @property
    def led_by(self) -> str:
        """``learner`` if it follows the policy of the learner by now, else ``runbook``."""
        return LEARNER if self.learner._lead_of(self.inner).follows else RUNBOOK
