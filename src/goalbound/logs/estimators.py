"""The estimates of off-policy evaluation that need no proof: each from how often the cases of a log count."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.learners.prior import PriorKnowledge
from goalbound.logs.importance import (
    Cases,
    WeightedSteps,
    doubly_robust_terms,
    effective_cases,
    weighted_estimate,
    weighted_steps,
)
from goalbound.logs.log import Log
from goalbound.logs.log_model import Fit, LogModel, fit, log_model, policy_values
from goalbound.logs.policy_evaluation import DOUBLY_ROBUST, IMPORTANCE, MODEL, OBSERVED, PolicyEstimate
from goalbound.terminal import pluralize

FOLDS = 5
"""The model of a case in the doubly robust estimate is fitted to the other folds."""
FEW = 30
"""An effective sample size below it is pointed out."""
NAMED = 5
"""So many pairs are named in a note."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Estimator = Callable[[Ints], float]
"""From how often each of the n cases counts to an estimate in the scale of the losses; NaN where there is none."""


class Played(NamedTuple):
    """What the policy plays in n cases, which have G different contexts.

    Attributes:
        contexts: [G, d]
        pairs: [G, S] the pair of each state under each context.
        group: [n] which context each case has.
        starts: [n] the first state of each case.
    """

    contexts: Floats
    pairs: Ints
    group: Ints
    starts: Ints


class Question(NamedTuple):
    """What is asked, of which log and policy.

    Attributes:
        log, cases, played: the log, its cases, and what the policy plays in them.
        regularization, prior: how the model is fitted.
        never_tried: the pairs that the policy may come to play and that the log never tried, by name; "" if there are
            none.
    """

    log: Log
    cases: Cases
    played: Played
    regularization: float
    prior: PriorKnowledge | None
    never_tried: str

    @classmethod
    def of(
        cls, log: Log, cases: Cases, played: Played, *, regularization: float = 1.0, prior: PriorKnowledge | None = None
    ) -> Question:
        """... with the pairs that were never tried."""
        return cls(log, cases, played, regularization, prior, _never_tried(log, played))

    @property
    def cap(self) -> float:
        """What a loss of 1 is in the unit."""
        return self.log.cap

    @property
    def open(self) -> int:
        """How many cases are whole, but not at the goal."""
        return int(np.count_nonzero(self.cases.open))

    @property
    def broken(self) -> int:
        """How many cases lack a row between two steps."""
        return int(np.count_nonzero(~self.cases.whole))


def _never_tried(log: Log, played: Played) -> str:
    support = log.support
    tried = np.bincount(log.steps.pairs, minlength=support.pairs) > 0
    policies, number = np.unique(played.pairs, axis=0, return_inverse=True)
    begun = np.zeros((len(policies), support.states), dtype=np.bool_)
    begun[number.reshape(-1)[played.group], played.starts] = True
    found: set[int] = set()
    for policy, starts in zip(policies, begun, strict=True):
        waiting = np.flatnonzero(starts).tolist()
        reached = {support.states, *waiting}
        while waiting:
            pair = int(policy[waiting.pop()])
            if not tried[pair]:
                found.add(pair)
            new = set(support.next_state[support.row(pair)].tolist()) - reached
            reached |= new
            waiting.extend(new)
    names = [support.pair_name(pair) for pair in sorted(found)]
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


class Found(NamedTuple):
    """A row without its numbers, and what computes them; None where there is nothing to compute."""

    row: PolicyEstimate
    estimator: Estimator | None = None


def observed(question: Question) -> Found:
    """What was lost per closed case, whatever was done."""
    cases, log = question.cases, question.log
    if not cases.closed.any():
        return Found(PolicyEstimate(OBSERVED, missing="no case is closed, so no loss is complete"))
    totals = np.bincount(log.case_of, weights=log.steps.losses, minlength=log.cases)

    def estimator(counts: Ints) -> float:
        weights = counts * cases.closed
        return float(weights @ totals / weights.sum()) if weights.any() else math.nan

    notes = [] if not question.open else [
        f"{pluralize(question.open, 'open case')} left out, whose loss is not complete; if the long ones are open, the "
        "mean is too small"
    ]  # fmt: skip
    return Found(PolicyEstimate(OBSERVED, cases=int(cases.closed.sum()), notes=(*notes, *_broken(question))), estimator)


def model_value(question: Question) -> Found:
    """The value of the policy in the projected ridge estimate of the log."""
    log, played = question.log, question.played
    model = _log_model(question)
    whole = fit(model, np.ones(log.cases))

    def estimator(counts: Ints) -> float:
        fitted = whole if (counts == 1).all() else fit(model, counts, start=whole)
        values = policy_values(model, fitted, played.contexts, played.pairs)
        used = counts > 0
        return float(counts[used] @ values[played.group, played.starts][used] / counts.sum())

    notes = [] if not question.open else [
        f"{pluralize(question.open, 'open case')} used for the fit and averaged over as all others: no value is cut off"
    ]  # fmt: skip
    lost = int(np.isinf(policy_values(model, whole, played.contexts, played.pairs)[played.group, played.starts]).sum())
    notes.append(
        "the ridge pulls pairs with few steps towards no loss and the goal: the value is rather too small, and the "
        "interval does not show it"
    )
    if lost:
        notes.append(f"in {pluralize(lost, 'case')} the policy may never arrive in the estimate")
    if question.never_tried:
        notes.append(
            f"never tried: {question.never_tried}. Unless prior knowledge says otherwise, such a pair is estimated to "
            "lose nothing and, where it can, to lead to the goal at once: the value is likely to be too small"
        )
    return Found(PolicyEstimate(MODEL, cases=log.cases, notes=tuple(notes)), estimator)


def _log_model(question: Question) -> LogModel:
    return log_model(
        question.log, question.played.pairs, regularization=question.regularization, prior=question.prior
    )  # fmt: skip


def weighted(question: Question, rng: np.random.Generator) -> tuple[Found, Found]:
    """Weighted importance sampling per decision, and the doubly robust estimate."""
    log, cases, played = question.log, question.cases, question.played
    missing = ""
    if log.probabilities is None:
        missing = "the log has no probabilities of actions; name their column: LogColumns(probability=...)"
    else:
        steps = weighted_steps(log, cases, played.pairs[played.group])
        last = steps.last * cases.whole
        if not np.isfinite(steps.weights).all():
            missing = "the weight of a case is larger than floats can be: the policy is too unlike what was done"
        elif not last.any():
            never = question.never_tried
            missing = "the effective sample size is 0: no case of the log followed the policy to its end" + (
                f" (never tried: {never})" if never else ""
            )
    if missing:
        return Found(PolicyEstimate(IMPORTANCE, missing=missing)), Found(PolicyEstimate(DOUBLY_ROBUST, missing=missing))
    size = effective_cases(last)
    shared = _weight_notes(question, size)
    notes = [] if not question.open else [
        f"{pluralize(question.open, 'open case')} with the losses so far, as if ended there: biased low"
    ]  # fmt: skip
    row = PolicyEstimate(
        IMPORTANCE, cases=int(cases.whole.sum()), effective_cases=size, notes=(*notes, *shared)
    )  # fmt: skip
    weighted = Found(row, lambda counts: weighted_estimate(steps, counts * cases.whole))
    return weighted, _doubly_robust(question, steps, rng, size, shared)


def _weight_notes(question: Question, size: float) -> tuple[str, ...]:
    notes = list(_broken(question))
    if question.never_tried:
        notes.append(f"never tried: {question.never_tried}. No weighted step shows what follows there")
    if size < FEW:
        notes.append(f"the effective sample size is {size:.1f}: a few cases decide, and the interval is too narrow")
    return tuple(notes)


def _doubly_robust(
    question: Question, steps: WeightedSteps, rng: np.random.Generator, size: float, shared: tuple[str, ...]
) -> Found:
    cases, played = question.cases, question.played
    if question.log.cases < 2:
        return Found(PolicyEstimate(DOUBLY_ROBUST, missing="one case only: no model can be fitted without it"))
    values = _values_without_own_fold(question, rng)
    needed = (values[steps.case, steps.states], values[steps.case, steps.next_states],
              values[np.arange(len(values)), played.starts])  # fmt: skip
    if not all(np.isfinite(one).all() for one in needed):
        missing = "the policy may not arrive in the model that is fitted without the fold of a case"
        return Found(PolicyEstimate(DOUBLY_ROBUST, missing=missing))
    terms = doubly_robust_terms(steps, values, played.starts)

    def estimator(counts: Ints) -> float:
        weights = counts * cases.whole
        return float(weights @ terms / weights.sum()) if weights.any() else math.nan

    notes = [] if not question.open else [
        f"the rest of {pluralize(question.open, 'open case')} is that of the model, from the last state on"
    ]  # fmt: skip
    row = PolicyEstimate(
        DOUBLY_ROBUST, cases=int(cases.whole.sum()), effective_cases=size, notes=(*notes, *shared)
    )  # fmt: skip
    return Found(row, estimator)


def _values_without_own_fold(question: Question, rng: np.random.Generator) -> Floats:
    """[n, S + 1] the values of the policy for each case, by a model that has not seen it."""
    played, cases = question.played, question.log.cases
    model = _log_model(question)
    fold = rng.permutation(cases) % min(FOLDS, cases)
    values = np.empty((cases, question.log.support.states + 1))
    fitted: Fit | None = None
    for number in range(fold.max() + 1):
        fitted = fit(model, (fold != number).astype(np.float64), start=fitted)
        own = fold == number
        group = played.group[own]
        values[own] = policy_values(model, fitted, played.contexts[group], played.pairs[group])
    return values


def _broken(question: Question) -> tuple[str, ...]:
    if not question.broken:
        return ()
    return (f"{pluralize(question.broken, 'case')} left out, with a row missing between two steps",)


def general_notes(question: Question) -> tuple[str, ...]:
    """What to know about all rows."""
    log, cases = question.log, question.cases
    first = np.repeat(cases.first, np.diff(cases.start))
    moved = (log.steps.contexts[cases.order] != log.steps.contexts[first]).any(axis=1)
    changing = len(np.unique(log.case_of[cases.order][moved]))
    notes = ["bootstrap intervals are for a policy that was chosen without this log"]
    if changing:
        notes.append(
            f"the context changes in {pluralize(changing, 'case')}: model and bounds keep that of the first step, the "
            "weighted estimates have it as it went"
        )
    if log.clipped:
        notes.append(
            f"{pluralize(log.clipped, 'step')} with a loss above the cap, counted as the cap: true losses are larger"
        )
    if log.skipped:
        notes.append(f"{pluralize(len(log.skipped), 'row')} of the table were skipped: a case may lack its first steps")
    notes.append("no log can show whether actions depended on something that was not recorded; then all rows are wrong")
    return tuple(notes)
