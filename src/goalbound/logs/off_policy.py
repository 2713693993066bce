"""Off-policy evaluation: what another policy would have lost in the cases of a log."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

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
from goalbound.logs.estimators import Found, Played, Question, general_notes, model_value, observed, weighted
from goalbound.logs.importance import Cases, cases_of, check_probabilities
from goalbound.logs.log import Log
from goalbound.logs.policy_evaluation import BOUNDS, PolicyEstimate, PolicyEvaluation
from goalbound.models.validation import check_fraction, check_generator, check_int, check_type, set_readonly
from goalbound.planning import policy_bounds
from goalbound.planning.policy_bounds import policy_pairs
from goalbound.terminal import pluralize

ROUNDING = 1e-15
"""Relative; more than the rounding of an average and of its conversion to the unit."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Policy = ArrayLike | Mapping[Any, Any]


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
    - *importance sampling*: :func:`~goalbound.logs.importance.weighted_estimate`. Open cases count as if they had
      ended: biased low.
    - *doubly robust*: :func:`~goalbound.logs.importance.doubly_robust_terms`, with models fitted without the fold of
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
    cases = cases_of(log)
    played = _played(log, policy, cases)
    if learner is None:
        question = Question.of(log, cases, played)
    else:
        question = Question.of(
            log, cases, played, regularization=learner.settings.regularization, prior=learner.prior
        )  # fmt: skip
    found = [observed(question), model_value(question), *weighted(question, rng)]
    bounds = _bounds(question, learner, bounded_cases, rng)
    by_log, by_model, by_weights, both = _with_intervals(found, question, replicates, level, rng)
    return PolicyEvaluation(
        observed=by_log, model=by_model, importance=by_weights, doubly_robust=both, bounds=bounds,
        unit=log.unit, cases=log.cases, open_cases=question.open,
        broken_cases=question.broken, level=level, replicates=replicates, notes=general_notes(question),
    )  # fmt: skip


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


def _played(log: Log, policy: Any, cases: Cases) -> Played:
    contexts, group = np.unique(log.steps.contexts[cases.first], axis=0, return_inverse=True)
    starts = log.support.pair_state[log.steps.pairs[cases.first]].astype(np.int64)
    if callable(policy):
        pairs = np.array([_pairs_under(log, policy, context) for context in contexts])
    else:
        pairs = np.tile(policy_pairs(log.support, policy), (len(contexts), 1))
    return Played(contexts, pairs, group.reshape(-1), starts)


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


def _bounds(
    question: Question, learner: RidgeLearner | None, most: int | None, rng: np.random.Generator
) -> PolicyEstimate:
    """The average of the learner's bounds; if they are not proven, the reason."""
    missing = _not_proven(question.log, learner)
    if missing:
        return PolicyEstimate(BOUNDS, missing=missing)
    assert isinstance(learner, LRCSSP)
    log, played = question.log, question.played
    chosen, notes = np.arange(log.cases), list[str]()
    if most is not None and len(played.contexts) > most:
        chosen = np.sort(rng.choice(log.cases, most, replace=False))
        notes.append(
            f"of {most} of {log.cases} cases, drawn at random, and proven for these; bounded_cases=None bounds all"
        )
    lower, upper = _bounds_of_groups(learner, played, np.unique(played.group[chosen]))
    place = played.group[chosen], played.starts[chosen]
    low, high = lower[place], upper[place]
    sure = 1.0 - (learner_card(learner).delta or 0.0)
    notes.insert(0, f"with probability {sure:g} they hold, together with all other bounds of this learner")
    finite = np.isfinite(high)
    if not finite.all():
        others = (
            "" if not finite.any() else f"; the others lose at most {question.cap * _mean(high[finite]):.4g} on average"
        )
        lost = pluralize(len(high) - int(finite.sum()), "case")
        notes.append(f"in {lost} a plausible model may never arrive, so there is no upper bound{others}")
    seen = int(learner.statistics.visits.sum())
    if seen < len(log):
        notes.append(f"the learner has seen {seen} steps, and the log has {len(log)}: learner.learn_log(log) first")
    return PolicyEstimate(
        BOUNDS, None, question.cap * _mean(low) * (1.0 - ROUNDING), question.cap * _mean(high) * (1.0 + ROUNDING),
        proven=True, cases=len(chosen), notes=tuple(notes),
    )  # fmt: skip


def _mean(values: Floats) -> float:
    return math.fsum(values.tolist()) / len(values)


def _bounds_of_groups(learner: LRCSSP, played: Played, groups: Ints) -> tuple[Floats, Floats]:
    """[G, S + 1] the lower and upper bounds under the contexts asked for; NaN elsewhere."""
    lower = np.full((len(played.contexts), learner.support.states + 1), np.nan)
    upper = lower.copy()
    for group in groups.tolist():
        context, policy = played.contexts[group], learner.support.pair_action[played.pairs[group]]
        found = policy_bounds(plausible(learner, context), policy)  # in [0, 1], as the log
        lower[group], upper[group] = found.lower, found.upper
    return lower, upper


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
    found: Sequence[Found], question: Question, replicates: int, level: float, rng: np.random.Generator
) -> list[PolicyEstimate]:
    """The rows with their estimates and percentile bootstrap intervals; all are from the same resamples."""
    computed = [one.estimator for one in found if one.estimator is not None]
    size = question.log.cases
    values = [estimator(np.ones(size, dtype=np.int64)) for estimator in computed]
    drawn = np.empty((replicates, len(computed)))
    for replicate in range(replicates):
        counts = np.bincount(rng.integers(size, size=size), minlength=size)
        drawn[replicate] = [estimator(counts) for estimator in computed]
    rows, numbers = [], iter(zip(values, drawn.T, strict=True))
    for one in found:
        if one.estimator is None:
            rows.append(one.row)
        else:
            rows.append(_completed(one.row, *next(numbers), question.cap, level))
    return rows


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
