"""A learner that is monitored: what it sees is tested for changes of the world."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.around.apprentice import Apprentice
from goalbound.around.change import RUN_LENGTH, ChangeAlarm, ChangeDetector
from goalbound.around.episode_wrapper import EpisodeWrapper
from goalbound.around.guarded import Guarded
from goalbound.around.monitored_episode import MonitoredEpisode
from goalbound.around.step_window import ARRAY_TYPES, StepWindow
from goalbound.around.wrapper import InnerAttribute, inner_method, keep_what_it_says
from goalbound.errors import ArgumentError, ChangeWarning, FileFormatError, LearnerError
from goalbound.kernels.steps import StepArrays
from goalbound.learners.anew import made_anew
from goalbound.learners.base import LearnerBase
from goalbound.learners.card import PROVEN, UNPROVEN, Card, LearnerCard, learner_card
from goalbound.learners.caveats import united_caveats
from goalbound.learners.copying import deep_copy
from goalbound.learners.layers import unwrap
from goalbound.learners.step_log import StepReader, single_step
from goalbound.models import LinearCSSP, Step, Support
from goalbound.models.files.saved_files import SavedFiles
from goalbound.models.support_match import match_support
from goalbound.models.validation import check_bool, check_int, check_type
from goalbound.terminal import pluralize

WINDOW = 10_000
SINCE_CHANGE = "only steps since a change were learned, and when that was is an estimate from their outcomes"


def monitored_card(monitor: Any) -> LearnerCard:
    """That of the learner inside, of which nothing is proven while there is a change."""
    card = learner_card(monitor.inner)
    if monitor.change is None or card.guarantee != PROVEN:
        return card
    why = united_caveats(card.caveats, (f"the world has changed: {monitor.change}",))
    return replace(card, guarantee=UNPROVEN, theorem="", caveats=why)


class Monitored(EpisodeWrapper[MonitoredEpisode]):
    """Tests all that a learner sees for changes of the world; the learner inside acts and learns as it would alone.

    When an alarm is raised, a :class:`~goalbound.errors.ChangeWarning` says what has changed and since when, and
    :attr:`change` holds it. The learner goes on with what it has learned, old and new mixed, until you decide:
    :meth:`relearned` gives one that has forgotten what no longer holds, :meth:`acknowledge` keeps this one.

    Args:
        learner: any learner by ridge regression or without contexts; or an :class:`~goalbound.Apprentice` or
            :class:`~goalbound.Guarded` around one. Maps of covariates and units are put around the monitor.
        run_length: how many steps pass on average, at least, until there is a false alarm.
        window: so many of the last steps are kept, and saved, for :meth:`relearned`.
        model: the problem as it is before any change, where that is known.

    Guarantee: that of :class:`~goalbound.around.change.ChangeDetector`: the run length is proven with a ``model``,
    and measured without one.

    >>> from goalbound import GreedyRidge, Step, Support
    >>> monitor = Monitored(GreedyRidge(Support.from_pairs([{0: [0, 1], 1: [0, 1]}]), 1, loss_floor=0.1))
    >>> monitor.learn_log([([1.0], Step(0, 0, 0.2, 1))] * 300)  # action 0 led to the goal at once
    300
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     monitor.learn_log([([1.0], Step(0, 0, 0.2, 0))] * 20)  # and then it did not
    20
    >>> monitor.change.pairs, monitor.change.next_state, monitor.change.direction, monitor.change.since_step
    ((0,), 0, 'more', 300)
    >>> fresh = monitor.relearned()
    >>> fresh.statistics.visits, fresh.change
    (array([20,  0]), None)
    """

    card = Card(monitored_card)
    robust_plan = InnerAttribute("Its function that finds the safest policy.")
    plan = InnerAttribute("Its function of a context: what it would do now.")
    progress = InnerAttribute("The function of an apprentice inside: who would lead, and what is missing.")
    check_fits = InnerAttribute("Its function that says whether it can play a problem.")

    _kind, _what = "Monitored", "monitored learner"
    _keys = ("run_length", "window", "logged_cases", "cases")
    _difference = "another run length or window"
    _episode_type = MonitoredEpisode

    def __init__(
        self, learner: Any, *, run_length: float = RUN_LENGTH, window: int = WINDOW, model: LinearCSSP | None = None
    ) -> None:
        if not isinstance(learner, LearnerBase | Apprentice | Guarded):
            raise ArgumentError(
                f"learner is of the type {type(learner).__name__}; give a learner by ridge regression or without "
                "contexts, an Apprentice or a Guarded, and put maps, cells and units around the Monitored"
            )
        self.inner = learner
        self.detector = ChangeDetector(
            unwrap(learner).support, learner.context_size, run_length=run_length, model=model
        )
        self._window = StepWindow(check_int(window, "window", least=0, most=2**40), learner.context_size)
        self._one = single_step(np.zeros(learner.context_size), 0, 0, 0.0), np.zeros(1, dtype=np.int64)
        self._logged_cases = 0
        self._cases = 0
        self._files = SavedFiles()

    @property
    def change(self) -> ChangeAlarm | None:
        """The first alarm that was not acknowledged; None: there is none. All are in ``detector.alarms``."""
        alarms = self.detector.alarms
        return alarms[0] if alarms else None

    @property
    def alarms(self) -> tuple[ChangeAlarm, ...]:
        """All alarms that were not acknowledged, the first one first."""
        return self.detector.alarms

    def acknowledge(self) -> None:
        """Go on after an alarm: the detector forgets what it knew of the pairs that have changed. The learner keeps
        all that it has learned."""
        self.detector.acknowledge()

    def learn(self, context: ArrayLike, step: Step) -> None:
        """Learn from a step that anyone made under a context; it is tested too."""
        checked = unwrap(self)._checked_step(context, step)
        self.inner.learn(context, step)
        self._test_one(*checked, case=self._cases)

    def learn_log(self, log: Iterable[tuple[ArrayLike, Step]]) -> int:
        """:meth:`learn` from ``(context, step)`` by ``(context, step)`` in the order of time; how many.

        A :class:`~goalbound.logs.Log` knows the cases of its steps, and they are counted; other logs have none.
        """
        base, taken = unwrap(self), _Taken(log)
        before = base._steps
        try:
            learned: int = self.inner.learn_log(taken)
        except BaseException:
            self._test_log(taken, base._steps - before)
            raise
        self._test_log(taken, learned)
        return learned

    def _test_log(self, taken: _Taken, learned: int) -> None:
        cases = np.full(learned, self._cases, dtype=np.int64)
        of_log = getattr(taken.log, "case_of", None)
        if of_log is not None and learned:
            cases = self._cases + np.asarray(of_log, dtype=np.int64)[:learned]
            self._logged_cases += int(cases.max()) + 1 - self._cases
        first = 0
        for chunk in StepReader(unwrap(self)).chunks(taken.items[:learned]):
            last = first + len(chunk.steps.pairs)
            self._test(chunk.steps, cases[first:last])
            first = last

    def _test_one(self, context: NDArray[np.float64], pair: int, place: int, loss: float, *, case: int) -> None:
        """:meth:`_test` of a single step, in arrays that are used again: making new ones takes longer than the test."""
        steps, cases = self._one
        for column, value in zip((*steps, cases), (context, pair, place, loss, case), strict=True):
            column[0] = value
        self._test(steps, cases)

    def _test(self, steps: StepArrays, cases: NDArray[np.int64]) -> None:
        """Hold steps that were learned against the forecasts, keep them, and warn of what has changed."""
        self._window.add(steps)
        known = self.detector.enter(steps, cases)
        if len(cases):
            self._cases = max(self._cases, int(cases.max()) + 1)
        for alarm in self.detector.alarms[len(self.detector.alarms) - known :] if known else ():
            warnings.warn(str(alarm), ChangeWarning, stacklevel=5)

    def relearned(self, *, since: int | None = None, keep_others: bool = True, fresh: Any = None) -> Monitored:
        """A monitored learner that has forgotten what the pairs with an alarm did before the change; this one stays as
        it is.

        Open episodes stay here: let them end, or ``begin`` them anew there. Of sets that are made from a window which
        was chosen by outcomes nothing is proven: the caveats say so.

        Args:
            since: the number of the first step to learn from; ``change.since_step`` if left out. The steps must still
                be in the window.
            keep_others: learn older steps of the window too, except those of pairs with an alarm. What else has changed
                unnoticed stays learned until it raises an alarm of its own; with False all older steps are forgotten.
            fresh: the learner that learns, which has seen nothing; one with the settings of this one if left out.
        """
        alarms = self.detector.alarms
        if since is None and not alarms:
            raise LearnerError("there is no change to learn anew from; give since=, the number of a step")
        number = min(one.since_step for one in alarms) if since is None else check_int(since, "since", least=0)
        learner = made_anew(self.inner) if fresh is None else self._checked_fresh(fresh)
        found = Monitored(learner, run_length=self.detector.run_length, window=self._window.size)
        steps = self._window.since(number)
        if check_bool(keep_others, "keep_others"):
            kept, changed = self._window.last(), [pair for one in alarms for pair in one.pairs]
            new = np.arange(self._window.first, self._window.count) >= number
            steps = _chosen(kept, new | ~np.isin(kept.pairs, changed))
        base = unwrap(learner)
        base._learn_steps(steps)
        base._caveats = united_caveats(unwrap(self).caveats, (SINCE_CHANGE,))
        base._after_learning()
        found._test(steps, np.zeros(len(steps.pairs), dtype=np.int64))
        return found

    def _checked_fresh(self, fresh: Any) -> Any:
        if not isinstance(fresh, LearnerBase | Apprentice | Guarded):
            raise ArgumentError(f"fresh is of the type {type(fresh).__name__}; give a learner such as the one inside")
        base = unwrap(fresh)
        if base.support != self.support or base.context_size != self.context_size or base._steps:
            raise ArgumentError(
                f"fresh is {fresh!r:.200}; it needs this support and context size, and has seen nothing"
            )
        return fresh

    def merge(self, other: Monitored) -> None:
        """Add what the learner inside another monitor has learned, as the learners inside do.

        Changes are found in the order of time, which the steps of two monitors do not have. So the detector, and the
        window of :meth:`relearned`, go on with the steps that were seen here: what is said of false alarms holds as
        before, and changes that only the other saw are found by the other. Its change is to be settled there first.
        """
        check_type(other, Monitored, "other", "give a monitored learner, or merge the learners inside")
        if other.change is not None:
            raise LearnerError(
                f"other has an alarm: {other.change}. Its learner mixes what was before and after; merge its "
                "relearned(), or acknowledge() it there first"
            )
        inner_method(self.inner, "merge")(other.inner)

    def extended(self, support: Support, **others: Any) -> Monitored:
        """The learner on a larger support, with the same detector and window; this one stays as it is. ``others`` are
        what the learner's own ``extended`` takes besides, as the ``runbook`` of a guard.

        What the detector knows of a pair stays, if its next states are the same as before. New pairs, and pairs with
        new next states, begin anew: nothing says how often these are to follow.
        """
        detector = self.detector.extended(support)
        found = Monitored(
            inner_method(self.inner, "extended")(support, **others),
            run_length=self.detector.run_length, window=self._window.size,
        )  # fmt: skip
        found.detector = detector
        found._window = self._window.moved(match_support(support, self.support, name="the learner"))
        found._logged_cases, found._cases = self._logged_cases, self._cases
        return found

    def with_settings(self, **settings: Any) -> Monitored:
        """The learner under other settings, with the same detector; for learners that have ``with_settings``."""
        found: Monitored = deep_copy(self)
        found.inner = inner_method(self.inner, "with_settings")(**settings)
        found._files = SavedFiles()
        return found

    def _anew(self, learner: Any) -> Self:
        return type(self)(learner, run_length=self.detector.run_length, window=self._window.size)

    def _made_like(self, other: Monitored) -> bool:
        mine, theirs = ((one.detector.run_length, one._window.size) for one in (self, other))
        return mine == theirs

    def _header(self) -> dict[str, Any]:
        return {
            "run_length": self.detector.run_length, "window": self._window.size, "logged_cases": self._logged_cases,
            "cases": self._cases,
        }  # fmt: skip

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {**dict(self.detector.arrays()), **self._window.arrays()}

    @classmethod
    def _array_types(cls) -> dict[str, str]:
        return {**ChangeDetector.array_types(), **ARRAY_TYPES}

    @classmethod
    def _from_file(cls, inner: Any, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        if type(header["run_length"]) is not float or not math.isfinite(header["run_length"]):
            raise FileFormatError(f"run_length is {header['run_length']!r:.80}; it is a number with a point")
        for name in cls._keys[1:]:
            if type(header[name]) is not int or not 0 <= header[name] < 2**62:
                raise FileFormatError(f"{name} is {header[name]!r:.80}; it is a whole number, not negative")
        monitor = cls(inner, run_length=header["run_length"], window=header["window"])
        monitor.detector.restore(arrays)
        monitor._window.restore(arrays, monitor.detector.steps, inner.support)
        monitor._logged_cases, monitor._cases = header["logged_cases"], header["cases"]
        return monitor

    def __repr__(self) -> str:
        alarms = pluralize(self.detector.alarm_count, "alarm")
        return f"Monitored({self.inner!r}, run length {self.detector.run_length:g}, {alarms})"


class _Taken:
    """A log that remembers what was taken from it."""

    def __init__(self, log: Any) -> None:
        self.log, self.items = log, list[Any]()
        keep_what_it_says(self, log)
        try:
            self._iterator = iter(log)
        except TypeError:
            raise ArgumentError(
                f"the log is of the type {type(log).__name__}; give something that iterates over (context, step)"
            ) from None

    def __iter__(self) -> Iterator[Any]:
        for item in self._iterator:
            self.items.append(item)
            yield item


def _chosen(steps: StepArrays, which: NDArray[np.bool_]) -> StepArrays:
    return StepArrays._make(np.ascontiguousarray(column[which]) for column in steps)
