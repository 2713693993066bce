"""An episode of a learner, as people drive it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError, InputError, LearnerError
from goalbound.learners.checks import allowed_pairs, checked_state
from goalbound.learners.copying import copied_state, deep_copy, restore_state
from goalbound.models import Step
from goalbound.models.step import checked_step, step_parts
from goalbound.models.validation import check_bool, set_readonly, short_repr

if TYPE_CHECKING:
    from goalbound.learners.base import LearnerBase
    from goalbound.learners.explanation import Explanation
    from goalbound.learners.plan import Plan

NO_REASON = "no reason given"
"""Under it episodes are counted that were abandoned without one."""
MOST_REASONS, OTHER_REASONS = 100, "other"
"""So many reasons are counted by name, those that came first; all others together, under this one."""


def count_reason(counts: dict[str, int], reason: str, count: int = 1) -> None:
    """Count a reason for which episodes were abandoned.

    What is left of many reasons depends on the order in which they came first, and not on when they are counted.
    """
    known = reason if reason in counts or len(counts) < MOST_REASONS else OTHER_REASONS
    counts[known] = counts.get(known, 0) + count


class LearnerEpisode:
    """One way to the goal under one context: ``act``, then ``observe`` what came of it, until the goal.

    People may do something else than was proposed (``begins``), the world may move by itself (``moved_to``), and an
    episode may end before the goal (``abandon``).
    """

    def __init__(self, learner: LearnerBase, episode_state: Any, *, id: str | int | None = None) -> None:
        self.learner = learner
        self.id = id
        self._held: Any = episode_state
        self._context: NDArray[np.float64] = getattr(episode_state, "context", _NO_CONTEXT)
        self._progress: np.void = episode_state.progress
        self._state: int | None = None
        self._action: int | None = None
        self._acted: int | None = None  # the number of the visit whose outcome is awaited, in the order of act
        self._pair = -1  # the pair of that visit
        learner._open.add(self)
        if id is not None:
            learner._named[id] = self

    # A copy of an episode comes with a copy of its learner.
    __getstate__ = copied_state
    __setstate__ = restore_state
    __copy__ = deep_copy

    @property
    def _arrays(self) -> Any:
        if self._held is None:
            raise LearnerError("the episode has ended; begin(context) a new one")
        return self._held

    def act(self, state: int | str, *, allowed: Iterable[int | str] | None = None) -> int:
        """The action (its number) to play in a state. Plans if there is no plan to follow (lines 7 and 25).

        Asked again before ``observe``, it gives the same answer and draws nothing. The learner holds the episode until
        its outcome comes or it is abandoned.

        ``allowed`` are the actions, by number or name, that are possible right now; those that the state does not have
        are passed over. The plan is followed if it can be; else the action is the allowed one with the least loss to
        the goal by the values of the plan (ties: the lowest), and what is explored at random is among the allowed
        ones. With a single one, this says what somebody does before its outcome is known.
        """
        learner, episode_state = self.learner, self._arrays
        support = learner.support
        here = checked_state(support, state, self._state)
        pairs = None if allowed is None else allowed_pairs(support, here, allowed)
        if self._action is not None:
            if pairs is not None and self._pair not in pairs:
                raise LearnerError(
                    f"{support.action_name(self._action)} was chosen already, and is not among those that are allowed "
                    "now; if it was not played, take_back() comes first, or begins(action) says what was"
                )
            return self._action
        pair = learner._choose(episode_state, here, pairs)
        learner._before_visit(self, pair)
        learner._visits.hold(self, pair)
        self._state = here
        self._action = int(support.pair_action[pair])
        return self._action

    def begins(self, action: int | str) -> None:
        """A person begins another action, by number or name, than the one proposed.

        Say it when the action begins, not when its outcome is known: the visit counts from now on, in the order of
        ``act``, and the sets stay valid whenever ``observe(step)`` comes. It is ``act(state, allowed=[action])`` after
        :meth:`take_back`. Where the action is the one proposed, nothing changes.
        """
        begin_action(self, action)

    def explain(self, *, allowed: Iterable[int | str] | None = None) -> Explanation:
        """Why the action that is awaited was proposed: all actions of the state side by side, as
        :meth:`learner.explain <goalbound.learners.learner.RidgeLearner.explain>` shows them. Nothing is changed by
        looking.

        ``allowed`` are the actions that were possible then, if ``act`` was given some.
        """
        found: Explanation = self._explained_by(self.learner)
        found = self._explored(found, allowed)
        planned, draws = found.actions[found.chosen].action, self.learner.settings.draws
        otherwise = (
            f"as this learner also plays at random; the plan of its estimate plays {planned}"
            if draws
            else f"as it was proposed before; a plan that is made now plays {planned}"
        )
        return found.proposed(self._awaited, self._possible(allowed), otherwise)

    def _explored(self, found: Explanation, allowed: Iterable[int | str] | None) -> Explanation:
        """The explanation of an action that was proposed to find out more, or was not, by the plan of the episode."""
        support, rule = self.learner.support, getattr(self.learner.settings, "exploration", None)
        if rule is None or self._state is None:
            return found
        possible = None if allowed is None else allowed_pairs(support, self._state, allowed)
        planned = rule.planned_for(self.learner, self._arrays, self._pair, possible)
        if planned is None:
            return found
        if planned != self._pair:
            return found.exploring(self._awaited, int(support.pair_action[planned]))
        return found.playing(self._awaited, "as the plan of the episode has it") if found.explores else found

    @property
    def _awaited(self) -> int:
        if self._action is None:
            raise LearnerError(
                "no action is awaited, so there is none to explain; act(state) comes first, or ask "
                "learner.explain(context, state)"
            )
        return self._action

    def _explained_by(self, learner: Any) -> Explanation:
        """What a learner, that of this episode or one around it, would do where the episode is."""
        _, asked = self._awaited, getattr(learner, "explain", None)
        if asked is None:
            raise LearnerError(f"a {type(self.learner).__name__} cannot explain itself")
        found: Explanation = asked(self.context, self._state)
        return found

    def _possible(self, allowed: Iterable[int | str] | None) -> list[int] | None:
        """The actions of the state that are among these; None: all."""
        if allowed is None or self._state is None:
            return None
        support = self.learner.support
        found: list[int] = support.pair_action[allowed_pairs(support, self._state, allowed)].tolist()
        return found

    def observe(self, step: Step, *, overridden: bool = False) -> None:
        """What came of the action (lines 8 to 20).

        Over all episodes outcomes may come in any order, even one that depends on them, and some may never come: the
        sets of LR-CSSP stay valid (docs/explanation/pending.md).

        ``overridden=True``: somebody played another action than the one proposed, or did not ask, and :meth:`begins`
        did not say it. The proposal is taken back, the step is learned from as
        :meth:`learner.learn <goalbound.learners.base.LearnerBase.learn>` does, and the episode goes on from where the
        step led. The plan is kept until so much was learned that a new one is due.

        Such a step may have waited for its outcome. So LR-CSSP proves nothing from then on, and
        :attr:`learner.caveats <goalbound.learners.base.LearnerBase.caveats>` says why, unless this is the only open
        episode and nothing was learned since it acted or arrived in its state. A step that is never reported must be
        missing for reasons that have nothing to do with its outcome.
        """
        learner = self.learner
        support = learner.support
        if self._held is None:
            raise LearnerError("the episode has ended; nothing can follow the goal")
        is_clipped = False
        if learner._converts:
            step, is_clipped = learner._plain_step(step)
        try:
            pair, place = checked_step(support, step)
        except InputError:
            self._check_follows(step, overridden=overridden)  # its words say more where the step does not follow
            raise
        loss = float(step[2])
        is_proposed = self._action == support.pair_action[pair] and self._state == support.pair_state[pair]
        if not is_proposed or overridden is not False:
            self._check_follows(step, overridden=overridden)
        if learner.prior is not None:
            learner.prior.check_step(pair, place, self._context)
        if is_proposed:
            learner._observe(self, pair, place, loss)
            learner._visits.settle(self)
        else:
            self.take_back()
            learner._override(self, pair, place, loss)
        learner.clipped += is_clipped
        self._go_to(int(support.next_state[place]))
        learner._after_learning()

    def _check_follows(self, step: Step, *, overridden: bool) -> None:
        """An error unless a step follows from where the episode is and, if not ``overridden``, from what it chose."""
        support = self.learner.support
        own = not check_bool(overridden, "overridden")
        if own and self._action is None:
            raise LearnerError(
                "no action was chosen; act(state) comes before observe(step), with allowed=[action] where somebody "
                "acts without asking, or observe(step, overridden=True) where that was not said before"
            )
        parts = step_parts(step)
        state, action = support.state(parts[0]), support.action(parts[1])
        if self._state is not None and self._state != state:
            raise LearnerError(
                f"the step is from {support.state_name(state)}, but the episode is in "
                f"{support.state_name(self._state)}; if it got there by itself, moved_to(state) comes first"
            )
        if own and self._action is not None and self._action != action:
            raise LearnerError(
                f"the step played {support.action_name(action)}, but {support.action_name(self._action)} was chosen; "
                "if somebody plays another action than was proposed, begins(action) says so in time, and "
                "observe(step, overridden=True) learns from it where nobody did"
            )

    def take_back(self) -> None:
        """The action that ``act`` proposed was not played, and will not be. Nothing is awaited any more. What was drawn
        for it stays drawn.

        The visit is dropped if it does not count yet. If it does, as outcomes of later visits of the same pair were
        reported, it stays one whose outcome may have been anything, which makes the sets of its pair a little wider
        for ever: take proposals back soon. Why it is taken back must have nothing to do with outcomes of later visits
        of the pair that are known and not reported.

        If it was played, and only its outcome is missing, that is :meth:`moved_to` or :meth:`abandon`.
        """
        if self._arrays is not None and self._action is not None:
            self.learner._visits.lose(self, at_random=True)
            self._action = None

    def moved_to(self, state: int | str, *, missing_at_random: bool = False) -> None:
        """The episode is in another state, by no action that is to be learned from: the world moved by itself.

        Nothing is learned. If the outcome of an action is awaited, it will never be known: as in :meth:`abandon`, that
        visit counts as one whose outcome may have been anything, unless it is ``missing_at_random``. At the goal the
        episode ends.
        """
        if self.ended:
            raise LearnerError("the episode has ended; nothing moves any more")
        there = self.learner.support.state(state)
        check_bool(missing_at_random, "missing_at_random")
        if self._action is not None:
            self.learner._visits.lose(self, at_random=missing_at_random)
        self.learner._note_known(self)
        self._go_to(there)

    def abandon(self, reason: str = NO_REASON, *, missing_at_random: bool = False) -> None:
        """The episode ends without the goal: it will not go on, and is not part of checkpoints any more.

        ``learner.abandoned`` counts the reasons.

        If an action was taken whose outcome was not observed, that visit counts for LR-CSSP from now on as one whose
        outcome may have been anything, which makes the sets of its pair a little wider for ever.
        ``missing_at_random=True`` says that whether the outcome is missing has nothing to do with what it was, nor
        with unreported outcomes of later visits of the same pair; then the visit is dropped, as long as it does not
        count yet (:meth:`take_back`). Said where it is not so (treatments broken off because they failed), the
        guarantees are lost. The other learners never count such a visit.
        """
        check_bool(missing_at_random, "missing_at_random")
        if not isinstance(reason, str) or not reason:
            raise ArgumentError(f"reason is {short_repr(reason)}; give a few words, such as 'lost contact'")
        if self._held is None:
            return
        if self._action is not None:
            self.learner._visits.lose(self, at_random=missing_at_random)
        count_reason(self.learner._abandoned, reason)
        self._action = None
        self._end()

    def _go_to(self, state: int) -> None:
        self._action = None
        self._state = state
        if state == self.learner.support.states:
            self._end()

    def _end(self) -> None:
        self._held = None  # what is left of an episode that ended is small
        if self.id is not None:
            self.learner._named.pop(self.id, None)

    @property
    def ended(self) -> bool:
        """Whether the goal was reached, or the episode abandoned."""
        return self._held is None

    @property
    def context(self) -> NDArray[np.float64]:
        """[d]; of a learner without contexts [1], the number 1."""
        return set_readonly(self._context.copy())

    @property
    def state(self) -> int | None:
        """Where the episode is; None before the first ``act``."""
        return self._state

    @property
    def pending_action(self) -> int | str | None:
        """The action whose outcome is awaited, by its name where actions have names; None: nothing is awaited."""
        names = self.learner.support.action_names
        return self._action if self._action is None or names is None else names[self._action]

    @property
    def plan(self) -> Plan | None:
        """The plan that is held, or None: the next ``act`` makes a new one, or the learner has no contexts and plans
        for all its episodes together (``learner.plan()``)."""
        return None if self._held is None else self.learner._in_unit(self.learner._held_plan(self._arrays))

    @property
    def number(self) -> int:
        """How many episodes were begun before this one."""
        return int(self._progress["number"]) - 1

    @property
    def interval(self) -> int | None:
        """m, the number of the present interval among those of all episodes; None of a learner without contexts."""
        return int(self._progress["interval"]) if "interval" in (self._progress.dtype.names or ()) else None

    @property
    def intervals(self) -> int:
        """How many intervals (of learners without contexts: plans, attempts, epochs) the episode has had."""
        return int(self._progress["intervals"])

    @property
    def unknown_steps(self) -> int:
        """How many of its own steps played a pair that was not known; 0 of learners without a known test."""
        return int(self._progress["unknown_steps"])


def begin_action(episode: Any, action: int | str) -> None:
    """Take back what was proposed in an episode, or in one around another, and await the outcome of this action."""
    support, state = episode.learner.support, episode.state
    if episode.ended:
        raise LearnerError("the episode has ended; nothing begins any more")
    if state is None:
        raise LearnerError(
            "the state of the episode is not known before its first act; act(state, allowed=[action]) says both"
        )
    (pair,) = allowed_pairs(support, state, [action])
    if episode.pending_action is not None and pair == support.pair(state, support.action(episode.pending_action)):
        return
    episode.take_back()
    episode.act(state, allowed=[action])


_NO_CONTEXT = set_readonly(np.ones(1))
