"""A learner whose episodes a runbook brings to their end when they take too long or lose too much."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.around.episode_wrapper import EpisodeWrapper
from goalbound.around.excess_loss import ExcessLoss, ExcessLossTest
from goalbound.around.guarded_episode import GuardedEpisode, Watch
from goalbound.around.guarded_trials import TrialQueue
from goalbound.around.runbook import checked_runbook, extended_runbook, wrapped_learner_error
from goalbound.around.wrapper import InnerAttribute, Wrapper, inner_method
from goalbound.errors import ArgumentError, ExcessLossWarning, FileFormatError
from goalbound.learners.base import LearnerBase
from goalbound.learners.card import Card, guarded_card
from goalbound.learners.core import RidgeLearner
from goalbound.learners.episode import LearnerEpisode
from goalbound.learners.explanation import OWN_PLAN, Explanation
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.models import Support
from goalbound.models.files.saved_files import SavedFiles
from goalbound.models.validation import check_float, check_int, check_type, short_repr
from goalbound.terminal import pluralize

ALLOWANCE = 1.5
"""By what the estimate of a plan is multiplied before losses above it count as excess: plans are chosen because their
estimates are low."""

Ints = NDArray[np.int64]


class Guarded(EpisodeWrapper[GuardedEpisode]):
    """Acts as a learner does, until an episode takes too many steps or loses too much; from there on a runbook acts, to
    the end of the episode. The learner learns from all steps.

    It also tests whether episodes lose more than their plans allow for: the upper bound of the plan where the learner
    has confidence sets, 1.5 times the estimate of the plan where it has none. Where they do, an
    :class:`~goalbound.errors.ExcessLossWarning` says so once, and :attr:`excess` holds it.

    Args:
        learner: any learner by ridge regression or without contexts. Maps and units, and ``Monitored``, are put around
            the guard.
        runbook: an action for each state, by numbers or names, as :func:`goalbound.policy_bounds` takes it. It should
            reach the goal by itself.
        after_steps: the runbook acts after so many steps of an episode; None: however many there are.
        after_loss: the runbook acts once an episode has lost so much, on the scale of the learner, whose losses are in
            [0, 1]: ``scale.total_from_unit(120)`` converts. None: however much it is.

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
    robust_plan = InnerAttribute("Its function that finds the safest policy.")
    plan = InnerAttribute("Its function of a context: what it would do now.")
    check_fits = InnerAttribute("Its function that says whether it can play a problem.")

    _kind, _what, _version, _since = "Guarded", "guarded learner", 2, {"trials": 2}
    _keys = ("after_steps", "after_loss", "interventions", "episodes")
    _difference = "another runbook or other limits"
    _episode_type = GuardedEpisode

    def __init__(
        self,
        learner: Any,
        runbook: ArrayLike | Mapping[Any, Any],
        *,
        after_steps: int | None = None,
        after_loss: float | None = None,
    ) -> None:
        if isinstance(learner, Wrapper):
            raise ArgumentError(wrapped_learner_error(learner, "Guarded"))
        remedy = "give a learner without wrappers, such as an LRCSSP, and put cells of contexts around the Guarded"
        self.inner: Any = check_type(learner, LearnerBase, "learner", remedy)
        if after_steps is None and after_loss is None:
            raise ArgumentError("neither after_steps nor after_loss is given; give a limit, or use the learner alone")
        self.after_steps = None if after_steps is None else check_int(after_steps, "after_steps", least=0)
        self.after_loss = (
            None if after_loss is None else check_float(after_loss, "after_loss", "the loss of an episode")
        )
        if self.after_loss is not None and not 0.0 <= self.after_loss < math.inf:
            raise ArgumentError(f"after_loss is {short_repr(after_loss)}; it is a finite loss of an episode, from 0 on")
        self.runbook: Ints = checked_runbook(learner.support, runbook)
        """[S] the action of each state."""
        self.interventions = 0
        """In how many episodes the runbook has stepped in."""
        self._test = ExcessLossTest()
        self._trials = TrialQueue()
        self._watches: WeakKeyDictionary[LearnerEpisode, Watch] = WeakKeyDictionary()
        self._files = SavedFiles()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_watches": list(self._watches.items())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "_watches": WeakKeyDictionary(state["_watches"])})
        for episode, watch in self._watches.items():
            if watch.trial is not None:
                self._trials.watch(watch.trial, episode)

    @property
    def excess(self) -> ExcessLoss | None:
        """By how much episodes lose more than their plans allow for; None: that was not found."""
        return self._test.excess(by_bounds=self._by_bounds)

    def explain(self, context: ArrayLike, state: int | str) -> Explanation:
        """Why an episode that begins in a state under a context would play what it plays there.
        ``episode.explain()`` is about one that has begun, which the runbook may have taken over."""
        found: Explanation = inner_method(self.inner, "explain")(context, state)
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

    def acknowledge(self) -> None:
        """Go on after a warning: the test of the losses begins anew, with the episodes that begin from here on."""
        self._test.restart()
        self._trials.clear()

    def merge(self, other: Guarded) -> None:
        """Add what another guard of the same runbook and limits has seen, as the learners inside do, and its counts.

        The sums of both tests of the losses add up: what is said of a false :attr:`excess` holds for the episodes of
        both together (:meth:`ExcessLossTest.merge <goalbound.around.excess_loss.ExcessLossTest.merge>`).
        """
        check_type(other, Guarded, "other", "give a guard with the same runbook and limits")
        if not self._made_like(other):
            raise ArgumentError(f"other has {self._difference}; merge the learners inside instead: inner.merge(...)")
        inner_method(self.inner, "merge")(other.inner)
        self.interventions += other.interventions
        if self._test.merge(other._settled_test()):
            warnings.warn(str(self.excess), ExcessLossWarning, stacklevel=2)

    def extended(self, support: Support, *, runbook: ArrayLike | Mapping[Any, Any] | None = None) -> Guarded:
        """A guard on a larger support, with all that this one has seen; this one stays as it is.

        ``runbook`` is needed where there are new states; left out, it is that of this one. The count of interventions
        and the test of the losses go on.
        """
        learner = inner_method(self.inner, "extended")(support)
        return self._around(learner, extended_runbook(self.support, self.runbook, support, runbook))

    def with_settings(self, **settings: Any) -> Guarded:
        """A guard of the same runbook and limits whose learner has other settings, and all that this one has seen."""
        return self._around(inner_method(self.inner, "with_settings")(**settings), self.runbook)

    def _anew(self, learner: Any) -> Self:
        return type(self)(learner, self.runbook, after_steps=self.after_steps, after_loss=self.after_loss)

    def _around(self, learner: Any, runbook: ArrayLike | Mapping[Any, Any]) -> Guarded:
        """Another learner with these limits, counts and sums."""
        found = Guarded(learner, runbook, after_steps=self.after_steps, after_loss=self.after_loss)
        found.interventions = self.interventions
        found._test = self._settled_test()
        return found

    def _settled_test(self) -> ExcessLossTest:
        """The test with all that waits: no episode is open, so none can lose more."""
        found = ExcessLossTest()
        found.restore(self._test.sums)
        for trial in self._trials.trials:
            found.add(trial.lost, trial.allowed)
        return found

    @property
    def _by_bounds(self) -> bool:
        return isinstance(self.inner, LRCSSP)

    def _watch_of(self, episode: LearnerEpisode) -> Watch:
        return self._watches.get(episode, Watch())

    def _exceeds(self, watch: Watch) -> bool:
        """Whether an episode is beyond a limit."""
        too_long = self.after_steps is not None and watch.steps >= self.after_steps
        return too_long or (self.after_loss is not None and watch.loss >= self.after_loss)

    def _step_in(self, episode: LearnerEpisode) -> None:
        """The runbook acts from here on."""
        self.interventions += 1
        self._end_trial(episode)
        self._watches[episode] = replace(self._watch_of(episode), guarded=True)

    def _is_planned(self, episode: LearnerEpisode, state: int, action: int) -> bool:
        """Whether an action is that of the plan of the episode; others are played where that is not allowed."""
        if not isinstance(self.inner, RidgeLearner):
            return True  # it has no trials
        return int(episode._arrays.iteration.policy[state]) == self.support.pair(state, action)

    def _begin_trial(self, episode: LearnerEpisode, state: int, *, as_planned: bool) -> None:
        """An episode has its plan, and nothing has happened yet: what it should lose at most is settled.

        One that does not begin ``as_planned`` is no trial. That is known before its first outcome, so those that are
        left are not selected by what they lose. Later ones end where they leave their plan, with what they have lost.
        """
        allowed, plan = math.inf, episode.plan if as_planned else None
        if self._by_bounds and plan is not None:
            allowed = float(self.inner.policy_bounds(episode.context, plan.policy).upper[state])
        elif isinstance(self.inner, RidgeLearner) and plan is not None:
            model = self.inner._estimated(episode.context)
            allowed = ALLOWANCE * float(self.inner._estimated_values(model, plan.policy)[state])
        trial = self._trials.begin(allowed, episode) if 0.0 < allowed < math.inf else None
        self._watches[episode] = replace(self._watch_of(episode), trial=trial, tried=True)

    def _end_trial(self, episode: LearnerEpisode) -> None:
        """What an episode lost by its plan is settled; it counts once all that began earlier are."""
        watch = self._watch_of(episode)
        if watch.trial is None:
            return
        self._watches[episode] = replace(watch, trial=None)
        self._trials.end(watch.trial)
        for trial in self._trials.settled():
            if self._test.add(trial.lost, trial.allowed):
                warnings.warn(str(self.excess), ExcessLossWarning, stacklevel=4)

    def _count(self, episode: LearnerEpisode, loss: float) -> None:
        watch = self._watch_of(episode)
        self._watches[episode] = replace(watch, steps=watch.steps + 1, loss=watch.loss + loss)
        if watch.trial is not None and not watch.trial.ended:
            watch.trial.lost += loss

    def _made_like(self, other: Guarded) -> bool:
        mine, theirs = ((one.after_steps, one.after_loss) for one in (self, other))
        return mine == theirs and bool(np.array_equal(other.runbook, self.runbook))

    def _header(self) -> dict[str, Any]:
        return {
            "after_steps": self.after_steps, "after_loss": self.after_loss, "interventions": self.interventions,
            "episodes": [self._watch_of(one).as_json() for one in self.inner.open_episodes],
        }  # fmt: skip

    def _arrays(self) -> dict[str, NDArray[Any]]:
        trials = ((self._watch_of(one).trial, place) for place, one in enumerate(self.inner.open_episodes))
        places = {id(trial): place for trial, place in trials if trial is not None}
        return {"runbook": self.runbook, "excess": self._test.sums, "trials": self._trials.array(places)}

    @classmethod
    def _array_types(cls) -> dict[str, str]:
        return {"runbook": "<i8", "excess": "<f8", "trials": "<f8"}

    @classmethod
    def _from_file(cls, inner: Any, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        guarded = cls(
            inner, arrays["runbook"], after_steps=header["after_steps"], after_loss=header["after_loss"]
        )  # fmt: skip
        guarded.interventions = check_int(header["interventions"], "interventions", least=0, most=2**62)
        guarded._test.restore(arrays["excess"])
        entries, opened = header["episodes"], inner.open_episodes
        if not isinstance(entries, list) or len(entries) != len(opened):
            raise FileFormatError(f"episodes is {entries!r:.100}; the learner has {len(opened)} open ones")
        watches = [Watch.from_json(entry) for entry in entries]
        trials = arrays.get("trials")
        if trials is None:  # version 1 had no queue: those that are open count in the order in which they began
            compared = [(one.loss, one.trial.allowed, at) for at, one in enumerate(watches) if one.trial is not None]
            trials = np.array(compared, dtype=np.float64).reshape(len(compared), 3)
        found = guarded._trials.restore(trials, list(opened))
        for place, (episode, watch) in enumerate(zip(opened, watches, strict=True)):
            guarded._watches[episode] = replace(watch, trial=found.get(place))
        return guarded

    def __repr__(self) -> str:
        limits = [] if self.after_steps is None else [f"after {pluralize(self.after_steps, 'step')}"]
        limits += [] if self.after_loss is None else [f"after a loss of {self.after_loss:g}"]
        return f"Guarded({self.inner!r}, {', '.join(limits)}, {pluralize(self.interventions, 'intervention')})"
