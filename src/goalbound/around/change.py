"""When the world changes: a detector over the losses and next states of all pairs, and its alarms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.errors import ArgumentError, FileFormatError, LearnerError
from goalbound.estimation.statistics import checked_step
from goalbound.jit.compile import Effort
from goalbound.jit.records import named_arrays
from goalbound.kernels.change_detection import (
    NO_ALARM,
    RATIOS,
    detect_changes,
    new_change_sums,
    new_change_workspace,
    restart_pair,
)
from goalbound.kernels.steps import StepArrays
from goalbound.learners.copying import copied_state, deep_copy, restore_state
from goalbound.learners.step_log import single_step
from goalbound.models import LinearCSSP, Step, Support
from goalbound.models.support import SUPPORT_REMEDY
from goalbound.models.support_match import match_support
from goalbound.models.validation import check_distribution, check_float, check_int, check_memory, check_type, short_repr

RUN_LENGTH = 10_000
MORE, LESS = "more", "less"
_GIVEN_MEANS = "change.given_means"


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
    (:mod:`goalbound.kernels.change_detection`) weigh it against odds that are 1/8, 0.4, 2.5 and 8 times as high, for
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
