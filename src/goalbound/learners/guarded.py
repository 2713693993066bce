"""A learner whose episodes a runbook brings to their end when they take too long or lose too much."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from os import PathLike
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ArgumentError, ExcessLossWarning, FileFormatError
from goalbound.learners.base import LearnerBase
from goalbound.learners.card import Card, guarded_card
from goalbound.learners.core import RidgeLearner
from goalbound.learners.episode import LearnerEpisode
from goalbound.learners.excess_loss import ExcessLoss, ExcessLossTest
from goalbound.learners.guarded_episode import GuardedEpisode, Watch
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.runbook import checked_runbook, wrapped_learner_error
from goalbound.learners.wrapper import InnerAttribute, Wrapper, bytes_of, loaded_from
from goalbound.models import Step
from goalbound.models.files.array_file import FORMAT, check_keys, check_present, read_array_file, write_array_file
from goalbound.models.files.io import LIMIT, as_format_errors
from goalbound.models.files.saved_files import SavedFiles
from goalbound.models.validation import check_float, check_int, check_type, short_repr

KIND, VERSION = "Guarded", 1
_KEYS = ("after_steps", "after_loss", "interventions", "episodes")
_ARRAYS = {"learner": "|u1", "runbook": "<i8", "excess": "<f8"}
ALLOWANCE = 1.5
"""By what the estimate of a plan is multiplied before losses above it count as excess: plans are chosen because their
estimates are low."""

Ints = NDArray[np.int64]


class Guarded(Wrapper):
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
            [0, 1]: ``scale.from_unit`` converts single losses. None: however much it is.

    Guarantee: none of the regret is proven. An episode that its people never override plays the learner for at most
    ``after_steps`` steps and, before its last one, for a loss below ``after_loss``; what follows is what the runbook
    loses. Where the upper bounds of plans hold, and plans are not replaced within episodes, a false
    :attr:`excess` comes once in 10,000 episodes or more, on average. What a plan allows for is computed once in an
    episode, at its first ``act``: some milliseconds on problems of a few states.

    >>> from goalbound import GreedyRidge, Support
    >>> guarded = Guarded(GreedyRidge(Support.full(1, 2), 1, loss_floor=0.1), [1], after_steps=2)
    >>> episode = guarded.begin([1.0])
    >>> for _ in range(2):
    ...     episode.observe((0, episode.act(0), 0.5, 0))  # nothing helps
    >>> episode.act(0), episode.guarded, guarded.interventions
    (1, True, 1)
    """

    card = Card(guarded_card)
    settings = InnerAttribute("The settings of the learner inside.")
    context_size = InnerAttribute("d")
    confidence_set = InnerAttribute("Its function of a context: what is plausible.")
    policy_bounds = InnerAttribute("Its function that bounds what a policy loses.")
    robust_plan = InnerAttribute("Its function that finds the safest policy.")
    explain = InnerAttribute("Its function that says why it would play an action.")
    plan = InnerAttribute("Its function of a context: what it would do now.")
    check_fits = InnerAttribute("Its function that says whether it can play a problem.")

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
        self.inner: Any = check_type(
            learner, LearnerBase, "learner", "give a learner by ridge regression or without contexts, such as an LRCSSP"
        )
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
        self._watches: WeakKeyDictionary[LearnerEpisode, Watch] = WeakKeyDictionary()
        self._files = SavedFiles()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_watches": list(self._watches.items())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "_watches": WeakKeyDictionary(state["_watches"])})

    def begin(self, context: ArrayLike, *, id: str | int | None = None) -> GuardedEpisode:
        """An episode under a context; ``id`` is a name of yours, by which :meth:`episode` finds it."""
        return GuardedEpisode(self, self.inner.begin(context, id=id))

    @property
    def open_episodes(self) -> tuple[GuardedEpisode, ...]:
        """The episodes that were begun, have not ended and are held by someone, in the order of begin."""
        return tuple(GuardedEpisode(self, one) for one in self.inner.open_episodes)

    def episode(self, id: str | int) -> GuardedEpisode:
        """The open episode that was begun with this id."""
        return GuardedEpisode(self, self.inner.episode(id))

    def learn(self, context: ArrayLike, step: Step) -> None:
        """Learn from a step that anyone made under a context."""
        self.inner.learn(context, step)

    def learn_log(self, log: Iterable[tuple[ArrayLike, Step]]) -> int:
        """:meth:`learn` from ``(context, step)`` by ``(context, step)`` in the order of time; how many."""
        learned: int = self.inner.learn_log(log)
        return learned

    @property
    def excess(self) -> ExcessLoss | None:
        """By how much episodes lose more than their plans allow for; None: that was not found."""
        return self._test.excess(by_bounds=self._by_bounds)

    def acknowledge(self) -> None:
        """Go on after a warning: the test of the losses begins anew."""
        self._test.restart()

    def with_settings(self, **settings: Any) -> Guarded:
        """A guard of the same runbook and limits whose learner has other settings, and all that this one has seen."""
        found = self._anew(self.inner.with_settings(**settings))
        found.interventions = self.interventions
        found._test.restore(self._test.sums)
        return found

    def _anew(self, learner: Any) -> Guarded:
        """Another learner with this runbook and these limits."""
        return Guarded(learner, self.runbook, after_steps=self.after_steps, after_loss=self.after_loss)

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

    def _begin_trial(self, episode: LearnerEpisode, state: int) -> None:
        """An episode has its plan, and nothing has happened yet: what it should lose at most is settled."""
        allowed, plan = math.inf, episode.plan
        if self._by_bounds and plan is not None:
            allowed = float(self.inner.policy_bounds(episode.context, plan.policy).upper[state])
        elif isinstance(self.inner, RidgeLearner) and plan is not None:
            model = self.inner._estimated(episode.context)
            allowed = ALLOWANCE * float(self.inner._estimated_values(model, plan.policy)[state])
        trial = allowed if 0.0 < allowed < math.inf else None
        self._watches[episode] = replace(self._watch_of(episode), allowed=trial, tried=True)

    def _end_trial(self, episode: LearnerEpisode) -> None:
        """What an episode lost by its plan is settled."""
        watch = self._watch_of(episode)
        self._watches[episode] = replace(watch, allowed=None)
        if watch.allowed is not None and self._test.add(watch.loss, watch.allowed):
            warnings.warn(str(self.excess), ExcessLossWarning, stacklevel=4)

    def _count(self, episode: LearnerEpisode, loss: float) -> None:
        watch = self._watch_of(episode)
        self._watches[episode] = replace(watch, steps=watch.steps + 1, loss=watch.loss + loss)

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the learner, the runbook, the limits, the counts and what each open episode has lost to one file.

        A file that this one neither read nor wrote is replaced only with ``overwrite``.
        """
        header = {
            "format": FORMAT, "version": VERSION, "kind": KIND, "after_steps": self.after_steps,
            "after_loss": self.after_loss, "interventions": self.interventions,
            "episodes": [self._watch_of(one).as_json() for one in self.inner.open_episodes],
        }  # fmt: skip
        arrays: dict[str, NDArray[Any]] = {
            "learner": bytes_of(self.inner), "runbook": self.runbook, "excess": self._test.sums,
        }  # fmt: skip
        write_array_file(path, header, arrays, files=self._files, overwrite=overwrite)

    @classmethod
    def load(
        cls, path: str | PathLike[str], *, load_learner: Callable[..., Any] = LRCSSP.load, limit: int = LIMIT
    ) -> Self:
        """Read what :meth:`save` wrote; it goes on bit for bit, in the middle of an episode too.

        Args:
            path: the file.
            load_learner: reads the learner's own file, from its path (and ``limit=``): ``GreedyRidge.load``, ...
            limit: the most bytes that the file may have.
        """
        files = SavedFiles()
        header, arrays = read_array_file(
            path, kind=KIND, versions=[VERSION], arrays=_ARRAYS, what="guarded learner", limit=limit, files=files
        )
        with as_format_errors(path, "guarded learner"):
            check_keys(header, _KEYS)
            check_present(arrays, list(_ARRAYS))
            inner = loaded_from(arrays["learner"], load_learner, limit=limit)
            limits = {name: header[name] for name in ("after_steps", "after_loss")}
            guarded = cls(inner, arrays["runbook"], **limits)
            guarded.interventions = check_int(header["interventions"], "interventions", least=0, most=2**62)
            guarded._test.restore(arrays["excess"])
            entries, opened = header["episodes"], inner.open_episodes
            if not isinstance(entries, list) or len(entries) != len(opened):
                raise FileFormatError(f"episodes is {entries!r:.100}; the learner has {len(opened)} open ones")
            for episode, entry in zip(opened, entries, strict=True):
                guarded._watches[episode] = Watch.from_json(entry)
        guarded._files = files
        return guarded

    def restored(self, path: str | PathLike[str], *, limit: int = LIMIT) -> Self:
        """:meth:`load`, for a file whose guard has the runbook, limits and learner's settings of this one."""
        again = self.load(path, load_learner=self.inner.restored, limit=limit)
        mine, theirs = ((one.after_steps, one.after_loss) for one in (self, again))
        if not np.array_equal(again.runbook, self.runbook) or mine != theirs:
            raise FileFormatError(f"{path}: the guard in it has another runbook or other limits than this one")
        return again

    def __repr__(self) -> str:
        limits = [] if self.after_steps is None else [f"after {self.after_steps} steps"]
        limits += [] if self.after_loss is None else [f"after a loss of {self.after_loss:g}"]
        return f"Guarded({self.inner!r}, {', '.join(limits)}, {self.interventions} interventions)"
