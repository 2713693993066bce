"""Off-policy evaluation: what another policy would have lost in the cases of a log."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalbound.adapters.covariates import CovariateLearner, map_digest
from goalbound.around.around import Around
from goalbound.around.contexts import MappedContexts
from goalbound.confidence.widths import rule_names
from goalbound.errors import ArgumentError, GoalboundError, InputError
from goalbound.learners.answers import plausible
from goalbound.learners.card import PROVEN, learner_card
from goalbound.learners.learner import RidgeLearner
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.logs.estimators import (
    Cases,
    Fit,
    LogModel,
    WeightedSteps,
    cases_of,
    check_probabilities,
    doubly_robust_terms,
    effective_cases,
    fit,
    log_model,
    policy_values,
    weighted_estimate,
    weighted_steps,
)
from goalbound.logs.log import Log
from goalbound.models.validation import check_fraction, check_generator, check_int, check_type, set_readonly
from goalbound.planning import policy_bounds
from goalbound.planning.policy_bounds import policy_pairs
from goalbound.terminal import one_line, pluralize, table

OBSERVED = "observed"
MODEL = "model"
IMPORTANCE = "importance sampling"
DOUBLY_ROBUST = "doubly robust"
BOUNDS = "bounds"
ROUNDING = 1e-15
"""Relative; more than the rounding of an average and of its conversion to the unit."""
FOLDS = 5
"""The model of a case in the doubly robust estimate is fitted to the other folds."""
FEW = 30
"""An effective sample size below it is pointed out."""
NAMED = 5
"""So many pairs are named in a note."""
WIDTH = 110
"""Characters of a line of notes."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Policy = ArrayLike | Mapping[Any, Any]
Estimator = Callable[[Ints], float]
"""From how often each of the n cases counts to an estimate in the scale of the losses; NaN where there is none."""


@dataclass(frozen=True)
class PolicyEstimate:
    """One way to say what a policy would have lost per case; a row of the table. Losses are in the unit.

    Attributes:
        method: "observed", "model", "importance sampling", "doubly robust" or "bounds".
        value: the estimate; None where there is none.
        low, high: the interval; None where there is none.
        proven: whether the interval is proven; those by bootstrap are not.
        cases: how many cases were averaged over.
        effective_cases: the effective sample size of the weights, for importance sampling; else None.
        missing: why there is neither an estimate nor an interval; "" if there is one.
        notes: what to know about the numbers: what became of open cases, what the log does not hold.
    """

    method: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    proven: bool = False
    cases: int = 0
    effective_cases: float | None = None
    missing: str = ""
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        numbers = {name: _json_number(getattr(self, name)) for name in ("value", "low", "high")}
        return {**asdict(self), **numbers, "notes": list(self.notes)}


@dataclass(frozen=True)
class PolicyEvaluation:
    """What a policy would have lost per case, on average over the cases of a log; ``str`` of it is for people.

    Attributes:
        observed: what was lost per closed case, whatever was done.
        model: the value of the policy in the projected ridge estimate of the log.
        importance: the weighted importance sampling estimate per decision.
        doubly_robust: importance sampling of what the model does not explain.
        bounds: the average of the learner's bounds of the policy.
        unit: of all losses; "" if they have none.
        cases: in the log; open_cases: of these, whole but not at the goal; broken_cases: with a row missing.
        level: of the bootstrap intervals; replicates: how many resamples they are from.
        notes: what to know about all rows.
    """

    observed: PolicyEstimate
    model: PolicyEstimate
    importance: PolicyEstimate
    doubly_robust: PolicyEstimate
    bounds: PolicyEstimate
    unit: str
    cases: int
    open_cases: int
    broken_cases: int
    level: float
    replicates: int
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[PolicyEstimate, ...]:
        """The estimates in the order of the table."""
        return self.observed, self.model, self.importance, self.doubly_robust, self.bounds

    def __str__(self) -> str:
        shown = table(self._head(), [_cells(row) for row in self.rows], "lrrrrrl")
        notes = (textwrap.fill(f"- {note}", WIDTH, subsequent_indent="  ") for note in self._all_notes())
        return "\n".join([shown, *notes])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self._head())
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in _cells(row)) + "</tr>" for row in self.rows
        )
        notes = "".join(f"<li>{escape(note)}</li>" for note in self._all_notes())
        return f"<table><tr>{head}</tr>{body}</table><ul>{notes}</ul>"

    def as_json(self) -> dict[str, Any]:
        """What :mod:`json` writes as it is: infinite numbers are the text "infinite", what there is not is null."""
        names = ("unit", "cases", "open_cases", "broken_cases", "level", "replicates")
        found = {name: getattr(self, name) for name in names}
        return {**found, "rows": [row.as_json() for row in self.rows], "notes": list(self.notes)}

    def _head(self) -> list[str]:
        unit = f", {one_line(self.unit)}" if self.unit else ""
        return [f"loss per case{unit}", "estimate", "from", "to", "cases", "effective", "interval"]

    def _all_notes(self) -> list[str]:
        notes = [
            f"{row.method}: {one_line(note)}"
            for row in self.rows
            for note in ((row.missing,) if row.missing else row.notes)
        ]
        return [*notes, *map(one_line, self.notes)]


def evaluate_policy(
    log: Log,
    policy: Policy | Callable[[Floats], Policy],
    *,
    learner: RidgeLearner | Around | None = None,
    replicates: int = 200,
    level: float = 0.95,
    bounded_cases: int | None = 500,
    rng: np.random.Generator | None = None,
) -> PolicyEvaluation:
    """What a policy would have lost per case, on average over the contexts and first states of the cases of a log.

    Args:
        log: of :func:`~goalbound.logs.read_log`; importance sampling needs probabilities of actions.
        policy: an action for each state, by numbers or names (:func:`goalbound.policy_bounds`), for all contexts; or a
            function from a context [d] to such a policy, which is called once for each different context.
        learner: an :class:`~goalbound.LRCSSP` that has learned the log, for proven bounds. Its regularization and
            prior knowledge are also those of the model; that of any learner by ridge regression will do for these. It
            may be behind the map that the log was read with, monitored, and act by a runbook; its unit is the log's.
        replicates: how many resamples of the cases the bootstrap intervals are from; 0: no intervals.
        level: of these intervals.
        bounded_cases: the bounds are those of at most so many cases, drawn at random where there are more with
            different contexts; the result says so. None: all cases.
        rng: for resamples, folds and draws; left out, fresh entropy.

    The context and the policy of a case are those of its first step. The result has five rows:

    - *observed*: the mean loss of the closed cases, whatever was done in them. Open cases are left out.
    - *model*: the value of the policy in the projected ridge estimate of all steps, averaged over all cases, open ones
      too. The bootstrap resamples cases and fits again; it does not show the bias of the ridge, which
      pulls pairs with few steps towards no loss and the goal.
    - *importance sampling*: :func:`~goalbound.logs.estimators.weighted_estimate`. Open cases count as if they had
      ended: biased low.
    - *doubly robust*: :func:`~goalbound.logs.estimators.doubly_robust_terms`, with models fitted without the fold of
      the case. The bootstrap resamples cases and keeps these models. Open cases are completed by the model.
    - *bounds*: the average of the learner's least and largest losses. If the sets of a proven learner hold the truth,
      which they do with probability 1 - delta, for all contexts and policies at once, then the average of the policy's
      values lies between the averages of its bounds, also if the policy was chosen by looking at the log.

    Only the last interval is proven. The others are about a policy that was chosen without looking at the log. All rows
    fail if actions depended on something that was not recorded.

    >>> from goalbound.logs import LogColumns, read_log
    >>> rows = {"case": [1, 2, 3], "time": [0, 1, 2], "state": ["ill"] * 3, "action": ["wait", "drug", "drug"],
    ...         "loss": [0.5, 0.1, 0.3], "next_state": ["goal"] * 3, "probability": [0.5, 0.5, 0.5]}
    >>> log = read_log(rows, columns=LogColumns(probability="probability"))
    >>> found = evaluate_policy(log, {"ill": "drug"}, replicates=0)
    >>> round(found.observed.value, 3), found.importance.value, found.importance.effective_cases  # (0.1 + 0.3) / 2
    (0.3, 0.2, 2.0)
    >>> found.bounds.missing
    'no learner was given; give learner=LRCSSP(...) that has learned the log'
    """
    check_type(log, Log, "log", "give what read_log(...) gives")
    learner = _checked_learner(log, learner)
    replicates = check_int(replicates, "replicates", least=0, most=10**6)
    level = check_fraction(level, "level", "how often the bootstrap intervals are meant to hold")
    if bounded_cases is not None:
        bounded_cases = check_int(bounded_cases, "bounded_cases", least=1)
    rng = np.random.default_rng() if rng is None else check_generator(rng)
    if log.probabilities is not None:
        check_probabilities(log)
    asked = _asked(log, policy, learner)
    rows = [_observed(asked), _model_value(asked), *_weighted(asked, rng)]
    bounds = _bounds(asked, learner, bounded_cases, rng)
    by_log, by_model, by_weights, both = _with_intervals(rows, asked, replicates, level, rng)
    return PolicyEvaluation(
        observed=by_log,
        model=by_model,
        importance=by_weights,
        doubly_robust=both,
        bounds=bounds,
        unit=log.unit,
        cases=log.cases,
        open_cases=int(np.count_nonzero(asked.cases.open)),
        broken_cases=int(np.count_nonzero(~asked.cases.whole)),
        level=level,
        replicates=replicates,
        notes=_general_notes(asked),
    )


class _Asked(NamedTuple):
    """The policy in the n cases of a log, which have G different contexts.

    Attributes:
        contexts: [G, d]
        pairs: [G, S] the pair of each state under each context.
        group: [n] which context each case has.
        starts: [n] the first state of each case.
        model: the steps from which these pairs are estimated.
        open, broken: notes on open cases and on those with a row missing; "" if there are none.
        never_tried: the pairs that the policy may come to play and that the log never tried, by name; "" if none.
    """

    log: Log
    cases: Cases
    contexts: Floats
    pairs: Ints
    group: Ints
    starts: Ints
    model: LogModel
    open: str
    broken: tuple[str, ...]
    never_tried: str


def _asked(log: Log, policy: Any, learner: RidgeLearner | None) -> _Asked:
    cases = cases_of(log)
    contexts, group = np.unique(log.steps.contexts[cases.first], axis=0, return_inverse=True)
    starts = log.support.pair_state[log.steps.pairs[cases.first]].astype(np.int64)
    if callable(policy):
        pairs = np.array([_pairs_under(log, policy, context) for context in contexts])
    else:
        pairs = np.tile(policy_pairs(log.support, policy), (len(contexts), 1))
    if learner is None:
        model = log_model(log, pairs)
    else:
        model = log_model(log, pairs, regularization=learner.settings.regularization, prior=learner.prior)
    is_open, broken = np.count_nonzero(cases.open), np.count_nonzero(~cases.whole)
    group = group.reshape(-1)
    return _Asked(
        log,
        cases,
        contexts,
        pairs,
        group,
        starts,
        model,
        pluralize(int(is_open), "open case") if is_open else "",
        (f"{pluralize(int(broken), 'case')} left out, with a row missing between two steps",) if broken else (),
        never_tried(log, pairs, group, starts),
    )


def _pairs_under(log: Log, policy: Callable[[Floats], Policy], context: Floats) -> Ints:
    try:
        return policy_pairs(log.support, policy(set_readonly(context.copy())))
    except InputError as error:
        raise ArgumentError(f"policy({context.tolist()}): {error}") from None
    except GoalboundError:
        raise
    except Exception as error:  # whatever a function of the caller raises
        raise ArgumentError(
            f"policy({context.tolist()}) raised {type(error).__name__} ({error!s:.200}); it is a function from a "
            "context to a policy"
        ) from error


def never_tried(log: Log, pairs: Ints, group: Ints, starts: Ints) -> str:
    """The names of the pairs that policies may come to play and that the log never tried; "" if there are none.

    Of pairs [G, S] case i plays the row ``group[i]``, and begins in the state ``starts[i]``.
    """
    support = log.support
    tried = np.bincount(log.steps.pairs, minlength=support.pairs) > 0
    policies, number = np.unique(pairs, axis=0, return_inverse=True)
    begun = np.zeros((len(policies), support.states), dtype=np.bool_)
    begun[number.reshape(-1)[group], starts] = True
    untried: set[int] = set()
    for policy, first in zip(policies, begun, strict=True):
        waiting = np.flatnonzero(first).tolist()
        reached = {support.states, *waiting}
        while waiting:
            pair = int(policy[waiting.pop()])
            if not tried[pair]:
                untried.add(pair)
            new = set(support.next_state[support.row(pair)].tolist()) - reached
            reached |= new
            waiting.extend(new)
    names = [support.pair_name(pair) for pair in sorted(untried)]
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def _checked_learner(log: Log, given: Any) -> RidgeLearner | None:
    """The learner by ridge regression, whatever is around it; None if there is none."""
    if given is None:
        return None
    learner = _inside(log, given)
    check_type(learner, RidgeLearner, "learner", "give an LRCSSP or another learner by ridge regression, or leave out")
    learner._plain_log(log)  # an error if it was read with another unit
    if learner.support != log.support:
        raise ArgumentError(
            f"learner has another support ({learner.support}) than the log ({log.support}), or other names; read the "
            "log with support=learner.support"
        )
    if learner.context_size != log.context_size:
        raise ArgumentError(
            f"learner has contexts of {learner.context_size} entries, and the log of {log.context_size}"
        )
    return learner


def _inside(log: Log, learner: Any) -> Any:
    """The innermost learner; an error unless the log was read with its map and unit."""
    while isinstance(learner, Around):
        if isinstance(learner, CovariateLearner) and map_digest(learner.map) != log.map_digest:
            raise ArgumentError(
                "learner has another map of covariates than the log was read with; read it with "
                "covariate_map=learner.map, or give learner.inner if its contexts are those of the log"
            )
        if isinstance(learner, MappedContexts):
            raise ArgumentError(
                f"learner is a {type(learner).__name__}, whose contexts are not those of the log; give learner.inner "
                "and a log that was read with its contexts"
            )
        learner = learner.inner
    return learner


class _Row(NamedTuple):
    """A row without its numbers, and what computes them; None where there is nothing to compute."""

    row: PolicyEstimate
    estimator: Estimator | None = None


def _observed(asked: _Asked) -> _Row:
    """What was lost per closed case, whatever was done."""
    closed, log = asked.cases.closed, asked.log
    if not closed.any():
        return _Row(PolicyEstimate(OBSERVED, missing="no case is closed, so no loss is complete"))
    totals = np.bincount(log.case_of, weights=log.steps.losses, minlength=log.cases)
    notes = list(asked.broken)
    if asked.open:
        notes.insert(
            0, f"{asked.open} left out, whose loss is not complete; if the long ones are open, the mean is too small"
        )
    row = PolicyEstimate(OBSERVED, cases=int(closed.sum()), notes=tuple(notes))
    return _Row(row, lambda counts: _weighted_mean(counts * closed, totals))


def _weighted_mean(weights: Ints, values: NDArray[Any]) -> float:
    return float(weights @ values / weights.sum()) if weights.any() else math.nan


def _model_value(asked: _Asked) -> _Row:
    """The value of the policy in the projected ridge estimate of the log."""
    model, place = asked.model, (asked.group, asked.starts)
    whole = fit(model, np.ones(asked.log.cases))

    def estimator(counts: Ints) -> float:
        fitted = whole if (counts == 1).all() else fit(model, counts, start=whole)
        values = policy_values(model, fitted, asked.contexts, asked.pairs)
        used = counts > 0
        return float(counts[used] @ values[place][used] / counts.sum())

    notes = (
        [f"{asked.open} used for the fit and averaged over as all others: no value is cut off"] if asked.open else []
    )
    notes.append(
        "the ridge pulls pairs with few steps towards no loss and the goal: the value is rather too small, and the "
        "interval does not show it"
    )
    lost = int(np.isinf(policy_values(model, whole, asked.contexts, asked.pairs)[place]).sum())
    if lost:
        notes.append(f"in {pluralize(lost, 'case')} the policy may never arrive in the estimate")
    if asked.never_tried:
        notes.append(
            f"never tried: {asked.never_tried}. Unless prior knowledge says otherwise, such a pair is estimated to "
            "lose nothing and, where it can, to lead to the goal at once: the value is likely to be too small"
        )
    return _Row(PolicyEstimate(MODEL, cases=asked.log.cases, notes=tuple(notes)), estimator)


def _weighted(asked: _Asked, rng: np.random.Generator) -> tuple[_Row, _Row]:
    """Weighted importance sampling per decision, and the doubly robust estimate."""
    missing, never, whole = "", asked.never_tried, asked.cases.whole
    if asked.log.probabilities is None:
        missing = "the log has no probabilities of actions; name their column: LogColumns(probability=...)"
    else:
        steps = weighted_steps(asked.log, asked.cases, asked.pairs[asked.group])
        last = steps.last * whole
        if not np.isfinite(steps.weights).all():
            missing = "the weight of a case is larger than floats can be: the policy is too unlike what was done"
        elif not last.any():
            untried = f" (never tried: {never})" if never else ""
            missing = f"the effective sample size is 0: no case of the log followed the policy to its end{untried}"
    if missing:
        return _Row(PolicyEstimate(IMPORTANCE, missing=missing)), _Row(PolicyEstimate(DOUBLY_ROBUST, missing=missing))
    size = effective_cases(last)
    notes = list(asked.broken)
    if never:
        notes.append(f"never tried: {never}. No weighted step shows what follows there")
    if size < FEW:
        notes.append(f"the effective sample size is {size:.1f}: a few cases decide, and the interval is too narrow")
    as_ended = [f"{asked.open} with the losses so far, as if ended there: biased low"] if asked.open else []
    row = PolicyEstimate(IMPORTANCE, cases=int(whole.sum()), effective_cases=size, notes=(*as_ended, *notes))
    by_model = [f"the rest of {asked.open} is that of the model, from the last state on"] if asked.open else []
    both = replace(row, method=DOUBLY_ROBUST, notes=(*by_model, *notes))
    importance = _Row(row, lambda counts: weighted_estimate(steps, counts * whole))
    return importance, _doubly_robust(asked, steps, rng, both)


def _doubly_robust(asked: _Asked, steps: WeightedSteps, rng: np.random.Generator, row: PolicyEstimate) -> _Row:
    cases = asked.log.cases
    if cases < 2:
        return _Row(PolicyEstimate(DOUBLY_ROBUST, missing="one case only: no model can be fitted without it"))
    values = _values_without_own_fold(asked, rng)
    begins = values[np.arange(cases), asked.starts]
    needed = values[steps.case, steps.states], values[steps.case, steps.next_states], begins
    if not all(np.isfinite(each).all() for each in needed):
        missing = "the policy may not arrive in the model that is fitted without the fold of a case"
        return _Row(PolicyEstimate(DOUBLY_ROBUST, missing=missing))
    terms = doubly_robust_terms(steps, values, asked.starts)
    return _Row(row, lambda counts: _weighted_mean(counts * asked.cases.whole, terms))


def _values_without_own_fold(asked: _Asked, rng: np.random.Generator) -> Floats:
    """[n, S + 1] the values of the policy for each case, by a model that has not seen it."""
    cases = asked.log.cases
    fold = rng.permutation(cases) % min(FOLDS, cases)
    values = np.empty((cases, asked.log.support.states + 1))
    fitted: Fit | None = None
    for number in range(fold.max() + 1):
        fitted = fit(asked.model, (fold != number).astype(np.float64), start=fitted)
        own = fold == number
        group = asked.group[own]
        values[own] = policy_values(asked.model, fitted, asked.contexts[group], asked.pairs[group])
    return values


def _bounds(asked: _Asked, learner: RidgeLearner | None, most: int | None, rng: np.random.Generator) -> PolicyEstimate:
    """The average of the learner's bounds; if they are not proven, the reason."""
    log = asked.log
    missing = _not_proven(log, learner)
    if missing:
        return PolicyEstimate(BOUNDS, missing=missing)
    assert isinstance(learner, LRCSSP)
    sure = 1.0 - (learner_card(learner).delta or 0.0)
    notes = [f"with probability {sure:g} they hold, together with all other bounds of this learner"]
    chosen = np.arange(log.cases)
    if most is not None and len(asked.contexts) > most:
        chosen = np.sort(rng.choice(log.cases, most, replace=False))
        notes.append(
            f"of {most} of {log.cases} cases, drawn at random, and proven for these; bounded_cases=None bounds all"
        )
    low, high = np.empty(len(chosen)), np.empty(len(chosen))
    for group in np.unique(asked.group[chosen]).tolist():
        actions = learner.support.pair_action[asked.pairs[group]]
        found = policy_bounds(plausible(learner, asked.contexts[group]), actions)  # in [0, 1], as the log
        own = asked.group[chosen] == group
        low[own], high[own] = found.lower[asked.starts[chosen][own]], found.upper[asked.starts[chosen][own]]
    finite = np.isfinite(high)
    if not finite.all():
        rest = f"; the others lose at most {log.cap * _mean(high[finite]):.4g} on average" if finite.any() else ""
        lost = pluralize(len(high) - int(finite.sum()), "case")
        notes.append(f"in {lost} a plausible model may never arrive, so there is no upper bound{rest}")
    seen = int(learner.statistics.visits.sum())
    if seen < len(log):
        notes.append(f"the learner has seen {seen} steps, and the log has {len(log)}: learner.learn_log(log) first")
    return PolicyEstimate(
        BOUNDS,
        low=log.cap * _mean(low) * (1.0 - ROUNDING),
        high=log.cap * _mean(high) * (1.0 + ROUNDING),
        proven=True,
        cases=len(chosen),
        notes=tuple(notes),
    )


def _mean(values: Floats) -> float:
    return math.fsum(values.tolist()) / len(values)


def _not_proven(log: Log, learner: RidgeLearner | None) -> str:
    """Why there are no proven bounds; "" if there are."""
    if learner is None:
        return "no learner was given; give learner=LRCSSP(...) that has learned the log"
    if not isinstance(learner, LRCSSP):
        return f"a {type(learner).__name__} has no confidence sets; give an LRCSSP"
    if not learner.settings.widths.proven:
        proven = rule_names(lambda rule: rule.proven)
        return f"the sets of this learner are not proven ({learner}); give an LRCSSP with one of {proven}"
    if learner.alarm is not None:
        return f"what the learner saw contradicts its model ({learner.alarm})"
    if log.support_inferred:
        return "the support was inferred from the log, so nothing is proven; read the log with a support"
    chosen = sum(one.outcome for one in log.skipped)
    if chosen:
        return f"{pluralize(chosen, 'row')} skipped because of the loss or the next state, so nothing is proven"
    if learner.caveats:
        return f"nothing of what this learner has learned is proven: {'; '.join(learner.caveats)}"
    if learner_card(learner).guarantee != PROVEN:
        return f"{learner} does not say that its sets are proven; give an LRCSSP"
    return ""


def _with_intervals(
    rows: Sequence[_Row], asked: _Asked, replicates: int, level: float, rng: np.random.Generator
) -> list[PolicyEstimate]:
    """The rows with their estimates and percentile bootstrap intervals; all are from the same resamples."""
    estimators = [row.estimator for row in rows if row.estimator is not None]
    size = asked.log.cases
    values = [estimator(np.ones(size, dtype=np.int64)) for estimator in estimators]
    drawn = np.empty((replicates, len(estimators)))
    for replicate in range(replicates):
        counts = np.bincount(rng.integers(size, size=size), minlength=size)
        drawn[replicate] = [estimator(counts) for estimator in estimators]
    numbers = iter(zip(values, drawn.T, strict=True))
    return [
        row.row if row.estimator is None else _completed(row.row, *next(numbers), asked.log.cap, level) for row in rows
    ]


def _completed(row: PolicyEstimate, value: float, drawn: Floats, cap: float, level: float) -> PolicyEstimate:
    row = replace(row, value=cap * value)
    if not len(drawn):
        return row
    undefined = int(np.isnan(drawn).sum())
    if undefined:
        note = f"no interval: {undefined} of {len(drawn)} resamples hold no case that the estimate can be made of"
        return replace(row, notes=(*row.notes, note))
    tails = (1.0 - level) / 2.0, (1.0 + level) / 2.0
    low, high = np.quantile(drawn, tails, method="inverted_cdf")  # never between a number and infinity
    return replace(row, low=cap * float(low), high=cap * float(high))


def _general_notes(asked: _Asked) -> tuple[str, ...]:
    """What to know about all rows."""
    log, cases = asked.log, asked.cases
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


def _cells(row: PolicyEstimate) -> list[str]:
    if row.missing:
        return [row.method, "-", "-", "-", "-", "-", "none: see below"]
    kind = "-" if row.low is None else ("proven" if row.proven else "bootstrap, not proven")
    effective = "-" if row.effective_cases is None else f"{row.effective_cases:.1f}"
    return [row.method, _number(row.value), _number(row.low), _number(row.high), str(row.cases), effective, kind]


def _number(number: float | None) -> str:
    return "-" if number is None else ("infinite" if np.isinf(number) else f"{number:.4g}")


def _json_number(number: float | None) -> float | str | None:
    return number if number is None or np.isfinite(number) else "infinite"
