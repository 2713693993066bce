"""Which map of covariates to take: what each predicts and decides in cases that it has not seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.adapters.covariates import CovariateMap
from goalbound.adapters.covariates.covariate_map import check_map
from goalbound.confidence import Estimate
from goalbound.errors import ArgumentError, InputError
from goalbound.learners.learner import RidgeLearner
from goalbound.learners.ridge import LocalOptimism
from goalbound.logs.estimators import Cases, cases_of, check_probabilities, effective_cases
from goalbound.logs.log import Log
from goalbound.logs.off_policy import FOLDS, never_tried
from goalbound.logs.visits import visit_terms
from goalbound.models import Support
from goalbound.models.validation import check_callable, check_generator, check_int, check_type, short_repr
from goalbound.notebook import html_lines, html_table
from goalbound.planning.policy_bounds import policy_pairs
from goalbound.plotting import Rows, draw_rows
from goalbound.terminal import one_line, pluralize, table

SURE = 1.96
"""Standard errors on each side of an interval of 95%."""
UNIFORM = 0.01
"""The share of the uniform distribution in every prediction: a next state that was thought impossible costs
log(0.01 / m), not infinitely much."""
MOST_STATES = 300
"""Of problems with more states the plans are not evaluated: a linear system for each case and map is too slow."""
FEW = 100
"""An effective number of steps below it is pointed out."""
LEAST_FLOOR = 1e-4
"""The loss floor of the learners is a tenth of the least mean loss of a pair, and no less than this."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MakeLearner = Callable[[Support, int], RidgeLearner]


class Score(NamedTuple):
    """A figure of a map in cases that it has not seen.

    Attributes:
        value: the estimate.
        margin: half the width of its interval of 95%.
        worse_by: how much worse than the best map, the one whose interval ends best, by differences case by case; 0
            for that map itself.
        worse_margin: half the width of the interval of this difference.
    """

    value: float
    margin: float
    worse_by: float = 0.0
    worse_margin: float = 0.0

    @property
    def is_worse(self) -> bool:
        """Whether the interval of the difference to the best map is above 0."""
        return self.worse_by > self.worse_margin


@dataclass(frozen=True)
class MapScores:
    """The figures of one map.

    Attributes:
        name: as it was given.
        components: of its contexts.
        log_score: the mean of log(predicted chance of the next state) over the steps; larger is better.
        squared_error: the mean of (loss - predicted loss)^2 over the steps, in the unit squared.
        plan: the loss per case of the plans, in the unit; None: see ``missing``.
        effective_steps: the effective sample size of the weights of ``plan``.
        untried: the pairs that the plans may come to play and that the log never tried, by name.
        missing: why there is no ``plan``; "" if there is one.
    """

    name: str
    components: int
    log_score: Score
    squared_error: Score
    plan: Score | None
    effective_steps: float = 0.0
    untried: str = ""
    missing: str = ""

    @property
    def is_worse(self) -> bool:
        """Whether another map surely predicts next states better, or has a better plan."""
        return self.log_score.is_worse or (self.plan is not None and self.plan.is_worse)


@dataclass(frozen=True)
class MapComparison:
    """Maps side by side; ``str`` of it is for people.

    Attributes:
        maps: the figures of each, in the order given.
        unit: of the losses; "" if they have none.
        cases, steps: of the log.
        folds: how many parts the cases were split into.
        judge: the map that predicts next states best, in whose estimate all plans are evaluated.
        observed: the mean loss of the closed cases, whatever was done; None if there are none.
    """

    maps: tuple[MapScores, ...]
    unit: str
    cases: int
    steps: int
    folds: int
    judge: str
    observed: float | None

    @property
    def choice(self) -> str:
        """The name of the map to take: of those that are not surely worse than another one in log score or plan, the
        one with the fewest components; if all are, the one that predicts best."""
        left = [one for one in self.maps if not one.is_worse]
        if not left:
            return max(self.maps, key=lambda one: one.log_score.value).name
        return min(left, key=lambda one: one.components).name

    def __str__(self) -> str:
        columns = self._columns()
        shown = table(list(columns), zip(*columns.values(), strict=True), "l" + "r" * (len(columns) - 1))
        return "\n".join([shown, *(f"- {one_line(note)}" for note in self.notes)])

    def _repr_html_(self) -> str:
        names = [one.name for one in self.maps]
        return html_table(self._columns(), bold=names.index(self.choice)) + html_lines(self.notes)

    def as_json(self) -> dict[str, Any]:
        """For programs; scores are lists of value, margin, worse_by and worse_margin."""
        return {**asdict(self), "maps": [asdict(one) for one in self.maps], "choice": self.choice}

    def plot(self, axes: Any = None) -> Any:
        """What the plan of each map loses per case, with its interval; the Matplotlib axes. The predictions, if there
        is no such estimate."""
        planned = all(one.plan is not None for one in self.maps)
        scores = [one.plan if planned and one.plan is not None else one.log_score for one in self.maps]
        value, margin = (np.array([getattr(one, name) for one in scores]) for name in ("value", "margin"))
        words = ["reference" if one.worse_by == 0.0 else f"worse by {_difference(one)}" for one in scores]
        unit = f" ({self.unit})" if self.unit else ""
        figure = f"loss per case of the plan{unit}" if planned else "log score per step"
        label = f"{figure}, held out, with its 95% interval"
        names = [f"{one.name} ({one.components})" for one in self.maps]
        return draw_rows(Rows(names, value - margin, value + margin, value, words), label=label, axes=axes)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know about the numbers."""
        beaten = all(one.is_worse for one in self.maps)
        why = "it predicts best" if beaten else "the fewest components among the maps that no other one surely beats"
        found = [
            f"take {short_repr(self.choice)}: {why}",
            f"every figure is of cases that were held out, in {pluralize(self.folds, 'part')} of {self.cases} cases; "
            "± is 1.96 standard errors over cases, not proven",
        ]
        if any(one.plan is not None for one in self.maps):
            found.append(f"plans are evaluated by the map that predicts best, {short_repr(self.judge)}")
        if self.observed is not None:
            found.append(f"closed cases of the log lost {self.observed:.4g} {self.unit}".rstrip() + " on average")
        for one in self.maps:
            if one.missing:
                found.append(f"{one.name}: no value of the plan: {one.missing}")
            elif one.effective_steps < FEW:
                found.append(f"{one.name}: few steps decide about the plan ({one.effective_steps:.0f} effective ones)")
            if one.untried:
                found.append(f"{one.name}: never tried: {one.untried}. No held-out case shows what follows there")
        return tuple(found)

    def _columns(self) -> dict[str, list[str]]:
        unit = one_line(self.unit)
        squared = f"squared error, {unit}²" if unit else "squared error"
        plans = [one.plan for one in self.maps]
        return {
            "map": [one_line(one.name) for one in self.maps],
            "components": [str(one.components) for one in self.maps],
            f"plan, {unit}" if unit else "plan": [_with_margin(one) for one in plans],
            "worse by": [_difference(one) for one in plans],
            "log score": [f"{one.log_score.value:.4f}" for one in self.maps],
            "worse by ": [_difference(one.log_score) for one in self.maps],
            squared: [f"{one.squared_error.value:.4g}" for one in self.maps],
            "worse by  ": [_difference(one.squared_error) for one in self.maps],
        }


def _with_margin(score: Score | None) -> str:
    return "-" if score is None else f"{score.value:.4g} ± {score.margin:.2g}"


def _difference(score: Score | None) -> str:
    return "-" if score is None or score.worse_by == 0.0 else f"{score.worse_by:.2g} ± {score.worse_margin:.2g}"


def compare_maps(
    log: Log,
    maps: Mapping[str, CovariateMap | None],
    *,
    make_learner: MakeLearner | None = None,
    folds: int = FOLDS,
    rng: np.random.Generator | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> MapComparison:
    """What maps of covariates predict and decide in cases that they have not seen.

    The cases are split into parts, the same for all maps. For each part a learner learns all other cases; then it
    predicts the steps of this part, and plans its cases by the context of their first step. So no case says anything
    about a prediction or a plan that it was used for.

    Args:
        log: of :func:`~goalbound.logs.read_log`, with covariates; for the value of plans, with probabilities of
            actions.
        maps: the maps by name; None stands for no context at all. Each must accept all rows of the log.
        make_learner: from a support and a number of components to a learner by ridge regression. Left out:
            :class:`~goalbound.LocalOptimism`, its loss floor being a tenth of the least mean loss of a
            pair.
        folds: into how many parts the cases are split.
        rng: draws the parts; left out, the same parts each time.
        progress: is called with how many learners are done, and how many there are: folds times maps.

    Predicted chances are mixed with 1% of the uniform distribution, so that a next state that a map thought impossible
    costs a finite amount. The value of the plans is :func:`visit_terms`, for all maps by the map that predicts best.

    >>> from goalbound.adapters.covariates import Hats
    >>> from goalbound.logs import LogColumns, read_log
    >>> hours = [0, 1, 2, 3, 20, 21, 22, 23] * 5
    >>> rows = {"case": list(range(40)), "time": list(range(40)), "state": ["down"] * 40, "action": ["wait"] * 40,
    ...         "loss": [0.1 if hour < 12 else 0.9 for hour in hours], "next_state": ["goal"] * 40, "hour": hours}
    >>> day = Hats([0, 23])
    >>> log = read_log(rows, columns=LogColumns(covariates=["hour"]), covariate_map=day)
    >>> found = compare_maps(log, {"none": None, "line": day})
    >>> none, line = found.maps
    >>> line.squared_error.value < 0.1 * none.squared_error.value, none.plan, none.missing
    (True, None, 'the log has no probabilities of actions; name their column: LogColumns(probability=...)')
    """
    check_type(log, Log, "log", "give what read_log(...) gives")
    seen = _under_each(log, maps)
    folds = check_int(folds, "folds", least=2)
    if folds > log.cases:
        raise ArgumentError(f"folds is {folds}, and the log has {pluralize(log.cases, 'case')}; give at most as many")
    rng = np.random.default_rng(0) if rng is None else check_generator(rng)
    if log.probabilities is not None:
        check_probabilities(log)
    if progress is not None:
        check_callable(progress, "progress", "a function of the learners done and all of them, or None")
    if make_learner is None:
        make_learner = _recommended(log)
    else:
        check_callable(
            make_learner, "make_learner", "a function from a support and a number of components to a learner"
        )
    fold, cases = folds_of(log, folds, rng), cases_of(log)
    found = []
    for place, one in enumerate(seen.values()):
        shown = None if progress is None else _shifted(progress, place * folds, len(seen) * folds)
        found.append(_held_out(one, cases, fold, make_learner, shown))
    best = max(range(len(found)), key=lambda place: found[place].log_score.sum())
    judge = list(seen)[best]
    weighed = [_plan_terms(seen[judge], cases, fold, found[best].estimates, one.pairs) for one in found]
    closed = cases.closed[log.case_of]
    observed = log.cap * log.steps.losses[closed].sum() / cases.closed.sum() if cases.closed.any() else None
    return MapComparison(
        maps=_side_by_side(seen, cases, found, weighed),
        unit=log.unit,
        cases=log.cases,
        steps=len(log),
        folds=folds,
        judge=judge,
        observed=None if observed is None else float(observed),
    )


def folds_of(log: Log, folds: int, rng: np.random.Generator) -> Ints:
    """[cases] the part of each case. It depends on the order in which cases begin, not on the rows of the table."""
    first = np.unique(log.case_of, return_index=True)[1]
    return np.asarray((rng.permutation(log.cases) % folds)[np.argsort(np.argsort(first))])


def _under_each(log: Log, maps: Any) -> dict[str, Log]:
    """The log under each map."""
    if not isinstance(maps, Mapping) or not maps:
        raise ArgumentError(f'maps is {short_repr(maps)}; give maps by name, such as {{"hour": Periodic(...)}}')
    found = {}
    for name, map in maps.items():
        if not isinstance(name, str) or not name:
            raise ArgumentError(f"maps has the name {short_repr(name)}; a name is a text")
        try:
            if map is not None:
                check_map(map, "the map")
            found[name] = log.with_map(map)
        except InputError as error:
            raise ArgumentError(f"maps[{short_repr(name)}]: {error}") from None
    return found


def _recommended(log: Log) -> MakeLearner:
    visits = np.bincount(log.steps.pairs)
    means = np.bincount(log.steps.pairs, weights=log.steps.losses)[visits > 0] / visits[visits > 0]
    floor = max(LEAST_FLOOR, 0.1 * float(np.min(means[means > 0.0], initial=1.0)))
    return lambda support, size: LocalOptimism(support, size, loss_floor=floor)


def _shifted(progress: Callable[[int, int], None], done: int, total: int) -> Callable[[int], None]:
    return lambda more: progress(done + more, total)


class _HeldOut(NamedTuple):
    """What one map says about each case that was held out.

    Attributes:
        log_score, squared_error: [n] sums over the steps of each case.
        pairs: [n, S] the plan of each case.
        estimates: of the learner of each fold.
    """

    log_score: Floats
    squared_error: Floats
    pairs: Ints
    estimates: list[Estimate]


def _held_out(
    log: Log, cases: Cases, fold: Ints, make_learner: MakeLearner, done: Callable[[int], None] | None
) -> _HeldOut:
    chances, losses = np.empty(len(log)), np.empty(len(log))
    pairs = np.empty((log.cases, log.support.states), dtype=np.int64)
    estimates = []
    for number in range(int(fold.max()) + 1):
        learner = _taught(make_learner, log, fold != number)
        estimates.append(learner.estimate)
        held = np.flatnonzero(fold[log.case_of] == number)
        chances[held], losses[held] = _predicted(estimates[-1], log, held)
        own = np.flatnonzero(fold == number)
        pairs[own] = _planned(learner, log.steps.contexts[cases.first[own]])
        if done is not None:
            done(number + 1)
    log_score = np.bincount(log.case_of, weights=np.log(chances), minlength=log.cases)
    error = np.bincount(log.case_of, weights=(log.steps.losses - losses) ** 2, minlength=log.cases)
    return _HeldOut(np.asarray(log_score, dtype=np.float64), np.asarray(error, dtype=np.float64), pairs, estimates)


def _taught(make_learner: MakeLearner, log: Log, chosen: NDArray[np.bool_]) -> RidgeLearner:
    learner = make_learner(log.support, log.context_size)
    remedy = "make_learner gives a learner by ridge regression, such as LocalOptimism(support, size, loss_floor=...)"
    check_type(learner, RidgeLearner, "the learner", remedy)
    learner.learn_log(log.of_cases(chosen))
    return learner


def _predicted(estimate: Estimate, log: Log, steps: Ints) -> tuple[Floats, Floats]:
    """[k] the chance of the next state of each step, and its mean loss."""
    contexts, pairs, places = log.steps.contexts[steps], log.steps.pairs[steps], log.steps.next_places[steps]
    chances = np.clip(np.einsum("kd,kd->k", estimate.rows[places], contexts), 0.0, 1.0)
    sizes = np.diff(log.support.next_start)[pairs]
    losses = np.clip(np.einsum("kd,kd->k", estimate.losses[pairs], contexts), 0.0, 1.0)
    return (1.0 - UNIFORM) * chances + UNIFORM / sizes, losses


def _planned(learner: RidgeLearner, contexts: Floats) -> Ints:
    """[n, S] the pairs of the plan under each context."""
    different, group = np.unique(contexts, axis=0, return_inverse=True)
    pairs = [policy_pairs(learner.support, learner.plan(context).policy) for context in different]
    return np.array(pairs)[group.reshape(-1)]


class _Weighed(NamedTuple):
    """[n] the terms of the plans of a map and their effective number of steps; or why there are none."""

    terms: Floats | None
    steps: float = 0.0
    missing: str = ""


def _plan_terms(log: Log, cases: Cases, fold: Ints, estimates: list[Estimate], pairs: Ints) -> _Weighed:
    """The terms of the plans ``pairs`` [n, S], by the log and the estimates of the judge."""
    if log.probabilities is None:
        return _Weighed(
            None, missing="the log has no probabilities of actions; name their column: LogColumns(probability=...)"
        )
    if log.support.states > MOST_STATES:
        return _Weighed(None, missing=f"the problem has more than {MOST_STATES} states")
    terms, weights = np.empty(log.cases), np.zeros(len(log))
    for number, estimate in enumerate(estimates):
        terms_of_fold = visit_terms(log, cases, estimate, pairs, fold == number)
        terms[fold == number] = terms_of_fold[0]
        weights += terms_of_fold[1]
    if not weights.any():
        return _Weighed(None, missing="no step of the log is one that a plan would have made")
    return _Weighed(terms, effective_cases(weights))


def _side_by_side(
    seen: Mapping[str, Log], cases: Cases, found: list[_HeldOut], weighed: list[_Weighed]
) -> tuple[MapScores, ...]:
    lengths, whole = np.diff(cases.start).astype(np.float64), cases.whole.astype(np.float64)
    logs = list(seen.values())
    cap, starts = logs[0].cap, logs[0].support.pair_state[logs[0].steps.pairs[cases.first]].astype(np.int64)
    log_scores = _scores([one.log_score for one in found], lengths, larger_is_better=True)
    errors = _scores([cap**2 * one.squared_error for one in found], lengths)
    sums = [cap * whole * one.terms for one in weighed if one.terms is not None]
    plans = iter(_scores(sums, whole))
    return tuple(
        MapScores(
            name=name,
            components=logs[place].context_size,
            log_score=log_scores[place],
            squared_error=errors[place],
            plan=None if weighed[place].terms is None else next(plans),
            effective_steps=weighed[place].steps,
            untried=never_tried(logs[place], found[place].pairs, np.arange(logs[place].cases), starts),
            missing=weighed[place].missing,
        )
        for place, name in enumerate(seen)
    )


def _scores(sums: list[Floats], weights: Floats, *, larger_is_better: bool = False) -> list[Score]:
    """The figure of each map, (its sum over cases) / (that of the weights), and its difference to the best one: to the
    one whose interval ends best, lest a map that nobody can judge be the measure of the others."""
    if not sums:
        return []
    sign = -1.0 if larger_is_better else 1.0
    figures = [_ratio(one, weights) for one in sums]
    ends = [sign * value + margin for value, margin in figures]
    best = sums[ends.index(min(ends))]
    return [Score(*own, *_ratio(sign * (one - best), weights)) for own, one in zip(figures, sums, strict=True)]


def _ratio(sums: Floats, weights: Floats) -> tuple[float, float]:
    """The ratio of two sums over n cases, and 1.96 standard errors of it, by what is left of each case.

    >>> _ratio(np.array([1.0, 3.0]), np.array([1.0, 1.0]))  # 2, and 1.96 * sqrt(2 * (1 + 1)) / 2
    (2.0, 1.96)
    """
    cases, total = len(sums), float(weights.sum())
    value = float(sums.sum()) / total
    rest = sums - value * weights
    return value, SURE * float(np.sqrt(cases / (cases - 1) * (rest @ rest))) / total
