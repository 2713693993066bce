"""A learner that is monitored: what it sees is tested for changes of the world, and kept to learn from it again."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.around.around import Around, AroundEpisode
from goalbound.around.change_kernels import (
    NO_ALARM,
    RATIOS,
    detect_changes,
    new_change_sums,
    new_change_workspace,
    restart_pair,
)
from goalbound.around.runbook import IN_CELLS
from goalbound.confidence.statistics import checked_step
from goalbound.errors import ArgumentError, ChangeWarning, FileFormatError, LearnerError
from goalbound.jit.compile import Effort
from goalbound.jit.records import named_arrays
from goalbound.learners.base import LearnerBase
from goalbound.learners.card import PROVEN, UNPROVEN, Card, LearnerCard, learner_card, united_caveats
from goalbound.learners.copying import copied_state, deep_copy, restore_state
from goalbound.learners.episode import LearnerEpisode
from goalbound.learners.layers import made_anew, unwrap
from goalbound.learners.steps import StepArrays, single_step
from goalbound.models import LinearCSSP, Step, Support
from goalbound.models.support import SUPPORT_REMEDY
from goalbound.models.support_match import SupportMatch, match_support
from goalbound.models.validation import (
    check_bool,
    check_distribution,
    check_float,
    check_int,
    check_memory,
    check_type,
    short_repr,
)
from goalbound.terminal import pluralize

RUN_LENGTH = 10_000
WINDOW = 10_000
MOST_PARTS = 1000
"""The number of pieces of a window that are not joined yet, or a hundredth of its steps if that is more."""
MORE, LESS = "more", "less"
_GIVEN_MEANS = "change.given_means"
SINCE_CHANGE = "only steps since a change were learned, and when that was is an estimate from their outcomes"
WINDOW_TYPES = {"window.contexts": "<f8", "window.pairs": "<i8", "window.places": "<i8", "window.losses": "<f8"}


@dataclass(frozen=True)
class ChangeAlarm:
    """What has changed, in which direction, and since when.

    Attributes:
        pairs: the pairs that have changed: one, or all with the action.
        action: the action, where all its pairs have changed together; None: a single pair.
        next_state: the next state that follows more or less often; None: the loss.
        direction: ``more`` or ``less``.
        since_step: the estimated change: how many of all steps that were seen came before it.
        since_case: how many cases had begun before it.
        step, case: likewise when the alarm was raised.
        visits: how many of the pairs' visits came since the change.
        expected: how often the next state was expected in them, or the loss that was expected in all.
        observed: how often it followed, or the loss.
        evidence: R, the Shiryaev-Roberts sum, which the run length was compared with.
        support: for names.
    """

    pairs: tuple[int, ...]
    action: int | None
    next_state: int | None
    direction: str
    since_step: int
    since_case: int
    step: int
    case: int
    visits: int
    expected: float
    observed: float
    evidence: float
    support: Support

    def __str__(self) -> str:
        where = (
            self.support.pair_name(self.pairs[0])
            if self.action is None
            else f"{self.support.action_name(self.action)} in all states"
        )
        if self.next_state is None:
            found = (
                f"its loss is {'higher' if self.direction == MORE else 'lower'} than before: "
                f"{self.observed / self.visits:.3g} on average in {self.visits} visits, where "
                f"{self.expected / self.visits:.3g} was expected"
            )
        else:
            found = (
                f"{self.support.state_name(self.next_state)} follows {self.direction} often than before: "
                f"{self.observed:.0f} times in {self.visits} visits, where {self.expected:.1f} were expected"
            )
        return (
            f"{where}: {found}; since about case {self.since_case} (step {self.since_step}), noticed in case "
            f"{self.case} (step {self.step}). What was learned of it before no longer holds: relearned() gives a "
            "learner that has forgotten it, acknowledge() goes on as before"
        )


class ChangeDetector:
    """Notices when a loss, or how often a next state follows, is no longer what it was.

    Each outcome is held against a forecast that was made from earlier ones. Shiryaev-Roberts sums of likelihood ratios
    (:mod:`goalbound.around.change_kernels`) weigh it against odds that are 1/8, 0.4, 2.5 and 8 times as high, for
    every pair, and for every action over all its pairs.

    Args:
        support: the pairs, and where each may lead.
        context_size: d
        run_length: how many steps pass on average, at least, until there is a false alarm.
        model: the problem as it is before any change, where that is known; None: it is estimated.

    Guarantee: with a ``model`` that is right, the mean number of steps until a false alarm is at least ``run_length``,
    and n steps raise one with probability n / run_length at most, whoever chooses the actions by what was seen before.
    Without one nothing is proven, as the forecasts are estimates. On incident-recovery there was less than one false
    alarm in 100,000 steps at a ``run_length`` of 10,000 (docs/how_to/change.md). Outcomes are to be entered in an order
    that does not depend on them. A step costs O(d^2 + m (d + 4)) for the m next states of its pair.

    >>> from goalbound import Step, Support
    >>> detector = ChangeDetector(Support.from_pairs([{0: [0, 1]}]), 1, run_length=1000)
    >>> for number in range(200):  # the goal, state 1, in 4 of 5 cases
    ...     detector.observe([1.0], Step(0, 0, 0.2, 0 if number % 5 == 0 else 1), case=number)
    >>> detector.alarms
    ()
    >>> for number in range(200, 230):  # and then never
    ...     detector.observe([1.0], Step(0, 0, 0.2, 0), case=number)
    >>> alarm = detector.alarms[0]
    >>> alarm.next_state, alarm.direction, alarm.since_case, alarm.case
    (0, 'more', 200, 207)
    """

    def __init__(
        self, support: Support, context_size: int, *, run_length: float = RUN_LENGTH, model: LinearCSSP | None = None
    ) -> None:
        self.support = check_type(support, Support, "support", SUPPORT_REMEDY)
        self.context_size = check_int(context_size, "context_size", least=1, most=2**31)
        self.run_length = check_float(run_length, "run_length", "steps until a false alarm, on average")
        if not 1.0 < self.run_length < math.inf:
            raise ArgumentError(
                f"run_length is {short_repr(run_length)}; it is a finite number of steps above 1, such as {RUN_LENGTH}"
            )
        check_memory(support.pairs * context_size**2 + support.triples * context_size, f"context_size {context_size}")
        self._sums = new_change_sums(support.actions, support.next_start, self.context_size)
        if model is not None:
            self._sums.given[:] = True
            self._sums = self._sums._replace(given_means=self._means_of(model))
        self._work = new_change_workspace(
            support.pair_action, support.next_start, support.next_state, support.states, self.context_size
        )
        self._effort = Effort()

    __getstate__ = copied_state
    __setstate__ = restore_state
    __copy__ = deep_copy

    def _means_of(self, model: object) -> NDArray[np.float64]:
        problem = check_type(model, LinearCSSP, "model", "give the problem as it is before any change, or leave it out")
        if problem.support != self.support or problem.context_size != self.context_size:
            raise ArgumentError(
                f"model is {problem}, which has another support or context size than the detector; build it on "
                "the learner's support"
            )
        return np.concatenate((problem.probabilities, problem.losses))

    @property
    def steps(self) -> int:
        """How many steps were seen."""
        return int(self._sums.totals["steps"])

    @property
    def proven(self) -> bool:
        """Whether the run length is: the numbers of all pairs were given, and none was restarted."""
        return bool(self._sums.given.all())

    def observe(self, context: ArrayLike, step: Step, *, case: int = 0) -> None:
        """Enter a step that anyone made under a context [d]; ``case`` is how many cases had begun before its own."""
        weights = check_distribution(context, "context", self.context_size, "component")
        pair, place = checked_step(self.support, step)
        self.enter(
            single_step(weights, pair, place, float(step[2])), np.array([check_int(case, "case", least=0, most=2**62)])
        )

    def enter(self, steps: StepArrays, cases: NDArray[np.int64]) -> int:
        """Enter n steps that were checked, and the case of each; how many alarms there were."""
        work = int(len(steps.pairs) * (self.support.triples / self.support.pairs + 1 + self.context_size**2 / 5))
        run = self._effort.engine(5 * work)(detect_changes)
        return int(run(self._sums, self._work, steps, cases.astype(np.int64, copy=False), self.run_length))

    def extended(self, support: Support) -> ChangeDetector:
        """One for a larger support that goes on with what this one has seen, which stays as it is.

        Pairs whose next states are the same go on; new ones, and those with new next states, begin anew. An action goes
        on with the evidence that all its pairs gave. Each sum that begins at 0 keeps the run length what it is.
        """
        places = match_support(support, self.support, name="the detector")
        if self.alarms:
            raise LearnerError(f"there is an alarm: {self.alarms[0]}. Settle it first, by acknowledge() or relearned()")
        found = ChangeDetector(support, self.context_size, run_length=self.run_length)
        mine, theirs, old = found._sums, self._sums, self.support
        same = np.diff(old.next_start) == np.diff(support.next_start)[places.pairs]
        pairs, there = np.flatnonzero(same), places.pairs[same]
        triples = np.flatnonzero(np.repeat(same, np.diff(old.next_start)))
        numbers = np.concatenate((triples, old.triples + pairs))
        numbers_there = np.concatenate((places.triples[triples], support.triples + there))
        for name in ("gram", "gram_low", "inverse", "visits", "given"):
            getattr(mine, name)[there] = getattr(theirs, name)[pairs]
        mine.outcome_sums[numbers_there] = theirs.outcome_sums[numbers]
        if len(theirs.given_means):
            means = np.zeros((support.triples + support.pairs, self.context_size))
            means[numbers_there] = theirs.given_means[numbers]
            found._sums = mine = mine._replace(given_means=means)
        action = np.unique(old.pair_action)
        action_there = support.pair_action[places.pairs[[np.argmax(old.pair_action == one) for one in action]]]
        of_actions, of_actions_there = old.triples + old.pairs, support.triples + support.pairs
        numbers = np.concatenate((numbers, of_actions + action, of_actions + old.actions + action))
        numbers_there = np.concatenate(
            (numbers_there, of_actions_there + action_there, of_actions_there + support.actions + action_there)
        )
        for name in ("roberts", "cusum", "began_step", "began_case", "count", "expected", "observed"):
            getattr(mine, name)[numbers_there] = getattr(theirs, name)[numbers]
        mine.totals["steps"] = theirs.totals["steps"]
        return found

    @property
    def alarms(self) -> tuple[ChangeAlarm, ...]:
        """Those that were raised and not acknowledged, the first one first."""
        raised = np.flatnonzero(self._sums.alarm_step != NO_ALARM)
        return tuple(self._alarm(int(part)) for part in raised[np.argsort(self._sums.alarm_step[raised])])

    @property
    def alarm_count(self) -> int:
        """How many there are."""
        return int(np.count_nonzero(self._sums.alarm_step != NO_ALARM))

    def acknowledge(self) -> None:
        """Go on: the pairs with an alarm begin anew, as if nothing had been seen of them."""
        run = self._effort.engine(0)(restart_pair)
        for alarm in self.alarms:
            for pair in alarm.pairs:
                run(self._sums, self._work, pair)
        self._sums.alarm_step[:] = NO_ALARM
        self._sums.alarm_case[:] = NO_ALARM

    def _alarm(self, part: int) -> ChangeAlarm:
        sums, support = self._sums, self.support
        triples, pairs, actions = support.triples, support.pairs, support.actions
        of_part: tuple[int, ...]
        if part < pairs:
            of_part, row = (part,), support.row(part)
            numbers = [*range(triples)[row], triples + part]
            following = [*support.next_state[row].tolist(), None]
        else:
            action = part - pairs
            of_part = tuple(np.flatnonzero(support.pair_action == action).tolist())
            numbers, following = [triples + pairs + action, triples + pairs + actions + action], [support.states, None]
        found = sums.roberts[numbers]
        place, at = np.unravel_index(int(np.argmax(found)), found.shape)
        key = numbers[int(place)], int(at)
        return ChangeAlarm(
            pairs=of_part, action=None if len(of_part) == 1 else part - pairs, next_state=following[int(place)],
            direction=MORE if RATIOS[int(at)] > 1.0 else LESS,
            since_step=int(sums.began_step[key]), since_case=int(sums.began_case[key]),
            step=int(sums.alarm_step[part]), case=int(sums.alarm_case[part]),
            visits=int(sums.count[key]), expected=float(sums.expected[key]), observed=float(sums.observed[key]),
            evidence=float(found.mean()), support=support,
        )  # fmt: skip

    # What of it is in a file of a learner that is monitored.

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """All that it has seen, by name, as writable views."""
        return named_arrays("change", self._sums)

    @classmethod
    def array_types(cls) -> dict[str, str]:
        """The names and types of :meth:`arrays`."""
        smallest = cls(Support.full(1, 1), 1)
        return {name: array.dtype.str for name, array in smallest.arrays()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over the arrays of a file, checked."""
        given = arrays[_GIVEN_MEANS]
        width = (self.support.triples + self.support.pairs, self.context_size)
        if given.shape not in ((0, self.context_size), width):
            raise FileFormatError(f"{_GIVEN_MEANS} has shape {given.shape}; it is empty or {width}")
        self._sums = self._sums._replace(given_means=given.copy())
        for name, mine in self.arrays():
            theirs = arrays[name]
            if theirs.shape != mine.shape:
                raise FileFormatError(f"{name} has shape {theirs.shape}; it needs {mine.shape}")
            if theirs.dtype.kind == "f" and not np.isfinite(theirs).all():
                raise FileFormatError(f"{name} has an entry that is no finite number")
            if theirs.dtype.kind == "i" and theirs.size and not NO_ALARM <= theirs.min() <= theirs.max() < 2**62:
                raise FileFormatError(f"{name} has an entry that is no count")
            mine[...] = theirs
        self._check_restored()

    def _check_restored(self) -> None:
        sums = self._sums
        if sums.given.any() and not len(sums.given_means):
            raise FileFormatError(f"{_GIVEN_MEANS} is empty, and the numbers of a pair are said to be given")
        if (sums.roberts < 0.0).any() or (np.diagonal(sums.inverse, axis1=1, axis2=2) < 0.0).any():
            raise FileFormatError("change.roberts or change.inverse has a negative entry where there can be none")
        counts = (sums.visits, sums.began_step, sums.began_case, sums.count, np.array([self.steps]))
        if any((one < 0).any() for one in counts):
            raise FileFormatError("a count of the change detector is negative")
        for alarm in self.alarms:
            if alarm.visits < 1:
                raise FileFormatError("an alarm of the change detector has no visits")


class StepWindow:
    """The last ``size`` steps, in their order. A step is added in O(d), on average.

    >>> window = StepWindow(2, 1)
    >>> for pair in range(5):
    ...     window.add(StepArrays(np.ones((1, 1)), np.array([pair]), np.array([0]), np.array([0.5])))
    >>> window.count, window.last().pairs
    (5, array([3, 4]))
    """

    def __init__(self, size: int, context_size: int) -> None:
        check_memory(2 * size * (context_size + 3), f"window {size}")
        self.size = size
        self.count = 0
        """How many steps were added, those that are no longer kept included."""
        pairs, places = np.zeros((2, 0), dtype=np.int64)
        self._parts = [StepArrays(np.zeros((0, context_size)), pairs, places, np.zeros(0))]

    def add(self, steps: StepArrays) -> None:
        """Add steps, which are kept as they are."""
        self.count += len(steps.pairs)
        self._parts.append(steps)
        if len(self._parts) > max(MOST_PARTS, min(self.count, self.size) // 100):
            self._parts = [self.last()]

    def last(self) -> StepArrays:
        """The last ``size`` steps, or all if there were fewer."""
        whole = StepArrays._make(map(np.concatenate, zip(*self._parts, strict=True)))
        return _part(whole, slice(max(len(whole.pairs) - self.size, 0), None))

    @property
    def first(self) -> int:
        """The number of the first step in :meth:`last`, from 0 on."""
        return self.count - len(self.last().pairs)

    def since(self, number: int) -> StepArrays:
        """The steps from this number on; an error if they are no longer kept."""
        if number < self.first:
            raise ArgumentError(
                f"the steps from {number} on are no longer kept, only those from {self.first} on (window={self.size}); "
                "learn from a log of them, learner.learn_log(log.window(first=...)), or use a larger window"
            )
        return _part(self.last(), slice(number - self.first, None))

    def moved(self, places: SupportMatch) -> StepWindow:
        """The same steps on a larger support."""
        kept = self.last()
        found = StepWindow(self.size, kept.contexts.shape[1])
        found.add(kept._replace(pairs=places.pairs[kept.pairs], places=places.triples[kept.places]))
        found.count = self.count
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """For a file."""
        return dict(zip(WINDOW_TYPES, self.last(), strict=True))

    def restore(self, arrays: Mapping[str, NDArray[Any]], count: int, support: Support) -> None:
        """Take over what is in a file, checked; ``count`` is that of all steps."""
        contexts, pairs, places, losses = (arrays[name] for name in WINDOW_TYPES)
        size, kept = self._parts[0].contexts.shape[1], len(losses)
        if contexts.shape != (kept, size) or not pairs.shape == places.shape == losses.shape == (kept,):
            raise FileFormatError(f"the arrays of the window have other shapes than {(kept, size)} and {(kept,)}")
        if kept != min(count, self.size):
            raise FileFormatError(f"the window has {kept} steps; of {count} it keeps {min(count, self.size)}")
        fine = bool(((pairs >= 0) & (pairs < support.pairs)).all() and ((losses >= 0.0) & (losses <= 1.0)).all())
        fine = fine and bool((contexts >= 0.0).all()) and bool((np.abs(contexts.sum(axis=1) - 1.0) < 1e-9).all())
        if not fine or not ((places >= support.next_start[pairs]) & (places < support.next_start[pairs + 1])).all():
            raise FileFormatError("the window has a step that cannot be: a pair, a next state, a loss or a context")
        self.add(_part(StepArrays(contexts, pairs, places, losses), slice(None)))
        self.count = count


def _part(steps: StepArrays, which: slice | NDArray[np.bool_]) -> StepArrays:
    """A copy of some of the steps."""
    return StepArrays._make(np.array(column[which]) for column in steps)


def monitored_card(monitor: Any) -> LearnerCard:
    """The inner learner's card; nothing is proven while there is a change."""
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
        learner: any learner by ridge regression or without contexts, or one with something around it.
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
    _keys = ("run_length", "window", "logged_cases", "cases")
    _array_types: ClassVar = {**ChangeDetector.array_types(), **WINDOW_TYPES}
    _difference = "another run length or window"
    _episode_type = MonitoredEpisode

    def __init__(
        self, learner: Any, *, run_length: float = RUN_LENGTH, window: int = WINDOW, model: LinearCSSP | None = None
    ) -> None:
        base = check_type(unwrap(learner), LearnerBase, "learner", f"give a learner such as an LRCSSP; {IN_CELLS}")
        super().__init__(learner)
        self.detector = ChangeDetector(base.support, base.context_size, run_length=run_length, model=model)
        self._window = StepWindow(check_int(window, "window", least=0, most=2**40), base.context_size)
        self._logged_cases = 0
        self._cases = 0

    @property
    def change(self) -> ChangeAlarm | None:
        """The first alarm that was not acknowledged; None: there is none. All are in :attr:`alarms`."""
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

    def learn(self, context: Any, step: Step) -> None:
        """Learn from a step that anyone made under a context; it is tested too."""
        with unwrap(self)._watched() as taken:
            super().learn(context, step)
        for steps in taken:
            self._test(steps, np.full(len(steps.pairs), self._cases))

    def learn_log(self, log: Iterable[tuple[Any, Step]]) -> int:
        """:meth:`learn` from ``(context, step)`` by ``(context, step)`` in the order of time; how many.

        A :class:`~goalbound.logs.Log` knows the cases of its steps, and they are counted; other logs have none.
        """
        with unwrap(self)._watched() as taken:
            try:
                learned = super().learn_log(log)
            finally:
                self._test_log(taken, getattr(log, "case_of", None))
        return learned

    def _test_log(self, taken: list[StepArrays], case_of: Any) -> None:
        learned = sum(len(steps.pairs) for steps in taken)
        cases = np.full(learned, self._cases, dtype=np.int64)
        if case_of is not None and learned:
            cases = self._cases + np.asarray(case_of, dtype=np.int64)[:learned]
            self._logged_cases += int(cases.max()) + 1 - self._cases
        first = 0
        for steps in taken:
            self._test(steps, cases[first : first + len(steps.pairs)])
            first += len(steps.pairs)

    def _watch(self, episode: LearnerEpisode, step: Step | None, *, foreign: bool) -> None:
        if step is not None:
            pair, place = checked_step(episode.learner.support, step)
            steps = single_step(episode.context, pair, place, float(step[2]))
            self._test(steps, np.array([self._logged_cases + episode.number]))

    def _test(self, steps: StepArrays, cases: NDArray[np.int64]) -> None:
        """Hold steps that were learned against the forecasts, keep them, and warn of what has changed."""
        steps = _part(steps, slice(None))  # kernels are compiled for arrays that may be written to
        self._window.add(steps)
        known = self.detector.enter(steps, cases)
        if len(cases):
            self._cases = max(self._cases, int(cases.max()) + 1)
        for alarm in self.detector.alarms[len(self.detector.alarms) - known :] if known else ():
            warnings.warn(str(alarm), ChangeWarning, stacklevel=5)

    def relearned(self, *, since: int | None = None, keep_others: bool = True, fresh: Any = None) -> Monitored:
        """A monitored learner that has forgotten what the pairs with an alarm did before the change; this one stays as
        it is.

        Open episodes stay here: let them end, or ``begin`` them there. Nothing is proven of sets that are made from a
        window which was chosen by outcomes: the caveats say so.

        Args:
            since: the number of the first step to learn from; ``change.since_step`` if left out. The steps must still
                be in the window.
            keep_others: learn older steps of the window too, except those of pairs with an alarm. What else has changed
                unnoticed stays learned until it raises an alarm of its own; with False all older steps are forgotten.
            fresh: the learner that learns, which has seen nothing; one with the settings of this one if left out.
        """
        alarms = self.detector.alarms
        if since is None and not alarms:
            raise LearnerError("there is no change to learn from; give since=, the number of a step")
        number = min(one.since_step for one in alarms) if since is None else check_int(since, "since", least=0)
        steps = self._window.since(number)
        if check_bool(keep_others, "keep_others"):
            kept, changed = self._window.last(), [pair for one in alarms for pair in one.pairs]
            new = np.arange(self._window.first, self._window.count) >= number
            steps = _part(kept, new | ~np.isin(kept.pairs, changed))
        found = self._again(made_anew(self.inner) if fresh is None else self._checked_fresh(fresh))
        base = unwrap(found)
        base._learn_steps(steps)
        base._caveats = united_caveats(unwrap(self).caveats, (SINCE_CHANGE,))
        base._after_learning()
        found._test(steps, np.zeros(len(steps.pairs), dtype=np.int64))
        return found

    def _checked_fresh(self, fresh: Any) -> Any:
        base, mine = unwrap(fresh), unwrap(self)
        check_type(base, LearnerBase, "fresh", "give a learner such as the one inside")
        if base.support != mine.support or base.context_size != mine.context_size or base._steps:
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

    def extended(self, support: Support, **others: Any) -> Monitored:
        """The learner on a larger support, with the same detector and window; this one stays as it is. ``others`` are
        what the learner's own ``extended`` takes besides, as the ``runbook`` of a guard.

        What the detector knows of a pair stays, if its next states are the same as before. New pairs, and pairs with
        new next states, begin with nothing: it is not known how often these are to follow.
        """
        detector = self.detector.extended(support)
        found = self._again(self._of_inner("extended")(support, **others))
        found.detector = detector
        found._window = self._window.moved(match_support(support, self.support, name="the learner"))
        found._logged_cases, found._cases = self._logged_cases, self._cases
        return found

    def with_settings(self, **settings: Any) -> Monitored:
        """The learner under other settings, with the same detector; for learners that have ``with_settings``."""
        found = self._again(self._of_inner("with_settings")(**settings))
        found.detector, found._window = deep_copy(self.detector), deep_copy(self._window)
        found._logged_cases, found._cases = self._logged_cases, self._cases
        return found

    def _again(self, inner: Any) -> Self:
        return type(self)(inner, run_length=self.detector.run_length, window=self._window.size)

    def _made_like(self, other: Monitored) -> bool:
        mine, theirs = ((one.detector.run_length, one._window.size) for one in (self, other))
        return mine == theirs

    def _header(self) -> dict[str, Any]:
        values = self.detector.run_length, self._window.size, self._logged_cases, self._cases
        return dict(zip(self._keys, values, strict=True))

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {**dict(self.detector.arrays()), **self._window.arrays()}

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
