"""Learners that act by a runbook: until another policy is surely no worse, or once an episode takes too long."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.around.around import Around, AroundEpisode, innermost, seen_inside
from goalbound.around.excess import ExcessLoss, ExcessLossTest, Trial, TrialQueue
from goalbound.around.progress import LEARNER, RUNBOOK, ApprenticeProgress, tested_progress
from goalbound.errors import ArgumentError, ExcessLossWarning, FileFormatError, InputError
from goalbound.learners.answers import estimated, plausible, values_in
from goalbound.learners.base import LearnerBase
from goalbound.learners.card import Card, apprentice_card, guarded_card, learner_card
from goalbound.learners.checks import allowed_pairs
from goalbound.learners.episode import LearnerEpisode
from goalbound.learners.explanation import OWN_PLAN, Explanation
from goalbound.learners.layers import unwrap
from goalbound.learners.learner import RidgeLearner
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.models import Step, Support
from goalbound.models.support_match import match_support
from goalbound.models.validation import check_float, check_int, check_type, set_readonly, short_repr
from goalbound.planning import policy_bounds
from goalbound.planning.policy_bounds import policy_pairs
from goalbound.terminal import pluralize

ALLOWANCE = 1.5
"""By what the estimate of a plan is multiplied before losses above it count as excess: plans are chosen because their
estimates are low."""
IN_CELLS = "cells of contexts go around it: Discretized(make, ...) with a make that gives it"

Ints = NDArray[np.int64]
Runbook = ArrayLike | Mapping[Any, Any]


class _ByRunbook(Around):
    """What both share: the runbook, and a note on each open episode."""

    def __init__(self, learner: Any, runbook: Runbook) -> None:
        super().__init__(learner)
        self.runbook: Ints = checked_runbook(learner.support, runbook)
        """[S] the action of each state."""
        self._notes: WeakKeyDictionary[LearnerEpisode, Any] = WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_notes": list(self._notes.items())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "_notes": WeakKeyDictionary(state["_notes"])})

    def extended(self, support: Support, *, runbook: Runbook | None = None) -> Self:
        """The same on a larger support, with all that this one has seen; this one stays as it is.

        ``runbook`` is needed where there are new states; left out, it is this one's.
        """
        inner = self._of_inner("extended")
        others = {"runbook": runbook} if runbook is not None and hasattr(self.inner, "runbook") else {}
        found = self._again(inner(support, **others), self._runbook_on(support) if runbook is None else runbook)
        found._add(self)
        return found

    def _runbook_on(self, support: Support) -> Runbook:
        """The same actions in the states that a larger support had before."""
        places = match_support(support, self.support, name="the learner")
        pairs = places.pairs[policy_pairs(self.support, self.runbook)]
        return dict(zip(support.pair_state[pairs].tolist(), support.pair_action[pairs].tolist(), strict=True))

    def _again(self, inner: Any, runbook: Runbook | None = None) -> Self:
        raise NotImplementedError

    def _open(self) -> list[LearnerEpisode]:
        """The open episodes of the innermost learner, in the order of a file."""
        return [innermost(one) for one in self.inner.open_episodes]

    def _checked_entries(self, entries: Any) -> list[Any]:
        count = len(self._open())
        if not isinstance(entries, list) or len(entries) != count:
            raise FileFormatError(f"episodes is {entries!r:.100}; the learner has {count} open ones")
        return entries


@dataclass(frozen=True, eq=False)
class Lead:
    """Who leads an episode.

    Attributes:
        candidate, switches: [S] the policy that may replace the runbook, and the states from which it does; None until
            it is decided, which the next ``act`` does.
        follows: whether the episode has come to such a state, and follows the candidate to the goal.
        counted: under whom the episode is counted; None before its first ``act``.
    """

    candidate: Ints | None = None
    switches: NDArray[np.bool_] | None = None
    follows: bool = False
    counted: str | None = None


class ApprenticeEpisode(AroundEpisode):
    """An episode of an apprentice: as :class:`~goalbound.learners.episode.LearnerEpisode`, and who leads it. Its plan
    is that of the learner inside, which explores; not what is followed."""

    learner: Apprentice

    @property
    def led_by(self) -> str:
        """``learner`` if it follows the policy of the learner by now, else ``runbook``."""
        return LEARNER if self.learner._lead_of(innermost(self)).follows else RUNBOOK

    def explain(self, *, allowed: Iterable[int | str] | None = None) -> Explanation:
        """Why the action that is awaited was proposed, by whoever leads; ``allowed`` as ``act`` was given it."""
        core: LearnerEpisode = innermost(self)
        action, found = core._awaited, core._explained_by(core.learner)
        assert core._state is not None
        found = self.learner._explained(found, core.context, core._state, self.learner._lead_of(core))
        otherwise = "as it was proposed before; who leads is decided at the next step"
        return found.proposed(action, core._possible(allowed), otherwise)


class Apprentice(_ByRunbook):
    """Follows a runbook, and learns from all steps, until another policy is sure to be no worse.

    At the first ``act`` of an episode the test is made for all states, by what was learned until then. The episode
    plays the runbook until it comes to a state from which the test is passed; from there on it plays the candidate to
    the goal. What is learned meanwhile counts in later episodes.

    Args:
        learner: an :class:`~goalbound.learners.lr_cssp.LRCSSP`, or one with something around it.
        runbook: an action for each state, by numbers or names, as :func:`goalbound.policy_bounds` takes it.
        margin: how much more an episode may lose than by the runbook, with losses of a step in [0, 1]:
            ``scale.total_from_unit(5)`` converts. Below 0: leave the runbook only where that much is gained.

    The candidate is the robust plan. It passes the test from a state if it loses at most the margin more than the
    runbook in every plausible model, by certified bounds.

    Guarantee: if the confidence sets hold the truth when an episode begins to act, its expected loss, from
    its first state and under its context, is at most that of the runbook plus the margin (0 if that is negative). They
    do at all times at once with probability 1 - delta where the learner's widths are proven. Where a person plays
    something else, or the world moves, the same holds from the state where that leads: there the test is made again.
    The proof is in docs/explanation/apprentice.md. No regret bound holds: where data never suffices the runbook is
    kept. After an ``alarm`` nothing is sure any more, and the runbook leads.

    The test costs the confidence sets of all pairs and some robust evaluations (``robust_plan``), once per episode.

    >>> from goalbound import LRCSSP, Support
    >>> apprentice = Apprentice(LRCSSP(Support.full(2, 2), 2, loss_floor=0.1), [1, 0])
    >>> episode = apprentice.begin([0.3, 0.7])
    >>> episode.act(0), episode.led_by
    (1, 'runbook')
    >>> episode.observe((0, 1, 0.5, 2))
    >>> apprentice.led_by_runbook, apprentice.led_by_learner
    (1, 0)
    """

    card = Card(apprentice_card)
    _what = "apprentice"
    _keys = ("margin", "led", "episodes")
    _array_types: ClassVar = {"runbook": "<i8", "candidates": "<i8", "switches": "|b1"}
    _difference = "another runbook or margin"
    _episode_type = ApprenticeEpisode

    def __init__(self, learner: Any, runbook: Runbook, *, margin: float = 0.0) -> None:
        check_type(unwrap(learner), LRCSSP, "learner", f"an apprentice needs an LRCSSP; {IN_CELLS}")
        super().__init__(learner, runbook)
        self.margin = check_float(margin, "margin", "a loss that may be added to that of the runbook")
        if not math.isfinite(self.margin):
            raise ArgumentError(f"margin is {short_repr(margin)}; it is a finite loss, 0 if none may be added")
        self._led = {RUNBOOK: 0, LEARNER: 0}

    @property
    def led_by_runbook(self) -> int:
        """How many episodes that have acted never left the runbook so far."""
        return self._led[RUNBOOK]

    @property
    def led_by_learner(self) -> int:
        """How many episodes went on, from their first state or a later one, by the policy of the learner."""
        return self._led[LEARNER]

    def progress(self, context: Any) -> ApprenticeProgress:
        """Which policy an episode under this context would follow from each state if it began now, the bounds that
        decide it, and how much is missing. Nothing is changed by looking."""
        base = unwrap(self)
        found: ApprenticeProgress = base._in_unit(self._tested(base._checked_context(seen_inside(self, context))))
        return found

    def _tested(self, seen: NDArray[np.float64]) -> ApprenticeProgress:
        return tested_progress(unwrap(self), learner_card(self.inner), seen, self.runbook, self.margin)

    def explain(self, context: Any, state: int | str) -> Explanation:
        """Why an episode that begins in a state under a context would play what it plays there: by the runbook, or by
        the policy of the learner. ``episode.explain()`` is about one that has begun."""
        found = self.inner.explain(context, state)
        seen = unwrap(self)._checked_context(seen_inside(self, context))
        return self._explained(found, seen, self.support.state(state), Lead())

    def _explained(self, found: Explanation, seen: NDArray[np.float64], here: int, lead: Lead) -> Explanation:
        """The explanation of the learner inside, as that of an episode with this lead."""
        if lead.candidate is None:
            progress = self._tested(seen)
            lead = replace(lead, candidate=progress.candidate, follows=bool(progress.switches[here]))
        assert lead.candidate is not None
        worse = "no worse" + (" by more than the margin" if self.margin > 0.0 else "")
        if lead.follows:
            reason = (
                f"by the policy of the learner: it is sure to be {worse.replace('worse', 'worse than the runbook')}"
            )
            return found.playing(int(lead.candidate[here]), reason)
        contradicted = unwrap(self).alarm is not None
        why = "what was seen contradicts the model" if contradicted else f"no other policy is sure to be {worse}"
        return found.playing(int(self.runbook[here]), f"as the runbook says: {why}", note=OWN_PLAN)

    def _lead(self, episode: Any, state: int, allowed: list[Any] | None) -> int:
        core: LearnerEpisode = innermost(episode)
        lead, action = self._next_lead(core, state)
        played = _played_if_possible(episode.inner, state, action, allowed)
        # Where the learner chose, nothing is promised of this step, and the test is made again after it.
        self._follow(core, lead if played else Lead(counted=lead.counted))
        assert core._action is not None
        return core._action

    def _watch(self, episode: LearnerEpisode, step: Step | None, *, foreign: bool) -> None:
        if foreign:  # what was decided is void: the next act makes the test again
            self._notes[episode] = Lead(counted=self._lead_of(episode).counted)

    def _lead_of(self, episode: LearnerEpisode) -> Lead:
        lead: Lead = self._notes.get(episode, Lead())
        return lead

    def _next_lead(self, episode: LearnerEpisode, state: int) -> tuple[Lead, int]:
        """Who leads from here on, and the action to play."""
        lead = self._lead_of(episode)
        if lead.candidate is None or lead.switches is None:
            found = self._tested(episode.context)
            lead = replace(lead, candidate=found.candidate, switches=found.switches, follows=False)
        assert lead.candidate is not None
        assert lead.switches is not None
        follows = lead.follows or bool(lead.switches[state])
        policy = lead.candidate if follows else self.runbook
        return replace(lead, follows=follows), int(policy[state])

    def _follow(self, episode: LearnerEpisode, lead: Lead) -> None:
        """Note who leads the episode, and count it; one that the learner led once stays counted under it."""
        leader = LEARNER if lead.follows or lead.counted == LEARNER else RUNBOOK
        if leader != lead.counted:
            self._led[leader] += 1
            if lead.counted is not None:
                self._led[lead.counted] -= 1
        self._notes[episode] = replace(lead, counted=leader)

    def _again(self, inner: Any, runbook: Runbook | None = None) -> Self:
        return type(self)(inner, self.runbook if runbook is None else runbook, margin=self.margin)

    def _made_like(self, other: Self) -> bool:
        return other.margin == self.margin and bool(np.array_equal(other.runbook, self.runbook))

    def _add(self, other: Self) -> None:
        for leader, count in other._led.items():
            self._led[leader] += count

    def _header(self) -> dict[str, Any]:
        leads = [self._lead_of(one) for one in self._open()]
        return {
            "margin": self.margin,
            "led": self._led,
            "episodes": [[one.counted, one.candidate is not None, one.follows] for one in leads],
        }

    def _arrays(self) -> dict[str, NDArray[Any]]:
        leads = [self._lead_of(one) for one in self._open()]
        shape, none = (len(leads), len(self.runbook)), np.zeros(len(self.runbook), dtype=np.int64)
        candidates = [none if one.candidate is None else one.candidate for one in leads]
        switches = [none if one.switches is None else one.switches for one in leads]
        return {
            "runbook": self.runbook,
            "candidates": np.array(candidates, dtype=np.int64).reshape(shape),
            "switches": np.array(switches, dtype=np.bool_).reshape(shape),
        }

    @classmethod
    def _from_file(cls, inner: Any, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        if type(header["margin"]) is not float:
            raise FileFormatError(f"margin is {header['margin']!r:.80}; it is a number with a point")
        found = cls(inner, arrays["runbook"], margin=header["margin"])
        led, opened = header["led"], found._open()
        fine = isinstance(led, dict) and set(led) == {RUNBOOK, LEARNER}
        if not fine or not all(type(count) is int and 0 <= count < 2**62 for count in led.values()):
            raise FileFormatError(f"led is {led!r:.100}; it has a count for the {RUNBOOK} and one for the {LEARNER}")
        found._led = dict(led)
        entries, shape = found._checked_entries(header["episodes"]), (len(opened), inner.support.states)
        if any(arrays[name].shape != shape for name in ("candidates", "switches")):
            raise FileFormatError(f"candidates or switches has another shape than {shape}, a row for each open episode")
        for episode, entry, candidate, switches in zip(
            opened, entries, arrays["candidates"], arrays["switches"], strict=True
        ):
            found._notes[episode] = _checked_lead(inner.support, entry, candidate, switches)
        return found

    def __repr__(self) -> str:
        return f"Apprentice({self.inner!r}, margin {self.margin:g}, {self._led[LEARNER]} led by learner)"


def _checked_lead(support: Support, entry: Any, candidate: Ints, switches: NDArray[np.bool_]) -> Lead:
    """Who leads an open episode of a file."""
    fine = isinstance(entry, list) and len(entry) == 3 and entry[0] in (None, RUNBOOK, LEARNER)
    if not fine or not all(type(flag) is bool for flag in entry[1:]) or (entry[2] and entry[:2] != [LEARNER, True]):
        raise FileFormatError(f"an episode is {entry!r:.100}; it says who leads, whether that is decided, and how")
    counted, decided, follows = entry
    if not decided:
        return Lead(counted=counted)
    policy_pairs(support, candidate)
    return Lead(set_readonly(candidate.copy()), set_readonly(switches.copy()), follows, counted)


@dataclass(frozen=True)
class Watch:
    """What a guard knows of an episode.

    Attributes:
        steps, loss: of the episode so far, whoever acted.
        guarded: whether the runbook acts in it by now.
        tried: whether it was settled if the episode is compared with its plan, which the first ``act`` does.
        trial: what it may lose by its plan, and has lost; None: it is not, or no longer, compared with that.
    """

    steps: int = 0
    loss: float = 0.0
    guarded: bool = False
    tried: bool = False
    trial: Trial | None = None

    def as_json(self) -> list[Any]:
        """For a file, whose trials are in an array."""
        return [self.steps, self.loss, self.guarded, self.tried]

    @classmethod
    def from_json(cls, values: Any) -> Watch:
        """What :meth:`as_json` gave, checked."""
        fine = isinstance(values, list) and [type(one) for one in values] == [int, float, bool, bool]
        if not fine or not 0 <= values[0] < 2**62 or not 0.0 <= values[1] < math.inf:
            raise FileFormatError(f"an episode is {values!r:.100}; it says steps, loss, who acts and if it was tried")
        return cls(*values)


class GuardedEpisode(AroundEpisode):
    """An episode of a guarded learner: as :class:`~goalbound.learners.episode.LearnerEpisode`, and who acts."""

    learner: Guarded

    @property
    def guarded(self) -> bool:
        """Whether the runbook acts in it by now."""
        return self.learner._watch_of(innermost(self)).guarded

    @property
    def lost(self) -> float:
        """What it has lost so far, with losses of a step in [0, 1]."""
        return self.learner._watch_of(innermost(self)).loss

    def explain(self, *, allowed: Iterable[int | str] | None = None) -> Explanation:
        """Why the action that is awaited was proposed, by whoever acts; ``allowed`` as ``act`` was given it."""
        core: LearnerEpisode = innermost(self)
        watch = self.learner._watch_of(core)
        if not watch.guarded:
            explained: Explanation = self.inner.explain(allowed=allowed)
            return explained
        action, found = core._awaited, core._explained_by(core.learner)
        assert core._state is not None
        found = self.learner._explained(found, core._state, watch)
        return found.proposed(action, core._possible(allowed), "as it was proposed before the runbook acted")


class Guarded(_ByRunbook):
    """Acts as a learner does, until an episode takes too many steps or loses too much; from there on a runbook acts, to
    the end of the episode. The learner learns from all steps.

    It also tests whether episodes lose more than their plans allow for: the upper bound of the plan where the learner
    has confidence sets, 1.5 times the estimate of the plan where it has none. Where they do, an
    :class:`~goalbound.errors.ExcessLossWarning` says so once, and :attr:`excess` holds it.

    Args:
        learner: any learner by ridge regression or without contexts, or one with something around it.
        runbook: an action for each state, by numbers or names, as :func:`goalbound.policy_bounds` takes it. It should
            reach the goal by itself.
        after_steps: the runbook acts after so many steps of an episode; None: however many there are.
        after_loss: the runbook acts once an episode has lost so much, with losses of a step in [0, 1]:
            ``scale.total_from_unit(120)`` converts. None: however much it is.

    Guarantee: none of the regret is proven. An episode that its people never override plays the learner for at most
    ``after_steps`` steps and, before its last one, for a loss below ``after_loss``; what follows is what the runbook
    loses. Where the upper bounds of plans hold, and plans are not replaced within episodes, a false
    :attr:`excess` comes once in 10,000 episodes or more, on average, however many are open at once: they count in the
    order of their first ``act``, each as soon as all earlier ones have ended (docs/how_to/guards.md has the proof, and
    what is done about those that never end). What a plan allows for is computed once in an episode, at its first
    ``act``: some milliseconds on problems of a few states.

    >>> from goalbound import GreedyRidge, Support
    >>> guarded = Guarded(GreedyRidge(Support.full(1, 2), 1, loss_floor=0.1), [1], after_steps=2)
    >>> episode = guarded.begin([1.0])
    >>> for _ in range(2):
    ...     episode.observe((0, episode.act(0), 0.5, 0))  # nothing helps
    >>> episode.act(0), episode.guarded, guarded.interventions
    (1, True, 1)
    """

    card = Card(guarded_card)
    _what = "guarded learner"
    _keys = ("after_steps", "after_loss", "interventions", "episodes")
    _array_types: ClassVar = {"runbook": "<i8", "excess": "<f8", "trials": "<f8"}
    _difference = "another runbook or other limits"
    _episode_type = GuardedEpisode

    def __init__(
        self, learner: Any, runbook: Runbook, *, after_steps: int | None = None, after_loss: float | None = None
    ) -> None:
        check_type(unwrap(learner), LearnerBase, "learner", f"give a learner such as an LRCSSP; {IN_CELLS}")
        super().__init__(learner, runbook)
        if after_steps is None and after_loss is None:
            raise ArgumentError("neither after_steps nor after_loss is given; give a limit, or use the learner alone")
        self.after_steps = None if after_steps is None else check_int(after_steps, "after_steps", least=0)
        self.after_loss = (
            None if after_loss is None else check_float(after_loss, "after_loss", "the loss of an episode")
        )
        if self.after_loss is not None and not 0.0 <= self.after_loss < math.inf:
            raise ArgumentError(f"after_loss is {short_repr(after_loss)}; it is a finite loss of an episode, from 0 on")
        self.interventions = 0
        """In how many episodes the runbook has stepped in."""
        self._test = ExcessLossTest()
        self._trials = TrialQueue()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for episode, watch in self._notes.items():
            if watch.trial is not None:
                self._trials.watch(watch.trial, episode)

    @property
    def excess(self) -> ExcessLoss | None:
        """By how much episodes lose more than their plans allow for; None: that was not found."""
        return self._test.excess(by_bounds=isinstance(unwrap(self), LRCSSP))

    def acknowledge(self) -> None:
        """Go on after a warning: the test of the losses begins again, with the episodes that begin from here on."""
        self._test.restart()
        self._trials.clear()

    def explain(self, context: Any, state: int | str) -> Explanation:
        """Why an episode that begins in a state under a context would play what it plays there.
        ``episode.explain()`` is about one that has begun, which the runbook may have taken over."""
        found: Explanation = self._of_inner("explain")(context, state)
        return self._explained(found, self.support.state(state), Watch()) if self._exceeds(Watch()) else found

    def _explained(self, found: Explanation, here: int, watch: Watch) -> Explanation:
        """The explanation of the learner inside, as that of an episode in which the runbook acts."""
        limits = []
        if self.after_steps is not None and watch.steps >= self.after_steps:
            limits.append(f"after {pluralize(self.after_steps, 'step')}")
        if self.after_loss is not None and watch.loss >= self.after_loss:
            limits.append("the loss has come to its limit")
        reason = f"as the runbook says: {' and '.join(limits)}"
        return found.playing(int(self.runbook[here]), reason, note=OWN_PLAN)

    def merge(self, other: Guarded) -> None:
        """Add what another guard of the same runbook and limits has seen, as the learners inside do, and its counts.

        The sums of both tests of the losses add up: what is said of a false :attr:`excess` holds for the episodes of
        both together (:meth:`ExcessLossTest.merge <goalbound.around.excess.ExcessLossTest.merge>`).
        """
        before = self._test.found
        super().merge(other)
        if self._test.found and not before:
            warnings.warn(str(self.excess), ExcessLossWarning, stacklevel=2)

    def _lead(self, episode: Any, state: int, allowed: list[Any] | None) -> int:
        core: LearnerEpisode = innermost(episode)
        watch = self._watch_of(core)
        if watch.guarded or self._exceeds(watch):
            _played_if_possible(episode.inner, state, int(self.runbook[state]), allowed)
            if not watch.guarded:
                self.interventions += 1
                self._end_trial(core)
                self._notes[core] = replace(self._watch_of(core), guarded=True)
            return int(core._action or 0)
        action: int = episode.inner.act(state, allowed=allowed)
        as_planned = _is_planned(core, state, action)
        if not watch.tried:
            self._begin_trial(core, state, as_planned=as_planned)
        elif not as_planned:
            self._end_trial(core)
        return action

    def _watch(self, episode: LearnerEpisode, step: Step | None, *, foreign: bool) -> None:
        if foreign:  # what others do is not what the plan allows for
            self._end_trial(episode)
        if step is not None:
            watch, loss = self._watch_of(episode), float(step[2])
            self._notes[episode] = replace(watch, steps=watch.steps + 1, loss=watch.loss + loss)
            if watch.trial is not None and not watch.trial.ended:
                watch.trial.lost += loss
        if episode.ended:
            self._end_trial(episode)

    def _watch_of(self, episode: LearnerEpisode) -> Watch:
        watch: Watch = self._notes.get(episode, Watch())
        return watch

    def _exceeds(self, watch: Watch) -> bool:
        """Whether an episode is beyond a limit."""
        too_long = self.after_steps is not None and watch.steps >= self.after_steps
        return too_long or (self.after_loss is not None and watch.loss >= self.after_loss)

    def _begin_trial(self, episode: LearnerEpisode, state: int, *, as_planned: bool) -> None:
        """An episode has its plan, and nothing has happened yet: what it should lose at most is settled.

        One that does not begin ``as_planned`` is no trial. That is known before its first outcome, so those that are
        left are not selected by what they lose. Later ones end where they leave their plan, with what they have lost.
        """
        allowed = _allowed_loss(episode, state) if as_planned else math.inf
        trial = self._trials.begin(allowed, episode) if 0.0 < allowed < math.inf else None
        self._notes[episode] = replace(self._watch_of(episode), trial=trial, tried=True)

    def _end_trial(self, episode: LearnerEpisode) -> None:
        """What an episode lost by its plan is settled; it counts once all that began earlier are."""
        watch = self._watch_of(episode)
        if watch.trial is None:
            return
        self._notes[episode] = replace(watch, trial=None)
        self._trials.end(watch.trial)
        for trial in self._trials.settled():
            if self._test.add(trial.lost, trial.allowed):
                warnings.warn(str(self.excess), ExcessLossWarning, stacklevel=4)

    def _again(self, inner: Any, runbook: Runbook | None = None) -> Self:
        book = self.runbook if runbook is None else runbook
        return type(self)(inner, book, after_steps=self.after_steps, after_loss=self.after_loss)

    def _made_like(self, other: Self) -> bool:
        mine, theirs = ((one.after_steps, one.after_loss) for one in (self, other))
        return mine == theirs and bool(np.array_equal(other.runbook, self.runbook))

    def _add(self, other: Self) -> None:
        """Its trials are over: it has no open episodes, so none can lose more."""
        settled = ExcessLossTest()
        settled.restore(other._test.sums)
        for trial in other._trials.trials:
            settled.add(trial.lost, trial.allowed)
        if self._test.sums.any():
            self._test.merge(settled)
        else:
            self._test = settled
        self.interventions += other.interventions

    def _header(self) -> dict[str, Any]:
        return {
            "after_steps": self.after_steps,
            "after_loss": self.after_loss,
            "interventions": self.interventions,
            "episodes": [self._watch_of(one).as_json() for one in self._open()],
        }

    def _arrays(self) -> dict[str, NDArray[Any]]:
        trials = ((self._watch_of(one).trial, place) for place, one in enumerate(self._open()))
        places = {id(trial): place for trial, place in trials if trial is not None}
        return {"runbook": self.runbook, "excess": self._test.sums, "trials": self._trials.array(places)}

    @classmethod
    def _from_file(cls, inner: Any, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        found = cls(inner, arrays["runbook"], after_steps=header["after_steps"], after_loss=header["after_loss"])
        found.interventions = check_int(header["interventions"], "interventions", least=0, most=2**62)
        found._test.restore(arrays["excess"])
        watches = [Watch.from_json(entry) for entry in found._checked_entries(header["episodes"])]
        opened = found._open()
        trials = found._trials.restore(arrays["trials"], opened)
        for place, (episode, watch) in enumerate(zip(opened, watches, strict=True)):
            found._notes[episode] = replace(watch, trial=trials.get(place))
        return found

    def __repr__(self) -> str:
        limits = [] if self.after_steps is None else [f"after {pluralize(self.after_steps, 'step')}"]
        limits += [] if self.after_loss is None else [f"after a loss of {self.after_loss:g}"]
        return f"Guarded({self.inner!r}, {', '.join(limits)}, {pluralize(self.interventions, 'intervention')})"


def _is_planned(episode: LearnerEpisode, state: int, action: int) -> bool:
    """Whether an action is that of the plan of the episode; others are played where that is not allowed."""
    learner: Any = episode.learner
    if not isinstance(learner, RidgeLearner):
        return True  # it has no trials
    return int(episode._arrays.iteration.policy[state]) == learner.support.pair(state, action)


def _allowed_loss(episode: LearnerEpisode, state: int) -> float:
    """What an episode should lose at most on average by its plan; infinite where nothing is said."""
    learner: Any = episode.learner
    plan = episode.plan
    if plan is None or not isinstance(learner, RidgeLearner):
        return math.inf
    if isinstance(learner, LRCSSP):
        return float(policy_bounds(plausible(learner, episode.context), plan.policy).upper[state])
    return ALLOWANCE * float(values_in(estimated(learner, episode.context), plan.policy)[state])


def _played_if_possible(episode: Any, state: int, action: int, allowed: list[Any] | None) -> bool:
    """Play an action of a state in an episode if it is allowed; else the learner chooses, and it is False."""
    support = innermost(episode).learner.support
    possible = allowed is None or support.pair(state, action) in allowed_pairs(support, state, allowed)
    episode.act(state, allowed=[action] if possible else allowed)
    return possible


def checked_runbook(support: Support, runbook: Runbook) -> Ints:
    """[S] the action of each state, from numbers or names; an error names the argument.

    >>> checked_runbook(Support.full(2, 2), {0: 1, 1: 0})
    array([1, 0])
    """
    try:
        pairs = policy_pairs(support, runbook)
    except InputError as error:
        raise type(error)(f"runbook: {error}") from None
    return set_readonly(support.pair_action[pairs].astype(np.int64))
