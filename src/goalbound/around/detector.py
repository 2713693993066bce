"""The change detector: sums of :mod:`goalbound.around.change_kernels`, and the alarms that they raise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.around import change_kernels as kernels
from goalbound.around.change_kernels import NO_ALARM, RATIOS, by_number, new_change_sums, part_starts
from goalbound.confidence.statistics import Statistics, checked_step
from goalbound.errors import ArgumentError, FileFormatError, LearnerError
from goalbound.jit.compile import Effort
from goalbound.jit.records import named_arrays
from goalbound.learners.copying import copied_state, deep_copy, restore_state
from goalbound.learners.steps import StepArrays, single_step
from goalbound.models import LinearCSSP, Step, Support
from goalbound.models.files.ranges import HUGE, MANY, matching, within
from goalbound.models.support import SUPPORT_REMEDY
from goalbound.models.support_match import match_support
from goalbound.models.validation import (
    check_distribution,
    check_float,
    check_int,
    check_memory,
    check_type,
    short_repr,
)

RUN_LENGTH = 10_000
MORE, LESS = "more", "less"
KNOWN = 1e-6
"""The share of the visits of a pair by which sums may be off by rounding."""


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
        return (
            f"{self._where()}: {self._found()}; since about case {self.since_case} (step {self.since_step}), noticed "
            f"in case {self.case} (step {self.step}). What was learned of it before no longer holds: relearned() gives "
            "a learner that has forgotten it, acknowledge() goes on as before"
        )

    def _where(self) -> str:
        if self.action is None:
            return self.support.pair_name(self.pairs[0])
        return f"{self.support.action_name(self.action)} in all states"

    def _found(self) -> str:
        if self.next_state is None:
            return (
                f"its loss is {'higher' if self.direction == MORE else 'lower'} than before: "
                f"{self.observed / self.visits:.3g} on average in {self.visits} visits, where "
                f"{self.expected / self.visits:.3g} was expected"
            )
        return (
            f"{self.support.state_name(self.next_state)} follows {self.direction} often than before: "
            f"{self.observed:.0f} times in {self.visits} visits, where {self.expected:.1f} were expected"
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
        statistics: what was seen before, if anything: the detector begins with estimates from it.

    Guarantee: with a ``model`` that is right, the mean number of steps until a false alarm is at least ``run_length``,
    and n steps raise one with probability n / run_length at most, whoever chooses the actions by what was seen before.
    Without one nothing is proven, as the forecasts are estimates. On logs of five kinds, with up to 36 components and
    losses down to a tenth of the cap, there was less than one false alarm in 100,000 steps at a ``run_length`` of
    10,000 (docs/how_to/change.md). Outcomes are to be entered in an order that does not depend on them. A step costs
    O(d^2 + m (d + 4)) for the m next states of its pair.

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
        self,
        support: Support,
        context_size: int,
        *,
        run_length: float = RUN_LENGTH,
        model: LinearCSSP | None = None,
        statistics: Statistics | None = None,
    ) -> None:
        self.support = check_type(support, Support, "support", SUPPORT_REMEDY)
        self.context_size = check_int(context_size, "context_size", least=1, most=2**31)
        self.run_length = check_float(run_length, "run_length", "steps until a false alarm, on average")
        if not 1.0 < self.run_length < math.inf:
            raise ArgumentError(
                f"run_length is {short_repr(run_length)}; it is a finite number of steps above 1, such as {RUN_LENGTH}"
            )
        check_memory(support.pairs * context_size**2 + support.triples * context_size, f"context_size {context_size}")
        self._sums = new_change_sums(support, self.context_size)
        if model is not None:
            self._sums.given[:] = True
            self._sums = self._sums._replace(given_means=self._means_of(model))
        self._work = kernels.new_change_workspace(support, self.context_size)
        self._effort = Effort()
        if statistics is not None:
            self._begin_with(statistics)

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
        return by_number(self.support, problem.probabilities, problem.losses)

    def _begin_with(self, seen: Statistics) -> None:
        """Take over the sums of the pairs all of whose outcomes are known, and of which nothing was guessed: contexts
        sum to 1, so their next states and their Gram matrix add up to their visits."""
        check_type(seen, Statistics, "statistics", "give those of a learner, or leave them out")
        if seen.support != self.support or seen.context_size != self.context_size:
            raise ArgumentError(f"statistics is {seen}, which has another support or context size than the detector")
        sums, visits = self._sums, seen.visits
        gram = seen.gram - seen.regularization * np.eye(self.context_size)
        follow = np.add.reduceat(seen.next_sums.sum(axis=1), self.support.next_start[:-1])
        sizes = np.stack([follow, gram.sum(axis=(1, 2))])
        known = (visits > 0) & (np.abs(sizes - visits) <= KNOWN * visits).all(axis=0)
        sums.visits[known] = visits[known]
        sums.gram[known] += gram[known]
        sums.inverse[known] = np.linalg.inv(sums.gram[known])
        of_triples = np.repeat(known, np.diff(self.support.next_start))
        kept = by_number(self.support, of_triples, known)
        sums.outcome_sums[kept] = by_number(self.support, seen.next_sums, seen.loss_sums)[kept]
        sums.overall[:] = seen.loss_sums[known].sum(), visits[known].sum()

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
        return int(run(self._sums, self._work, steps, cases.astype(np.int64, copy=False), self.run_length))

    def extended(self, support: Support) -> ChangeDetector:
        """Return one for a larger support that goes on with what this one has seen, which stays as it is.

        Pairs whose next states are the same go on; new ones, and those with new next states, begin with nothing. An
        action goes on with the evidence that all its pairs gave. Each sum that begins at 0 keeps the run length what it
        is.
        """
        places, old = match_support(support, self.support, name="the detector"), self.support
        if self.alarms:
            raise LearnerError(f"there is an alarm: {self.alarms[0]}. Settle it first, by acknowledge() or relearned()")
        again = ChangeDetector(support, self.context_size, run_length=self.run_length)
        if len(self._sums.given_means):
            means = np.zeros((support.triples + support.pairs, self.context_size))
            again._sums = again._sums._replace(given_means=means)
        sums, starts, starts_there = self._sums, part_starts(old), part_starts(support)
        same = np.diff(old.next_start) == np.diff(support.next_start)[places.pairs]
        for pair in np.flatnonzero(same).tolist():
            first, last = starts[pair : pair + 2]
            first_there, last_there = starts_there[places.pairs[pair] + np.arange(2)]
            there = slice(first_there, last_there)
            again._take(sums, (places.pairs[pair], there), (pair, slice(first, last)))
        for action in np.unique(old.pair_action):
            pair = int(np.argmax(old.pair_action == action))
            action_there = support.pair_action[places.pairs[pair]]
            first, there = starts[old.pairs + action], starts_there[support.pairs + action_there]
            again._sums.evidence[there : there + 2] = sums.evidence[first : first + 2]
        again._sums.overall[:], again._sums.steps[:] = sums.overall, sums.steps
        return again

    def _take(self, source: kernels.ChangeSums, at: tuple[int, slice], of: tuple[int, slice]) -> None:
        """Take over what was seen of a pair, given with its numbers: ``at`` here, ``of`` in the source."""
        for name in ("gram", "gram_low", "inverse", "visits", "given"):
            getattr(self._sums, name)[at[0]] = getattr(source, name)[of[0]]
        for name in ("evidence", "outcome_sums", "given_means"):
            if len(getattr(source, name)):
                getattr(self._sums, name)[at[1]] = getattr(source, name)[of[1]]

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
        fresh, starts = new_change_sums(self.support, self.context_size), self._work.part_start
        for pair in {pair for alarm in self.alarms for pair in alarm.pairs}:
            action = self.support.pairs + self.support.pair_action[pair]
            both = pair, slice(starts[pair], starts[pair + 1])
            self._take(fresh, both, both)
            self._sums.evidence[starts[action] : starts[action + 1]] = 0.0
        self._sums.alarm_step[:] = NO_ALARM
        self._sums.alarm_case[:] = NO_ALARM

    def _alarm(self, part: int) -> ChangeAlarm:
        sums, support = self._sums, self.support
        following: list[int | None]
        if part < support.pairs:
            of_part, following = [part], [None, *support.next_state[support.row(part)].tolist()]
        else:
            of_part = np.flatnonzero(support.pair_action == part - support.pairs).tolist()
            following = [support.states, None]
        first, last = self._work.part_start[part : part + 2]
        roberts = sums.evidence[first:last, :, kernels.ROBERTS]
        place, at = (int(index) for index in np.unravel_index(int(np.argmax(roberts)), roberts.shape))
        _, _, since_step, since_case, visits, expected, observed = sums.evidence[first + place, at].tolist()
        return ChangeAlarm(
            pairs=tuple(of_part),
            action=None if len(of_part) == 1 else part - support.pairs,
            next_state=following[place],
            direction=MORE if RATIOS[at] > 1.0 else LESS,
            since_step=int(since_step),
            since_case=int(since_case),
            step=int(sums.alarm_step[part]),
            case=int(sums.alarm_case[part]),
            visits=int(visits),
            expected=expected,
            observed=observed,
            evidence=float(roberts.mean()),
            support=support,
        )

    # What of it is in a file of a learner that is monitored.

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Return all that it has seen, by name, as writable views."""
        return named_arrays("change", self._sums)

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over the arrays of a file, checked."""
        given, width = arrays["change.given_means"], (self.support.triples + self.support.pairs, self.context_size)
        if given.shape not in ((0, self.context_size), width):
            raise FileFormatError(f"change.given_means has shape {given.shape}; it is empty or {width}")
        is_of_1_0 = "change.overall" not in arrays
        self._sums = sums = self._sums._replace(given_means=given.copy())
        for name, own in self.arrays():
            if not (is_of_1_0 and name == "change.overall"):
                own[...] = matching(arrays, name, own.shape, own.dtype)
        if sums.given.any() and not len(given):
            raise FileFormatError("change.given_means is empty, and the numbers of a pair are said to be given")
        for name in ("visits", "steps"):
            within(f"change.{name}", getattr(sums, name), 0, MANY)
        for name in ("alarm_step", "alarm_case"):
            within(f"change.{name}", getattr(sums, name), NO_ALARM, MANY)
        within("change.overall", sums.overall, 0.0, HUGE)
        within("change.evidence", np.delete(sums.evidence, kernels.CUSUM, axis=2), 0.0, HUGE)
        within("change.evidence", sums.evidence[:, :, kernels.STEP : kernels.EXPECTED], 0.0, MANY)
        if is_of_1_0:
            self._leave_ridge_of_1_0()
        within("change.inverse", np.diagonal(sums.inverse, axis1=1, axis2=2), 0.0, HUGE)
        if any(alarm.visits < 1 for alarm in self.alarms):
            raise FileFormatError("an alarm of the change detector has no visits")

    def _leave_ridge_of_1_0(self) -> None:
        """Replace the ridge of files of goalbound 1.0, one visit of each component with a loss of 0.5 and all next
        states alike, by that of today."""
        sums, counts = self._sums, np.diff(self.support.next_start)
        sums.gram[...] += kernels.pooled_ridge(self.context_size) - np.eye(self.context_size)
        sums.inverse[...] = np.linalg.inv(sums.gram)
        assumed = by_number(self.support, np.repeat(1.0 / counts, counts), np.full(len(counts), 0.5))
        sums.outcome_sums[...] -= assumed[:, None]
        losses = sums.outcome_sums[self._work.part_start[: self.support.pairs]]
        sums.overall[:] = max(losses.sum(), 0.0), sums.visits.sum()
