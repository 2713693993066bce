"""A learner that is monitored: what it sees is tested for changes of the world, and kept to learn from it again."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.around import change_kernels as kernels
from goalbound.around.around import Around, learner_inside
from goalbound.around.change_kernels import NO_ALARM, RATIOS, by_number
from goalbound.confidence.statistics import Statistics
from goalbound.errors import ArgumentError, ChangeWarning, FileFormatError, LearnerError
from goalbound.jit.compile import Effort
from goalbound.jit.records import named_arrays
from goalbound.learners.base import LearnerBase
from goalbound.learners.card import PROVEN, UNPROVEN, LearnerCard, learner_card
from goalbound.learners.copying import copied_state, deep_copy, restore_state
from goalbound.learners.episode import LearnerEpisode
from goalbound.learners.layers import made_anew, unwrap
from goalbound.learners.learner import RidgeLearner
from goalbound.learners.own_card import Card, united_caveats
from goalbound.learners.visits import StepArrays, single_step
from goalbound.models import LinearCSSP, Step, Support
from goalbound.models.amounts import Amounts, nearest
from goalbound.models.files.ranges import HUGE, MANY, matching, within
from goalbound.models.step import checked_step
from goalbound.models.support import SUPPORT_REMEDY
from goalbound.models.support_match import match_support
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
MOST_PIECES = 1000
"""The number of pieces of a window that are not joined yet, or a hundredth of its steps if that is more."""
MORE, LESS = "more", "less"
KNOWN = 1e-6
"""The share of the visits of a pair by which sums may be off by rounding."""
SINCE_CHANGE = "only steps since a change were learned, and when that was is an estimate from their outcomes"


@dataclass(frozen=True)
class ChangeAlarm(Amounts):
    """What has changed, in which direction, and since when.

    Attributes:
        pairs: the pairs that have changed: one, or all with the action.
        action: the action, where all its pairs have changed together; None: a single pair.
        next_state: the next state that follows more or less often; None: the loss.
        direction: ``more`` or ``less``.
        since_step, since_case: how many steps were seen, and how many cases had begun, before the estimated change.
        step, case: likewise when the alarm was raised.
        visits: how many of the pairs' visits came since the change.
        expected, observed: how often the next state was expected in them and how often it followed, or their losses, in
            the unit of the learner.
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

    _amounts: ClassVar = {"expected": nearest, "observed": nearest}

    def in_unit(self, scale: Any) -> Self:
        """Return the same with losses in a unit of the user's own; how often a state follows has none."""
        return self if self.next_state is not None else super().in_unit(scale)

    def __str__(self) -> str:
        support, more = self.support, self.direction == MORE
        if self.action is None:
            where = support.pair_name(self.pairs[0])
        else:
            where = f"{support.action_name(self.action)} in all states"
        if self.next_state is None:
            found = (
                f"its loss is {'higher' if more else 'lower'} than before: {self.observed / self.visits:.3g}"
                f"{self._unit_text} on average in {self.visits} visits, where {self.expected / self.visits:.3g}"
                f"{self._unit_text} was expected"
            )
        else:
            found = (
                f"{support.state_name(self.next_state)} follows {self.direction} often than before: "
                f"{self.observed:.0f} times in {self.visits} visits, where {self.expected:.1f} were expected"
            )
        return (
            f"{where}: {found}; since about case {self.since_case} (step {self.since_step}), noticed in case "
            f"{self.case} (step {self.step}). What was learned of it before no longer holds: relearned() gives a "
            "learner that has forgotten it, acknowledge() goes on as before"
        )


class ChangeDetector:
    """Notices when a loss, or how often a next state follows, is no longer what it was.

    Shiryaev-Roberts sums of likelihood ratios (:mod:`goalbound.around.change_kernels`) hold each outcome against a
    forecast from earlier ones, for every pair, and for every action over all its pairs.

    Args:
        support: the pairs, and where each may lead.
        context_size: d
        run_length: how many steps pass on average, at least, until there is a false alarm.
        model: the problem as it is before any change, where that is known; None: it is estimated.

    Guarantee: with a ``model`` that is right, the mean number of steps until a false alarm is at least ``run_length``,
    and n steps raise one with probability n / run_length at most, whoever chooses the actions by what was seen before.
    Without one nothing is proven, as the forecasts are estimates; docs/how_to/change.md has what was measured. Outcomes
    are to be entered in an order that does not depend on them. A step costs O(d^2 + m (d + 4)) for the m next states of
    its pair.
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
        self._sums = kernels.new_change_sums(support, self.context_size)
        self._effort = Effort()
        if model is not None:
            check_type(model, LinearCSSP, "model", "give the problem as it is before any change, or leave it out")
            if model.support != support or model.context_size != context_size:
                raise ArgumentError(
                    f"model is {model}, which has another support or context size than the detector; build it on "
                    "the learner's support"
                )
            self._sums.given[:] = True
            self._sums.outcome_sums[:] = by_number(support, model.probabilities, model.losses)

    __getstate__ = copied_state
    __setstate__ = restore_state
    __copy__ = deep_copy

    def begin_with(self, seen: Statistics, nothing: Statistics) -> None:
        """Take over what a learner has seen of pairs all of whose outcomes are known: contexts sum to 1, so their next
        states add up to their visits. ``nothing`` are the statistics of one like it that has seen nothing."""
        sums, visits, losses = self._sums, seen.visits, seen.loss_sums - nothing.loss_sums
        following = seen.next_sums - nothing.next_sums
        counted = np.add.reduceat(following.sum(axis=1), self.support.next_start[:-1])
        known = (visits > 0) & (np.abs(counted - visits) <= KNOWN * visits)
        sums.visits[known] = visits[known]
        sums.gram[known] += (seen.gram - nothing.gram)[known]
        sums.inverse[known] = np.linalg.inv(sums.gram[known])
        kept = by_number(self.support, np.repeat(known, np.diff(self.support.next_start)), known)
        sums.outcome_sums[kept] = by_number(self.support, following, losses)[kept]
        sums.overall[:] = losses[known].sum(), visits[known].sum()

    @property
    def steps(self) -> int:
        """How many steps were seen."""
        return int(self._sums.steps[0])

    @property
    def proven(self) -> bool:
        """Whether the run length is: the numbers of all pairs were given, and none was restarted."""
        return bool(self._sums.given.all())

    def observe(self, context: ArrayLike, step: Step, *, case: int = 0) -> None:
        """Enter a step that anyone made under a context [d]; ``case`` is how many cases had begun before its own."""
        weights = check_distribution(context, "context", self.context_size, "component")
        pair, place = checked_step(self.support, step)
        cases = np.array([check_int(case, "case", least=0, most=2**62)])
        self.enter(single_step(weights, pair, place, float(step[2])), cases)

    def enter(self, steps: StepArrays, cases: NDArray[np.int64]) -> int:
        """Enter n steps that were checked, and the case of each; how many alarms there were."""
        work = int(len(steps.pairs) * (self.support.triples / self.support.pairs + 1 + self.context_size**2 / 5))
        run = self._effort.engine(5 * work)(kernels.detect_changes)
        return int(run(self._sums, steps, cases.astype(np.int64, copy=False), self.run_length))

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
        """Go on: the pairs with an alarm begin with nothing, as if nothing had been seen of them."""
        sums, fresh = self._sums, kernels.new_change_sums(self.support, self.context_size)
        changed = sorted({pair for alarm in self.alarms for pair in alarm.pairs})
        for name in ("gram", "gram_low", "inverse", "visits", "given"):
            getattr(sums, name)[changed] = getattr(fresh, name)[changed]
        for part in (*changed, *(self.support.pairs + self.support.pair_action[changed]).tolist()):
            numbers = self._numbers(part)
            sums.evidence[numbers] = 0.0
            sums.outcome_sums[numbers] = 0.0  # those of actions lie beyond the end
        sums.alarm_step[:] = sums.alarm_case[:] = NO_ALARM

    def _numbers(self, part: int) -> slice:
        return slice(*self._sums.part_start[part : part + 2].tolist())

    def _alarm(self, part: int) -> ChangeAlarm:
        sums, support, action = self._sums, self.support, part - self.support.pairs
        following: list[int | None]
        if action < 0:
            pairs, following = [part], [None, *support.next_state[support.row(part)].tolist()]
        else:
            pairs, following = np.flatnonzero(support.pair_action == action).tolist(), [support.states, None]
        found = sums.evidence[self._numbers(part)]
        number, at = divmod(int(found[..., kernels.ROBERTS].argmax()), len(RATIOS))
        _, _, since_step, since_case, visits, expected, observed = found[number, at].tolist()
        return ChangeAlarm(
            pairs=tuple(pairs),
            action=action if len(pairs) > 1 else None,
            next_state=following[number],
            direction=MORE if RATIOS[at] > 1.0 else LESS,
            since_step=int(since_step),
            since_case=int(since_case),
            step=int(sums.alarm_step[part]),
            case=int(sums.alarm_case[part]),
            visits=int(visits),
            expected=expected,
            observed=observed,
            evidence=float(found[..., kernels.ROBERTS].mean()),
            support=support,
        )

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Return all that it has seen, by name, as writable views."""
        return named_arrays("change", self._sums)

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over the arrays of a file, checked."""
        sums = self._sums
        for name, array in self.arrays():
            array[...] = matching(arrays, name, array.shape, array.dtype)
        within("change.visits", sums.visits, 0, MANY)
        within("change.steps", sums.steps, 0, MANY)
        within("change.alarm_step", sums.alarm_step, NO_ALARM, MANY)
        within("change.alarm_case", sums.alarm_case, NO_ALARM, MANY)
        within("change.overall", sums.overall, 0.0, HUGE)
        within("change.evidence", np.delete(sums.evidence, kernels.CUSUM, axis=2), 0.0, HUGE)
        within("change.evidence", sums.evidence[:, :, kernels.STEP : kernels.EXPECTED], 0.0, MANY)
        within("change.inverse", np.diagonal(sums.inverse, axis1=1, axis2=2), 0.0, HUGE)
        if any(alarm.visits < 1 for alarm in self.alarms):
            raise FileFormatError("an alarm of the change detector has no visits")


def _empty_steps(count: int, size: int) -> StepArrays:
    """Return room for so many steps."""
    pairs, places = np.zeros((2, count), dtype=np.int64)
    return StepArrays(np.zeros((count, size)), pairs, places, np.zeros(count))


def monitored_card(monitor: Any) -> LearnerCard:
    """Return the inner learner's card; nothing is proven while there is a change."""
    card = learner_card(monitor.inner)
    if monitor.change is None or card.guarantee != PROVEN:
        return card
    why = united_caveats(card.caveats, (f"the world has changed: {monitor.change}",))
    return replace(card, guarantee=UNPROVEN, theorem="", caveats=why)


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

    Guarantee: the run length is that of :class:`~goalbound.around.monitor.ChangeDetector`.

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
        **{name: array.dtype.str for name, array in named_arrays("window", _empty_steps(0, 1))},
    }
    _counted = ("logged_cases", "cases", *_array_types)
    _difference = "another run length or window"

    def __init__(
        self, learner: Any, *, run_length: float = RUN_LENGTH, window: int = WINDOW, model: LinearCSSP | None = None
    ) -> None:
        base = learner_inside(learner, "Monitored")
        super().__init__(learner)
        self.detector = ChangeDetector(base.support, base.context_size, run_length=run_length, model=model)
        if model is None and base._steps and isinstance(base, RidgeLearner):
            self.detector.begin_with(base.statistics, base.anew().statistics)
        self.run_length = self.detector.run_length
        self.window = check_int(window, "window", least=0, most=2**40)
        check_memory(2 * self.window * (base.context_size + 3), f"window {self.window}")
        self._pieces = [_empty_steps(0, base.context_size)]
        self._logged_cases = 0
        self._cases = 0

    @property
    def alarms(self) -> tuple[ChangeAlarm, ...]:
        """All alarms that were not acknowledged, the first one first; losses are in the unit of the learner."""
        return tuple(map(unwrap(self)._in_unit, self.detector.alarms))

    @property
    def change(self) -> ChangeAlarm | None:
        """The first of the :attr:`alarms`; None: there is none."""
        return next(iter(self.alarms), None)

    def acknowledge(self) -> None:
        """Go on after an alarm: the detector forgets the pairs that have changed, the learner forgets nothing."""
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
                cases = np.full(sum(len(steps.pairs) for steps in taken), self._cases, dtype=np.int64)
                if case_of is not None and len(cases):
                    cases += np.asarray(case_of, dtype=np.int64)[: len(cases)]
                    self._logged_cases += int(cases.max()) + 1 - self._cases
                self._test(taken, cases)

    def _watch(self, episode: LearnerEpisode, step: Step | None, *, foreign: bool) -> None:
        if step is not None:
            pair, place = checked_step(episode.learner.support, step)
            steps = single_step(episode.context, pair, place, float(step[2]))
            self._test([steps], np.array([self._logged_cases + episode.number]))

    def _test(self, taken: list[StepArrays], cases: NDArray[np.int64]) -> None:
        """Hold steps that were learned against the forecasts, keep them, and warn of what has changed."""
        if not len(cases):
            return
        steps = _joined(taken)
        self._pieces.append(steps)
        raised = self.detector.enter(steps, cases)
        if len(self._pieces) > max(MOST_PIECES, min(self.detector.steps, self.window) // 100):
            self._pieces = [self._last_steps()]
        self._cases = max(self._cases, int(cases.max()) + 1)
        for alarm in self.alarms[-raised:] if raised else ():
            warnings.warn(str(alarm), ChangeWarning, stacklevel=5)

    def _last_steps(self) -> StepArrays:
        """Return the steps that are kept: the last ones of the window, or all if there were fewer."""
        whole = _joined(self._pieces)
        return _part(whole, slice(max(len(whole.pairs) - self.window, 0), None))

    def relearned(self, *, since: int | None = None, keep_others: bool = True, fresh: Any = None) -> Monitored:
        """Return a monitored learner that has forgotten what the pairs with an alarm did before the change; this one
        stays as it is.

        Open episodes stay here: let them end, or ``begin`` them there. Nothing is proven of sets that are made from a
        window which was chosen by outcomes: the caveats say so.

        Args:
            since: the number of the first step to learn from, which must still be in the window;
                ``change.since_step`` if left out.
            keep_others: learn older steps of the window too, except those of pairs with an alarm. What else has changed
                unnoticed stays learned until it raises an alarm; with False all older steps are forgotten.
            fresh: the learner that learns, which has seen nothing; one with the settings of this one if left out.
        """
        alarms, own = self.alarms, unwrap(self)
        if since is None and not alarms:
            raise LearnerError("there is no change to learn from; give since=, the number of a step")
        number = min(alarm.since_step for alarm in alarms) if since is None else check_int(since, "since", least=0)
        kept = self._last_steps()
        first = self.detector.steps - len(kept.pairs)
        if number < first:
            raise ArgumentError(
                f"the steps from {number} on are no longer kept, only those from {first} on (window={self.window}); "
                "learn from a log of them, learner.learn_log(log.window(first=...)), or use a larger window"
            )
        chosen = np.arange(first, self.detector.steps) >= number
        if check_bool(keep_others, "keep_others"):
            chosen |= ~np.isin(kept.pairs, [pair for alarm in alarms for pair in alarm.pairs])
        fresh = made_anew(self.inner) if fresh is None else fresh
        base = check_type(unwrap(fresh), LearnerBase, "fresh", "give a learner such as the one inside")
        if base.support != own.support or base.context_size != own.context_size or base._steps:
            raise ArgumentError(
                f"fresh is {fresh!r:.200}; it needs this support and context size, and has seen nothing"
            )
        again, steps = self._again(fresh), _part(kept, chosen)
        base._learn_steps(steps)
        base._caveats = united_caveats(own.caveats, (SINCE_CHANGE,))
        base._after_learning()
        again._test([steps], np.zeros(len(steps.pairs), dtype=np.int64))
        return again

    def merge(self, other: Monitored) -> None:
        """Add what the learner inside another monitor has learned, as the learners inside do.

        Changes are found in the order of time, which the steps of two monitors do not have. So the detector and the
        window go on with the steps that were seen here, and changes that only the other saw are found by the other. Its
        change is to be settled there first.
        """
        if isinstance(other, Monitored) and other.change is not None:
            raise LearnerError(
                f"other has an alarm: {other.change}. Its learner mixes what was before and after; merge its "
                "relearned(), or acknowledge() it there first"
            )
        super().merge(other)

    def _going_on(self, inner: Any, **given: Any) -> Self:
        """Go on with the window and the detector, which begins with what the learner has seen on a larger support."""
        again, support, kept = self._again(inner, **given), unwrap(inner).support, self._last_steps()
        if support == self.detector.support:
            again.detector = deep_copy(self.detector)
        elif self.change is not None:
            raise LearnerError(f"there is an alarm: {self.change}. Settle it first, by acknowledge() or relearned()")
        else:  # evidence begins at 0, which keeps the run length what it is
            there = match_support(support, self.detector.support, name="the learner")
            kept = kept._replace(pairs=there.pairs[kept.pairs], places=there.triples[kept.places])
            again.detector._sums.steps[:] = self.detector.steps
        again._pieces = [kept]
        again._logged_cases, again._cases = self._logged_cases, self._cases
        return again

    def _saved(self) -> dict[str, Any]:
        counts = {"logged_cases": self._logged_cases, "cases": self._cases}
        return counts | dict(self.detector.arrays()) | dict(named_arrays("window", self._last_steps()))

    def _restore(self, saved: Mapping[str, Any]) -> None:
        self._logged_cases = check_int(saved["logged_cases"], "logged_cases", least=0, most=2**62)
        self._cases = check_int(saved["cases"], "cases", least=0, most=2**62)
        self.detector.restore(saved)
        kept, count, support = len(saved["window.losses"]), self.detector.steps, self.detector.support
        if kept != min(count, self.window):
            raise FileFormatError(f"the window has {kept} steps; of {count} it keeps {min(count, self.window)}")
        steps = _empty_steps(kept, self.detector.context_size)
        for name, array in named_arrays("window", steps):
            array[...] = matching(saved, name, array.shape, array.dtype)
        within("window.pairs", steps.pairs, 0, support.pairs - 1)
        first, end = support.next_start[steps.pairs], support.next_start[steps.pairs + 1]
        within("window.places", steps.places, first, end - 1)
        within("window.losses", steps.losses, 0.0, 1.0)
        within("window.contexts", steps.contexts, 0.0, HUGE)
        within("window.contexts, summed,", steps.contexts.sum(axis=1), 1.0 - 1e-9, 1.0 + 1e-9)
        self._pieces = [steps]

    def __repr__(self) -> str:
        alarms = pluralize(self.detector.alarm_count, "alarm")
        return f"Monitored({self.inner!r}, run length {self.run_length:g}, {alarms})"


def _joined(pieces: list[StepArrays]) -> StepArrays:
    """Return a copy of all steps of the pieces."""
    return StepArrays._make(map(np.concatenate, zip(*pieces, strict=True)))


def _part(steps: StepArrays, which: slice | NDArray[np.bool_]) -> StepArrays:
    """Return a copy of some of the steps."""
    return StepArrays._make(np.array(column[which]) for column in steps)
