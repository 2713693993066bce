"""A learner that is monitored: what it sees is tested for changes of the world, and kept to learn from it again."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from goalbound.around.around import IN_CELLS, Around, AroundEpisode
from goalbound.around.detector import LESS, MORE, RUN_LENGTH, ChangeAlarm, ChangeDetector
from goalbound.confidence.statistics import checked_step
from goalbound.errors import ArgumentError, ChangeWarning, FileFormatError, LearnerError
from goalbound.learners.base import LearnerBase
from goalbound.learners.card import PROVEN, UNPROVEN, Card, LearnerCard, learner_card, united_caveats
from goalbound.learners.copying import deep_copy
from goalbound.learners.episode import LearnerEpisode
from goalbound.learners.layers import made_anew, unwrap
from goalbound.learners.steps import StepArrays, single_step
from goalbound.models import LinearCSSP, Step, Support
from goalbound.models.files.ranges import around as near
from goalbound.models.files.ranges import matching, within
from goalbound.models.support_match import match_support
from goalbound.models.validation import check_bool, check_int, check_memory, check_type
from goalbound.terminal import pluralize

__all__ = ["LESS", "MORE", "RUN_LENGTH", "ChangeAlarm", "ChangeDetector", "Monitored"]

WINDOW = 10_000
MOST_PIECES = 1000
"""The number of pieces of a window that are not joined yet, or a hundredth of its steps if that is more."""
SINCE_CHANGE = "only steps since a change were learned, and when that was is an estimate from their outcomes"
WINDOW_TYPES = {"window.contexts": "<f8", "window.pairs": "<i8", "window.places": "<i8", "window.losses": "<f8"}


def monitored_card(monitor: Any) -> LearnerCard:
    """Return the inner learner's card; nothing is proven while there is a change."""
    card = learner_card(monitor.inner)
    if monitor.change is None or card.guarantee != PROVEN:
        return card
    why = united_caveats(card.caveats, (f"the world has changed: {monitor.change}",))
    return replace(card, guarantee=UNPROVEN, theorem="", caveats=why)


class MonitoredEpisode(AroundEpisode):
    """An episode of the learner inside, whose outcomes are tested; all else is as it is there."""


class Monitored(Around):
    """Tests all that a learner sees for changes of the world; the learner inside acts and learns as it would alone.

    When an alarm is raised, a :class:`~goalbound.errors.ChangeWarning` says what has changed and since when, and
    :attr:`change` holds it. The learner goes on with what it has learned, old and new mixed, until you decide:
    :meth:`relearned` gives one that has forgotten what no longer holds, :meth:`acknowledge` keeps this one.

    Args:
        learner: any learner by ridge regression or without contexts, or one with something around it. What one by ridge
            regression has seen before is what outcomes are held against; it is not in the window.
        run_length: how many steps pass on average, at least, until there is a false alarm.
        window: so many of the last steps are kept, and saved, for :meth:`relearned`.
        model: the problem as it is before any change, where that is known.

    Guarantee: that of :class:`~goalbound.around.monitor.ChangeDetector`: the run length is proven with a ``model``,
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
    _what = "monitored learner"
    _given = ("run_length", "window")
    _array_types: ClassVar = {
        **{name: array.dtype.str for name, array in ChangeDetector(Support.full(1, 1), 1).arrays()},
        **WINDOW_TYPES,
    }
    _optional = ("change.overall",)  # not in files of 1.0
    _counted = ("logged_cases", "cases", *_array_types)
    _difference = "another run length or window"
    _episode_type = MonitoredEpisode

    def __init__(
        self, learner: Any, *, run_length: float = RUN_LENGTH, window: int = WINDOW, model: LinearCSSP | None = None
    ) -> None:
        base = check_type(unwrap(learner), LearnerBase, "learner", f"give a learner such as an LRCSSP; {IN_CELLS}")
        super().__init__(learner)
        seen = getattr(base, "statistics", None) if base._steps and model is None else None
        self.detector = ChangeDetector(
            base.support, base.context_size, run_length=run_length, model=model, statistics=seen
        )
        self.run_length = self.detector.run_length
        self.window = check_int(window, "window", least=0, most=2**40)
        check_memory(2 * self.window * (base.context_size + 3), f"window {self.window}")
        pairs, places = np.zeros((2, 0), dtype=np.int64)
        self._pieces = [StepArrays(np.zeros((0, base.context_size)), pairs, places, np.zeros(0))]
        self._logged_cases = 0
        self._cases = 0

    @property
    def change(self) -> ChangeAlarm | None:
        """The first alarm that was not acknowledged; None: there is none. All are in :attr:`alarms`."""
        return next(iter(self.alarms), None)

    @property
    def alarms(self) -> tuple[ChangeAlarm, ...]:
        """All alarms that were not acknowledged, the first one first."""
        return self.detector.alarms

    def acknowledge(self) -> None:
        """Go on after an alarm: the detector forgets what it knew of the pairs that have changed. The learner keeps
        all that it has learned."""
        self.detector.acknowledge()

    def learn(self, context: Any, step: Step) -> None:
        """Learn from a step that anyone made under a context; it is tested too."""
        with self._testing():
            super().learn(context, step)

    def learn_log(self, log: Iterable[tuple[Any, Step]]) -> int:
        """:meth:`learn` from ``(context, step)`` by ``(context, step)`` in the order of time; how many.

        A :class:`~goalbound.logs.Log` knows the cases of its steps, and they are counted; other logs have none.
        """
        with self._testing(getattr(log, "case_of", None)):
            return super().learn_log(log)

    @contextmanager
    def _testing(self, case_of: Any = None) -> Iterator[None]:
        """Test the steps that the learner inside learns meanwhile, of these cases."""
        with unwrap(self)._watched() as taken:
            try:
                yield
            finally:
                learned = sum(len(steps.pairs) for steps in taken)
                cases = np.full(learned, self._cases, dtype=np.int64)
                if case_of is not None and learned:
                    cases += np.asarray(case_of, dtype=np.int64)[:learned]
                    self._logged_cases += int(cases.max()) + 1 - self._cases
                for steps in taken:
                    of_steps, cases = np.split(cases, [len(steps.pairs)])
                    self._test(steps, of_steps)

    def _watch(self, episode: LearnerEpisode, step: Step | None, *, foreign: bool) -> None:
        if step is not None:
            pair, place = checked_step(episode.learner.support, step)
            steps = single_step(episode.context, pair, place, float(step[2]))
            self._test(steps, np.array([self._logged_cases + episode.number]))

    def _test(self, steps: StepArrays, cases: NDArray[np.int64]) -> None:
        """Hold steps that were learned against the forecasts, keep them, and warn of what has changed."""
        steps = _part(steps, slice(None))  # kernels are compiled for arrays that may be written to
        self._pieces.append(steps)
        raised = self.detector.enter(steps, cases)
        if len(self._pieces) > max(MOST_PIECES, min(self.detector.steps, self.window) // 100):
            self._pieces = [self._last_steps()]
        if len(cases):
            self._cases = max(self._cases, int(cases.max()) + 1)
        for alarm in self.alarms[-raised:] if raised else ():
            warnings.warn(str(alarm), ChangeWarning, stacklevel=5)

    def _last_steps(self) -> StepArrays:
        """Return the steps that are kept: the last ones of the window, or all if there were fewer."""
        whole = StepArrays._make(map(np.concatenate, zip(*self._pieces, strict=True)))
        return _part(whole, slice(max(len(whole.pairs) - self.window, 0), None))

    def relearned(self, *, since: int | None = None, keep_others: bool = True, fresh: Any = None) -> Monitored:
        """Return a monitored learner that has forgotten what the pairs with an alarm did before the change; this one
        stays as it is.

        Open episodes stay here: let them end, or ``begin`` them there. Nothing is proven of sets that are made from a
        window which was chosen by outcomes: the caveats say so.

        Args:
            since: the number of the first step to learn from; ``change.since_step`` if left out. The steps must still
                be in the window.
            keep_others: learn older steps of the window too, except those of pairs with an alarm. What else has changed
                unnoticed stays learned until it raises an alarm; with False all older steps are forgotten.
            fresh: the learner that learns, which has seen nothing; one with the settings of this one if left out.
        """
        alarms = self.alarms
        if since is None and not alarms:
            raise LearnerError("there is no change to learn from; give since=, the number of a step")
        number = min(alarm.since_step for alarm in alarms) if since is None else check_int(since, "since", least=0)
        kept, changed = self._last_steps(), [pair for alarm in alarms for pair in alarm.pairs]
        first = self.detector.steps - len(kept.pairs)
        if number < first:
            raise ArgumentError(
                f"the steps from {number} on are no longer kept, only those from {first} on (window={self.window}); "
                "learn from a log of them, learner.learn_log(log.window(first=...)), or use a larger window"
            )
        chosen = np.arange(first, self.detector.steps) >= number
        if check_bool(keep_others, "keep_others"):
            chosen |= ~np.isin(kept.pairs, changed)
        steps = _part(kept, chosen)
        again = self._again(made_anew(self.inner) if fresh is None else self._checked_fresh(fresh))
        base = unwrap(again)
        base._learn_steps(steps)
        base._caveats = united_caveats(unwrap(self).caveats, (SINCE_CHANGE,))
        base._after_learning()
        again._test(steps, np.zeros(len(steps.pairs), dtype=np.int64))
        return again

    def _checked_fresh(self, fresh: Any) -> Any:
        base, own = unwrap(fresh), unwrap(self)
        check_type(base, LearnerBase, "fresh", "give a learner such as the one inside")
        if base.support != own.support or base.context_size != own.context_size or base._steps:
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
        if isinstance(other, Monitored) and other.change is not None:
            raise LearnerError(
                f"other has an alarm: {other.change}. Its learner mixes what was before and after; merge its "
                "relearned(), or acknowledge() it there first"
            )
        super().merge(other)

    def _going_on(self, inner: Any, **given: Any) -> Self:
        """Return the same around another learner, on a larger support too: the detector and the window go on."""
        again, support = self._again(inner, **given), unwrap(inner).support
        again.detector, kept = deep_copy(self.detector), self._last_steps()
        if support != self.detector.support:
            again.detector = self.detector.extended(support)
            there = match_support(support, self.detector.support, name="the learner")
            kept = kept._replace(pairs=there.pairs[kept.pairs], places=there.triples[kept.places])
        again._pieces = [kept]
        again._logged_cases, again._cases = self._logged_cases, self._cases
        return again

    def _saved(self) -> dict[str, Any]:
        counts = {"logged_cases": self._logged_cases, "cases": self._cases}
        return counts | dict(self.detector.arrays()) | dict(zip(WINDOW_TYPES, self._last_steps(), strict=True))

    def _restore(self, saved: Mapping[str, Any]) -> None:
        self._logged_cases, self._cases = (
            check_int(saved[name], name, least=0, most=2**62) for name in ("logged_cases", "cases")
        )
        self.detector.restore(saved)
        steps = StepArrays._make(saved[name] for name in WINDOW_TYPES)
        size, count, kept = self.detector.context_size, self.detector.steps, len(steps.losses)
        if kept != min(count, self.window):
            raise FileFormatError(f"the window has {kept} steps; of {count} it keeps {min(count, self.window)}")
        for name, type in WINDOW_TYPES.items():
            matching(saved, name, (kept, size) if name == "window.contexts" else (kept,), type)
        support = self.detector.support
        within("window.pairs", steps.pairs, 0, support.pairs - 1)
        starts, ends = support.next_start[steps.pairs], support.next_start[steps.pairs + 1]
        within("window.places", steps.places, starts, ends - 1)
        within("window.losses", steps.losses, 0.0, 1.0)
        within("window.contexts", steps.contexts, 0.0, 2.0)
        within("window.contexts, summed,", steps.contexts.sum(axis=1), *near(1.0, 1e-9))
        self._pieces = [_part(steps, slice(None))]

    def __repr__(self) -> str:
        alarms = pluralize(self.detector.alarm_count, "alarm")
        return f"Monitored({self.inner!r}, run length {self.run_length:g}, {alarms})"


def _part(steps: StepArrays, which: slice | NDArray[np.bool_]) -> StepArrays:
    """Return a copy of some of the steps."""
    return StepArrays._make(np.array(column[which]) for column in steps)
