"""An episode of a guarded learner: what it has lost so far, and whether the runbook acts in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from goalbound.around.episode_wrapper import WrappedEpisode
from goalbound.around.guarded_trials import Trial
from goalbound.errors import FileFormatError
from goalbound.learners.checks import allowed_pairs, checked_state, is_as_proposed
from goalbound.learners.episode import NO_REASON, LearnerEpisode
from goalbound.models import Step
from goalbound.models.validation import check_list

if TYPE_CHECKING:
    from goalbound.around.guarded import Guarded
    from goalbound.learners.explanation import Explanation


@dataclass(frozen=True)
class Watch:
    """What a guard knows of an episode.

    Attributes:
        steps, loss: of the episode so far, whoever acted.
        guarded: whether the runbook acts in it by now.
        trial: what it may lose by its plan, and has lost; None: it is not, or no longer, compared with that.
        tried: whether that was settled, which the first ``act`` does.
    """

    steps: int = 0
    loss: float = 0.0
    guarded: bool = False
    trial: Trial | None = None
    tried: bool = False

    def as_json(self) -> list[Any]:
        """For a file."""
        allowed = None if self.trial is None or self.trial.ended else self.trial.allowed
        return [self.steps, self.loss, self.guarded, allowed, self.tried]

    @classmethod
    def from_json(cls, values: Any) -> Watch:
        """What :meth:`as_json` gave, checked."""
        fine = isinstance(values, list) and [type(one) for one in values[:3]] == [int, float, bool] and len(values) == 5
        fine = fine and 0 <= values[0] < 2**62 and values[1] >= 0.0 and isfinite(values[1]) and type(values[4]) is bool
        if fine and values[3] is not None:
            fine = type(values[3]) is float and values[3] > 0.0 and isfinite(values[3])
        if not fine:
            raise FileFormatError(f"an episode is {values!r:.100}; it says steps, loss, who acts and what is allowed")
        steps, loss, guarded, allowed, tried = values
        return cls(steps, loss, guarded, None if allowed is None else Trial(allowed, loss), tried)


class GuardedEpisode(WrappedEpisode):
    """An episode of a guarded learner: as :class:`~goalbound.learners.episode.LearnerEpisode`, and who acts."""

    learner: Guarded
    inner: LearnerEpisode

    @property
    def guarded(self) -> bool:
        """Whether the runbook acts in it by now."""
        return self.learner._watch_of(self.inner).guarded

    @property
    def lost(self) -> float:
        """What it has lost so far, on the scale of the learner."""
        return self.learner._watch_of(self.inner).loss

    def act(self, state: int | str, *, allowed: Iterable[int | str] | None = None) -> int:
        """The action (its number) to play in a state: that of the learner or, beyond a limit, that of the runbook.

        ``allowed`` are the actions that are possible right now. If that of the runbook is not among them, the learner
        chooses one that is. An episode is compared with what its plan allows for as long as it follows the plan.
        """
        inner, guard = self.inner, self.learner
        given = None if allowed is None else check_list(allowed, "allowed", "a list of actions, by number or name")
        if inner.ended or inner._action is not None:
            return inner.act(state, allowed=given)
        here = checked_state(guard.support, state, inner.state)
        watch = guard._watch_of(inner)
        if watch.guarded or guard._exceeds(watch):
            action = self._act_by_runbook(here, given)
            if not watch.guarded:
                guard._step_in(inner)
            return action
        action = inner.act(here, allowed=given)
        as_planned = guard._is_planned(inner, here, action)
        if not watch.tried:
            guard._begin_trial(inner, here, as_planned=as_planned)
        elif not as_planned:
            guard._end_trial(inner)
        return action

    def _act_by_runbook(self, state: int, allowed: list[Any] | None) -> int:
        support, action = self.learner.support, int(self.learner.runbook[state])
        possible = None if allowed is None else allowed_pairs(support, state, allowed)
        if possible is not None and support.pair(state, action) not in possible:
            return self.inner.act(state, allowed=allowed)
        return self.inner.act(state, allowed=[action])

    def explain(self, *, allowed: Iterable[int | str] | None = None) -> Explanation:
        """Why the action that is awaited was proposed, by whoever acts; ``allowed`` as ``act`` was given it."""
        inner, guard = self.inner, self.learner
        watch = guard._watch_of(inner)
        if not watch.guarded:
            return inner.explain(allowed=allowed)
        action, found = inner._awaited, inner._explained_by(guard.inner)
        assert inner._state is not None
        found = guard._explained(found, inner._state, watch)
        return found.proposed(action, inner._possible(allowed), "as it was proposed before the runbook acted")

    def observe(self, step: Step, *, overridden: bool = False) -> None:
        """What came of the action; the learner learns from it, and it counts towards the limits."""
        inner, guard, proposed = self.inner, self.learner, self.inner._action
        inner.observe(step, overridden=overridden)
        if overridden and not is_as_proposed(guard.support, step, proposed):
            guard._end_trial(inner)  # what others do is not what the plan allows for
        guard._count(inner, float(step[2]))
        if inner.ended:
            guard._end_trial(inner)

    def moved_to(self, state: int | str, *, missing_at_random: bool = False) -> None:
        """The world moved by itself."""
        self.inner.moved_to(state, missing_at_random=missing_at_random)
        self.learner._end_trial(self.inner)

    def abandon(self, reason: str = NO_REASON, *, missing_at_random: bool = False) -> None:
        """The episode ends without the goal."""
        self.inner.abandon(reason, missing_at_random=missing_at_random)
        self.learner._end_trial(self.inner)
