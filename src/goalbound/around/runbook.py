"""Learners that act by a runbook: until another policy is surely no worse, or once an episode takes too long."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.around.around import Around, AroundEpisode, innermost, learner_inside, seen_inside
from goalbound.around.excess import ExcessLoss, ExcessLossTest, Trial, settled, trials_of_rows
from goalbound.around.progress import LEARNER, RUNBOOK, ApprenticeProgress, tested_progress
from goalbound.errors import ArgumentError, ExcessLossWarning, FileFormatError, InputError
from goalbound.learners.answers import estimated, plausible, pull_of, values_in
from goalbound.learners.card import apprentice_card, guarded_card
from goalbound.learners.checks import allowed_pairs
from goalbound.learners.episode import LearnerEpisode
from goalbound.learners.explanation import OWN_PLAN, Explanation
from goalbound.learners.layers import layers, unwrap
from goalbound.learners.learner import RidgeLearner
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.own_card import Card
from goalbound.models import SSP, Step, Support
from goalbound.models.files.ranges import matching
from goalbound.models.support_match import match_support
from goalbound.models.validation import check_float, check_int, set_readonly, short_repr
from goalbound.planning import policy_bounds
from goalbound.planning.policy_bounds import policy_pairs
from goalbound.terminal import pluralize

ALLOWANCE = 1.5
"""By what the estimate of a plan is multiplied before losses above it count as excess: plans are chosen because their
estimates are low."""

MOST_INVENTED = 0.5
"""An estimate with a larger share of invented visits says nothing of a pair."""
Ints = NDArray[np.int64]
Runbook = ArrayLike | Mapping[Any, Any]


class _LedEpisode(AroundEpisode):
    """An episode that a runbook may lead."""

    _otherwise: ClassVar[str]
    """Why an action was proposed that would not be proposed any more."""

    def explain(self, *, allowed: Iterable[int | str] | None = None) -> Explanation:
        """Explain why the action that is awaited was proposed; ``allowed`` as ``act`` was given it."""
        core, note = innermost(self), self.learner._note(self)
        if not getattr(note, "guarded", True) or getattr(self.inner, "guarded", False):  # by who is inside
            explained: Explanation = self.inner.explain(allowed=allowed)
            return explained
        planned = core._explained_by(core.learner)
        explained = self.learner._explained(planned, core.context, core.state, note)
        return explained.proposed(core._awaited, core._possible(allowed), self._otherwise)


class _ByRunbook(Around):
    """A runbook, and a note on each episode: a dataclass, whose first fields are in files, with these types."""

    _note_type: ClassVar[type[Any]]
    _in_files: ClassVar[tuple[type[Any], ...]]

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
        """Return the same on a larger support, with all that this one has seen; this one stays as it is.

        ``runbook`` is needed where there are new states; left out, it is this one's.
        """
        others = {} if runbook is None or not hasattr(self.inner, "runbook") else {"runbook": runbook}
        larger = self._of_inner("extended")(support, **others)
        if runbook is None:
            places = match_support(support, self.support, name="the learner")
            pairs = places.pairs[policy_pairs(self.support, self.runbook)]
            runbook = dict(zip(support.pair_state[pairs].tolist(), support.pair_action[pairs].tolist(), strict=True))
        return self._going_on(larger, runbook=runbook)

    def explain(self, context: Any, state: int | str) -> Explanation:
        """Explain why an episode that begins in a state under a context would play what it plays there: by the runbook,
        or by the learner. ``episode.explain()`` is about one that has begun."""
        planned = self._of_inner("explain")(context, state)
        return self._explained(planned, seen_inside(self, context), self.support.state(state), self._note_type())

    def _explained(self, planned: Explanation, seen: Any, state: int, note: Any) -> Explanation:
        """Return the explanation of the learner inside, as that of an episode with this note."""
        raise NotImplementedError

    def _by_runbook(self, planned: Explanation, state: int, why: str) -> Explanation:
        return planned.playing(int(self.runbook[state]), f"as the runbook says: {why}", note=OWN_PLAN)

    def _note(self, episode: Any) -> Any:
        return self._notes.setdefault(innermost(episode), self._note_type())

    def _open_notes(self) -> list[Any]:
        """Return the notes on the open episodes, in the order of a file."""
        return list(map(self._note, self.inner.open_episodes))

    def _saved(self) -> dict[str, Any]:
        return {"episodes": [list(vars(note).values())[: len(self._in_files)] for note in self._open_notes()]}

    def _restore(self, saved: Mapping[str, Any]) -> None:
        episodes, rows = self.inner.open_episodes, saved["episodes"]
        if not isinstance(rows, list) or len(rows) != len(episodes):
            raise FileFormatError(f"episodes is {rows!r:.100}; the learner has {len(episodes)} open ones")
        for episode, row in zip(episodes, rows, strict=True):
            fine = isinstance(row, list) and tuple(map(type, row)) == self._in_files
            note = self._note_type(*row) if fine else None
            if note is None or not note.is_possible():
                names = list(vars(self._note_type()))[: len(self._in_files)]
                raise FileFormatError(f"an episode is {row!r:.100}; it says {', '.join(names)}")
            self._notes[innermost(episode)] = note


def _play(episode: Any, state: int, action: int, allowed: list[Any] | None) -> bool:
    """Play an action of a state in an episode if it is allowed; else the learner chooses, and it is False."""
    support = innermost(episode).learner.support
    possible = allowed is None or support.pair(state, action) in allowed_pairs(support, state, allowed)
    episode.act(state, allowed=[action] if possible else allowed)
    return possible


@dataclass(eq=False)
class Lead:
    """Who leads an episode: the runbook until it comes to a state of ``switches``, from there on the candidate."""

    counted: str = ""  # under whom; empty before its first act
    decided: bool = False  # whether the test was made, which else the next act does
    follows: bool = False  # whether it has come to such a state
    candidate: Any = 0  # [S], once decided
    switches: Any = False  # [S], likewise

    def is_possible(self) -> bool:
        """Whether a file may say so."""
        is_counted = self.counted in ("", RUNBOOK, LEARNER)
        return is_counted and (not self.follows or (self.decided and self.counted == LEARNER))


class ApprenticeEpisode(_LedEpisode):
    """An episode of an apprentice: as :class:`~goalbound.learners.episode.LearnerEpisode`, and who leads it. Its plan
    is that of the learner inside, which explores; not what is followed."""

    learner: Apprentice
    _otherwise = "as it was proposed before; who leads is decided at the next step"

    @property
    def led_by(self) -> str:
        """``learner`` if it follows the policy of the learner by now, else ``runbook``."""
        return LEARNER if self.learner._note(self).follows else RUNBOOK


class Apprentice(_ByRunbook):
    """Follows a runbook, and learns from all steps, until another policy is sure to be no worse.

    At the first ``act`` of an episode the test is made for all states, by what was learned until then. The episode
    plays the runbook until it comes to a state from which the test is passed; from there on it plays the candidate, the
    robust plan, to the goal. The test is passed where the candidate loses at most the margin more than the runbook in
    every plausible model, by certified bounds.

    Args:
        learner: an :class:`~goalbound.learners.lr_cssp.LRCSSP`, or one with something around it.
        runbook: an action for each state, by numbers or names, as :func:`goalbound.policy_bounds` takes it.
        margin: how much more an episode may lose than by the runbook, with losses of a step in [0, 1]:
            ``scale.total_from_unit(5)`` converts. Below 0: leave the runbook only where that much is gained.

    Guarantee: if the confidence sets hold the truth when an episode begins to act, its expected loss, from its first
    state and under its context, is at most that of the runbook plus the margin (0 if that is negative). They do at all
    times at once with probability 1 - delta where the learner's widths are proven. Where a person plays something
    else, or the world moves, the test is made again, and the same holds from there (docs/explanation/apprentice.md has
    the proof). No regret bound holds: where data never suffices the runbook is kept. After an ``alarm`` nothing is sure
    any more, and the runbook leads.

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
    _given = ("runbook", "margin")
    _counted = ("led", "episodes", "candidates", "switches")
    _array_types: ClassVar = {"runbook": "<i8", "candidates": "<i8", "switches": "|b1"}
    _difference = "another runbook or margin"
    _episode_type = ApprenticeEpisode
    _note_type, _in_files = Lead, (str, bool, bool)

    def __init__(self, learner: Any, runbook: Runbook, *, margin: float = 0.0) -> None:
        base = learner_inside(learner, "Apprentice")
        if not isinstance(base, LRCSSP):
            raise ArgumentError(
                f"learner is a {type(base).__name__}, which has no confidence sets, and so is never sure to be no "
                "worse than the runbook; give an LRCSSP, or Guarded(learner, runbook, after_steps=...), which takes any"
            )
        super().__init__(learner, runbook)
        self.margin = check_float(margin, "margin", "a loss that may be added to that of the runbook")
        if not math.isfinite(self.margin):
            raise ArgumentError(f"margin is {short_repr(margin)}; it is a finite loss, 0 if none may be added")
        self.led_by_runbook = 0
        """How many episodes that have acted never left the runbook so far."""
        self.led_by_learner = 0
        """How many episodes went on, from their first state or a later one, by the policy of the learner."""

    def progress(self, context: Any) -> ApprenticeProgress:
        """Return which policy an episode under this context would follow from each state if it began now, the bounds
        that decide it, and how much is missing. Nothing is changed by looking."""
        progress: ApprenticeProgress = unwrap(self)._in_unit(tested_progress(self, seen_inside(self, context)))
        return progress

    def _explained(self, planned: Explanation, seen: Any, state: int, note: Lead) -> Explanation:
        if not note.decided:
            progress = tested_progress(self, seen)
            note = Lead(candidate=progress.candidate, follows=bool(progress.switches[state]))
        margin = " by more than the margin" if self.margin > 0.0 else ""
        if note.follows:
            reason = f"by the policy of the learner: it is sure to be no worse than the runbook{margin}"
            return planned.playing(int(note.candidate[state]), reason)
        if unwrap(self).alarm is not None:
            return self._by_runbook(planned, state, "what was seen contradicts the model")
        return self._by_runbook(planned, state, f"no other policy is sure to be no worse{margin}")

    def _lead(self, episode: Any, state: int, allowed: list[Any] | None) -> int:
        core: LearnerEpisode = innermost(episode)
        lead = self._note(core)
        if any(isinstance(layer, Guarded) and layer._limits(layer._note(core)) for layer in layers(self.inner)):
            return int(episode.inner.act(state, allowed=allowed))  # a guard inside has the last word
        if not lead.decided:
            progress = tested_progress(self, core.context)
            lead = Lead(lead.counted, True, False, progress.candidate, progress.switches)
        follows = lead.follows or bool(lead.switches[state])
        policy = lead.candidate if follows else self.runbook
        if _play(episode.inner, state, int(policy[state]), allowed):
            lead = replace(lead, follows=follows)
        else:  # the learner chose: nothing is promised of this step, and the test is made again after it
            lead = Lead(lead.counted)
        leader = LEARNER if lead.follows or lead.counted == LEARNER else RUNBOOK  # once the learner's, always
        self.led_by_runbook += (leader == RUNBOOK) - (lead.counted == RUNBOOK)
        self.led_by_learner += (leader == LEARNER) - (lead.counted == LEARNER)
        self._notes[core] = replace(lead, counted=leader)
        return int(core._action or 0)

    def _watch(self, episode: LearnerEpisode, step: Step | None, *, foreign: bool) -> None:
        if foreign:  # what was decided is void: the next act makes the test again
            self._notes[episode] = Lead(self._note(episode).counted)

    def _add(self, other: Self) -> None:
        self.led_by_runbook += other.led_by_runbook
        self.led_by_learner += other.led_by_learner

    def _saved(self) -> dict[str, Any]:
        leads = self._open_notes()
        candidates = np.zeros((len(leads), self.support.states), dtype=np.int64)
        switches = np.zeros(candidates.shape, dtype=bool)
        for place, lead in enumerate(leads):
            candidates[place], switches[place] = lead.candidate, lead.switches
        led = {RUNBOOK: self.led_by_runbook, LEARNER: self.led_by_learner}
        return {"led": led, **super()._saved(), "candidates": candidates, "switches": switches}

    def _restore(self, saved: Mapping[str, Any]) -> None:
        led = saved["led"]
        fine = isinstance(led, dict) and set(led) == {RUNBOOK, LEARNER}
        if not fine or not all(type(count) is int and 0 <= count < 2**62 for count in led.values()):
            raise FileFormatError(f"led is {led!r:.100}; it has a count for the {RUNBOOK} and one for the {LEARNER}")
        self.led_by_runbook, self.led_by_learner = led[RUNBOOK], led[LEARNER]
        super()._restore(saved)
        leads = self._open_notes()
        shape = len(leads), self.support.states
        candidates = matching(saved, "candidates", shape, np.int64)
        for lead, candidate, switches in zip(leads, candidates, matching(saved, "switches", shape, bool), strict=True):
            if lead.decided:
                policy_pairs(self.support, candidate)
                lead.candidate, lead.switches = candidate.copy(), switches.copy()


@dataclass(eq=False)
class Watch:
    """What a guard knows of an episode: what happened so far, whoever acted, and who acts by now."""

    steps: int = 0
    loss: float = 0.0
    guarded: bool = False
    tried: bool = False  # whether its first act has settled if it is compared with its plan
    trial: Trial | None = None  # None: it is not, or no longer

    def is_possible(self) -> bool:
        """Whether a file may say so."""
        return 0 <= self.steps < 2**62 and 0.0 <= self.loss < math.inf


class GuardedEpisode(_LedEpisode):
    """An episode of a guarded learner: as :class:`~goalbound.learners.episode.LearnerEpisode`, and who acts."""

    learner: Guarded
    _otherwise = "as it was proposed before the runbook acted"

    @property
    def guarded(self) -> bool:
        """Whether the runbook acts in it by now."""
        return bool(self.learner._note(self).guarded)

    @property
    def lost(self) -> float:
        """What it has lost so far, with losses of a step in [0, 1]."""
        return float(self.learner._note(self).loss)


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
    ``after_steps`` steps and, before its last one, for a loss below ``after_loss``. Where the upper bounds of plans
    hold, and plans are not replaced within episodes, a false :attr:`excess` comes once in 10,000 episodes or more, on
    average, however many are open at once (docs/how_to/guards.md has the proof).

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
    _given = ("runbook", "after_steps", "after_loss")
    _counted = ("interventions", "episodes", "excess", "trials")
    _array_types: ClassVar = {"runbook": "<i8", "excess": "<f8", "trials": "<f8"}
    _difference = "another runbook or other limits"
    _episode_type = GuardedEpisode
    _note_type, _in_files = Watch, (int, float, bool, bool)

    def __init__(
        self, learner: Any, runbook: Runbook, *, after_steps: int | None = None, after_loss: float | None = None
    ) -> None:
        learner_inside(learner, "Guarded")
        super().__init__(learner, runbook)
        if after_steps is None and after_loss is None:
            raise ArgumentError("neither after_steps nor after_loss is given; give a limit, or use the learner alone")
        self.after_steps = None if after_steps is None else check_int(after_steps, "after_steps", least=0)
        self.after_loss = after_loss
        if after_loss is not None:
            self.after_loss = check_float(after_loss, "after_loss", "the loss of an episode")
            if not 0.0 <= self.after_loss < math.inf:
                raise ArgumentError(
                    f"after_loss is {short_repr(after_loss)}; it is a finite loss of an episode, from 0 on"
                )
        self.interventions = 0
        """In how many episodes the runbook has stepped in."""
        self._test = ExcessLossTest()
        self._trials: list[Trial] = []  # those that may still count, in the order in which they began

    @property
    def excess(self) -> ExcessLoss | None:
        """By how much episodes lose more than their plans allow for, in the unit of the learner; None: that was not
        found."""
        core = unwrap(self)
        found: ExcessLoss | None = core._in_unit(self._test.excess(by_bounds=isinstance(core, LRCSSP)))
        return found

    def acknowledge(self) -> None:
        """Go on after a warning: the test of the losses begins again, with the episodes that begin from here on."""
        self._test = ExcessLossTest()
        self._trials = []

    def merge(self, other: Guarded) -> None:
        """Add what another guard of the same runbook and limits has seen, as the learners inside do, and its counts.
        What is said of a false :attr:`excess` then holds for the episodes of both together."""
        found = self._test.found
        super().merge(other)
        if self._test.found and not found:
            warnings.warn(str(self.excess), ExcessLossWarning, stacklevel=2)

    def _explained(self, planned: Explanation, seen: Any, state: int, note: Watch) -> Explanation:
        limits = self._limits(note)
        return self._by_runbook(planned, state, " and ".join(limits)) if limits else planned

    def _lead(self, episode: Any, state: int, allowed: list[Any] | None) -> int:
        core: LearnerEpisode = innermost(episode)
        watch = self._note(core)
        if watch.guarded or self._limits(watch):
            _play(episode.inner, state, int(self.runbook[state]), allowed)
            self.interventions += not watch.guarded
            watch.guarded = True
            self._end_trial(watch)
            return int(core._action or 0)
        action: int = episode.inner.act(state, allowed=allowed)
        learner = core.learner
        # Others than the action of the plan are played where that is not allowed.
        as_planned = isinstance(learner, RidgeLearner) and (
            core._arrays.iteration.policy[state] == learner.support.pair(state, action)
        )
        if not as_planned:
            self._end_trial(watch)
        elif not watch.tried:
            # One that does not begin by its plan is no trial. That is known before its first outcome, so those that are
            # left are not selected by what they lose.
            limit = _allowed_loss(core, state)
            if 0.0 < limit < math.inf:
                watch.trial = Trial(limit)
                self._trials.append(watch.trial)
        watch.tried = True
        return action

    def _watch(self, episode: LearnerEpisode, step: Step | None, *, foreign: bool) -> None:
        watch = self._note(episode)
        if foreign:  # what others do is not what the plan allows for
            self._end_trial(watch)
        if step is not None:
            watch.steps += 1
            watch.loss += float(step[2])
            if watch.trial is not None:
                watch.trial.lost += float(step[2])
        if episode.ended:
            self._end_trial(watch)

    def _limits(self, watch: Watch) -> list[str]:
        """Return the limits that an episode is beyond, in words."""
        limits = []
        if self.after_steps is not None and watch.steps >= self.after_steps:
            limits.append(f"after {pluralize(self.after_steps, 'step')}")
        if self.after_loss is not None and watch.loss >= self.after_loss:
            limits.append("the loss has come to its limit")
        return limits

    def _end_trial(self, watch: Watch) -> None:
        """Settle what an episode lost by its plan; it counts once all that began earlier are settled."""
        if watch.trial is None:
            return
        watch.trial = None
        for trial in settled(self._trials, {other.trial for other in self._open_notes()}):
            if self._test.add(trial.lost, trial.allowed):
                warnings.warn(str(self.excess), ExcessLossWarning, stacklevel=4)

    def _add(self, other: Self) -> None:
        test = deepcopy(other._test)
        for trial in other._trials:  # over: it has no open episodes, so none can lose more
            test.add(trial.lost, trial.allowed)
        self._test.merge(test)
        self.interventions += other.interventions

    def _saved(self) -> dict[str, Any]:
        places = {watch.trial: place for place, watch in enumerate(self._open_notes())}
        rows = [(trial.lost, trial.allowed, places.get(trial, -1)) for trial in self._trials]
        trials = np.array(rows, dtype=np.float64).reshape(-1, 3)
        counts = {"interventions": self.interventions, "excess": self._test.sums}
        return {**counts, "trials": trials, **super()._saved()}

    def _restore(self, saved: Mapping[str, Any]) -> None:
        self.interventions = check_int(saved["interventions"], "interventions", least=0, most=2**62)
        self._test.restore(saved["excess"])
        super()._restore(saved)
        watches = self._open_notes()
        self._trials, of_episodes = trials_of_rows(saved["trials"], len(watches))
        for place, trial in of_episodes.items():
            watches[place].trial = trial


def _allowed_loss(episode: LearnerEpisode, state: int) -> float:
    """Return what an episode should lose at most on average by its plan; infinite where nothing is said."""
    learner: Any = episode.learner
    plan = episode.plan
    if plan is None:
        return math.inf
    if isinstance(learner, LRCSSP):
        return float(policy_bounds(plausible(learner, episode.context), plan.policy).upper[state])
    return ALLOWANCE * float(careful_values(learner, episode.context, plan.policy)[state])


def careful_values(learner: RidgeLearner, context: NDArray[np.float64], policy: Ints) -> NDArray[np.float64]:
    """[S + 1] what a policy loses by the data: the estimate with what the ridge invents taken out of its rows, and the
    invented visits at a loss of 1. Infinite where it may come to a pair of which most visits are invented."""
    model, pull, support = estimated(learner, context), pull_of(learner, context), learner.support
    known = pull <= MOST_INVENTED
    kept = np.where(known, 1.0 - pull, 1.0)
    losses = np.maximum((model.losses + pull) / kept, learner.settings.loss_floor)
    triple_pair = np.repeat(np.arange(support.pairs), np.diff(support.next_start))
    to_goal = support.next_state == support.states
    # What a row lacks leads to the goal; where that cannot follow, to all next states alike.
    stays = np.isin(triple_pair, triple_pair[to_goal], invert=True)
    rows = np.where(stays, model.probabilities, model.probabilities / kept[triple_pair]) * ~to_goal
    sums = np.add.reduceat(rows, support.next_start[:-1])
    rows /= np.maximum(sums, 1.0)[triple_pair]
    rows[to_goal] = np.maximum(1.0 - sums[triple_pair[to_goal]], 0.0)
    unit = max(float(losses.max()), 1.0)
    followed = np.where(known[policy_pairs(support, policy)], policy, -1)
    return unit * values_in(SSP(support, losses / unit, rows), followed)


def checked_runbook(support: Support, runbook: Runbook) -> Ints:
    """[S] the action of each state, from numbers or names; an error names the argument."""
    try:
        pairs = policy_pairs(support, runbook)
    except InputError as error:
        raise type(error)(f"runbook: {error}") from None
    return set_readonly(support.pair_action[pairs].astype(np.int64))
