"""An episode of an apprentice: who leads it, and what people do in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from goalbound.learners.apprentice_progress import LEARNER, RUNBOOK
from goalbound.learners.checks import allowed_pairs, checked_state, is_as_proposed
from goalbound.learners.copying import deep_copy
from goalbound.learners.episode import NO_REASON, LearnerEpisode
from goalbound.learners.plan import Plan
from goalbound.models import Step
from goalbound.models.validation import check_list

if TYPE_CHECKING:
    from goalbound.learners.apprentice import Apprentice


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


class ApprenticeEpisode:
    """An episode of an apprentice: as :class:`~goalbound.learners.episode.LearnerEpisode`, and who leads it.

    Two of them are equal if they are the same episode of the learner inside.
    """

    def __init__(self, learner: Apprentice, inner: LearnerEpisode) -> None:
        self.learner = learner
        self.inner = inner

    __copy__ = deep_copy

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ApprenticeEpisode) and other.inner is self.inner

    def __hash__(self) -> int:
        return hash(self.inner)

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

    def park(self) -> None:
        """Take a fraction of the memory until it is used again."""
        self.inner.park()

    def take_back(self) -> None:
        """The proposed action was not played, and will not be."""
        self.inner.take_back()

    def abandon(self, reason: str = NO_REASON, *, missing_at_random: bool = False) -> None:
        """The episode ends without the goal."""
        self.inner.abandon(reason, missing_at_random=missing_at_random)

    @property
    def led_by(self) -> str:
        """``learner`` if it follows the policy of the learner by now, else ``runbook``."""
        return LEARNER if self.learner._lead_of(self.inner).follows else RUNBOOK

    @property
    def id(self) -> str | int | None:
        """As ``begin`` was given it."""
        return self.inner.id

    @property
    def ended(self) -> bool:
        """Whether the goal was reached, or the episode abandoned."""
        return self.inner.ended

    @property
    def context(self) -> NDArray[np.float64]:
        """[d]"""
        return self.inner.context

    @property
    def state(self) -> int | None:
        """Where the episode is; None before the first ``act``."""
        return self.inner.state

    @property
    def pending_action(self) -> int | str | None:
        """The action whose outcome is awaited, by its name where actions have names; None: nothing is awaited."""
        return self.inner.pending_action

    @property
    def plan(self) -> Plan | None:
        """The plan of the learner inside, which explores; not what is followed."""
        return self.inner.plan

    @property
    def number(self) -> int:
        """How many episodes were begun before this one."""
        return self.inner.number

    @property
    def intervals(self) -> int:
        """How many intervals the episode of the learner inside has had."""
        return self.inner.intervals

    @property
    def unknown_steps(self) -> int:
        """How many of its steps played a pair that was not known."""
        return self.inner.unknown_steps
