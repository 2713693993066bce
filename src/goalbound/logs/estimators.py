"""The mathematics of off-policy evaluation: importance weights of cases, and the ridge estimate of weighted cases."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence import Estimate, project
from goalbound.errors import ArgumentError
from goalbound.learners.prior import PriorKnowledge
from goalbound.logs.log import Log
from goalbound.models import Support

SMALLEST_PROBABILITY = 1e-6
"""A probability below it is an error: one such step would count as a million others."""
IMPOSSIBLE = 1e-12
"""Estimated probabilities up to this one cannot be told from rounding, and count as 0."""
CHUNK = 2**21
"""So many entries of policies' matrices are held at once."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Cases(NamedTuple):
    """n cases of a log.

    Attributes:
        order: [K] the steps, case by case, in the order of time.
        start: [n + 1] the steps of case i are ``order[start[i]:start[i + 1]]``.
        whole: [n] whether each step begins where the one before it ended; else a row between them was left out.
        closed: [n] whether the case is whole and its last step leads to the goal.
    """

    order: Ints
    start: Ints
    whole: NDArray[np.bool_]
    closed: NDArray[np.bool_]

    @property
    def first(self) -> Ints:
        """[n] the first step of each case."""
        return self.order[self.start[:-1]]

    @property
    def open(self) -> NDArray[np.bool_]:
        """[n] whether the case is whole, but not at the goal."""
        return self.whole & ~self.closed


def cases_of(log: Log) -> Cases:
    """The cases of a log."""
    order = np.argsort(log.case_of, kind="stable")
    case = log.case_of[order]
    start = np.searchsorted(case, np.arange(log.cases + 1))
    state = log.support.pair_state[log.steps.pairs[order]]
    following = log.support.next_state[log.steps.next_places[order]]
    gap = (case[1:] == case[:-1]) & (following[:-1] != state[1:])
    whole = np.bincount(case[1:][gap], minlength=log.cases) == 0
    return Cases(order, start, whole, whole & (following[start[1:] - 1] == log.support.states))


class WeightedSteps(NamedTuple):
    """The steps that a policy would have made as well, of n cases.

    The weight of a step is the product, over the steps of its case up to this one, of 1 / (the probability of the
    action); from the first action on that the policy would not have chosen it is 0, and the step is not listed.

    Attributes:
        case: [k] the case of each step.
        number: [k] its number in the case, from 0.
        weights: [k] above 0.
        losses: [k] in [0, 1].
        states, next_states: [k]
        lengths: [n] how many steps each case has in all.
        last: [n] the weight of the last step of each case; 0 where the policy was not followed to the end.
    """

    case: Ints
    number: Ints
    weights: Floats
    losses: Floats
    states: Ints
    next_states: Ints
    lengths: Ints
    last: Floats


def weighted_steps(log: Log, cases: Cases, policy: Ints) -> WeightedSteps:
    """The weights of the steps of a log with probabilities, under the pairs [n, S] that a policy plays in each case."""
    assert log.probabilities is not None
    pairs, states = log.steps.pairs, log.support.pair_state
    lengths = np.diff(cases.start)
    alive, product = np.arange(len(lengths)), np.ones(len(lengths))
    last = np.zeros(len(lengths))
    found: list[tuple[Ints, Ints, Floats]] = []
    while len(alive):  # the steps of one number, of all cases in which the policy was followed so far
        steps = cases.order[cases.start[alive] + len(found)]
        follows = pairs[steps] == policy[alive, states[pairs[steps]]]
        alive, steps = alive[follows], steps[follows]
        with np.errstate(over="ignore"):
            product[alive] /= log.probabilities[steps]
        found.append((alive, steps, product[alive]))
        ends = lengths[alive] == len(found)
        last[alive[ends]] = product[alive[ends]]
        alive = alive[~ends]
    case, steps, weights = (np.concatenate(parts) for parts in zip(*found, strict=True))
    number = np.repeat(np.arange(len(found)), [len(part[0]) for part in found])
    return WeightedSteps(
        case, number, weights, log.steps.losses[steps], states[pairs[steps]].astype(np.int64),
        log.support.next_state[log.steps.next_places[steps]].astype(np.int64), lengths, last,
    )  # fmt: skip


def weighted_estimate(steps: WeightedSteps, counts: Ints) -> float:
    """The weighted estimate per decision, in which case i counts ``counts[i]`` times; NaN if no case that counts
    follows the policy to its end.

    The sum over t of (sum of w_it l_it) / (sum of w_it), over all cases i: the mean loss of the step number t. A case
    that has ended loses nothing any more and keeps the weight of its last step, as at the goal there is nothing to
    choose. So each denominator has the mean n, and the estimate tends to the mean value of the policy as cases grow in
    number; for few cases it is biased. An open case counts as if it had ended.

    >>> from goalbound.logs import LogColumns, read_log
    >>> rows = {"case": [1, 2], "time": [0, 1], "state": ["s", "s"], "action": ["a", "b"], "loss": [0.5, 0.1],
    ...         "next_state": ["goal", "goal"], "probability": [0.25, 0.75]}
    >>> log = read_log(rows, columns=LogColumns(probability="probability"))
    >>> steps = weighted_steps(log, cases_of(log), np.array([[0], [0]]))  # the policy plays a
    >>> weighted_estimate(steps, np.array([1, 1])), steps.last
    (0.5, array([4., 0.]))
    """
    if not (counts * steps.last).any():
        return float("nan")
    size = int(steps.number.max()) + 1
    weights = counts[steps.case] * steps.weights
    losses = np.bincount(steps.number, weights * steps.losses, minlength=size)
    played = np.bincount(steps.number, weights, minlength=size)
    ended = np.bincount(np.minimum(steps.lengths, size), counts * steps.last, minlength=size + 1)
    total = played + np.cumsum(ended)[:size]
    return float(np.divide(losses, total, out=np.zeros(size), where=total > 0.0).sum())


def effective_cases(last: Floats) -> float:
    """The effective sample size of weights: (their sum)^2 / (the sum of their squares); 0 if all are 0.

    >>> effective_cases(np.array([2.0, 2.0, 0.0])), effective_cases(np.zeros(2))
    (2.0, 0.0)
    """
    if not last.any():
        return 0.0
    share = last / last.max()
    return float(share.sum() ** 2 / (share**2).sum())


def doubly_robust_terms(steps: WeightedSteps, values: Floats, starts: Ints) -> Floats:
    """[n] the doubly robust estimate of each case, with the values [n, S + 1] of the policy in a model of each case.

    v(s_0) + sum over t of w_t (l_t + v(s_{t+1}) - v(s_t)), where v is 0 at the goal. Given the context and the first
    state of a case that goes on to the goal, its mean is the value of the policy, whatever finite v is, provided that v
    does not depend on how the case went, that the probabilities are right and that no action of the policy has the
    probability 0: given the past, w_t has the mean w_{t-1}, and the differences of v telescope. What is left of an open
    case is v at its last state.
    """
    differences = values[steps.case, steps.next_states] - values[steps.case, steps.states]
    sums = np.bincount(steps.case, steps.weights * (steps.losses + differences), minlength=len(starts))
    return np.asarray(values[np.arange(len(starts)), starts] + sums)


def check_probabilities(log: Log) -> None:
    """An error that names the row of a probability by which nothing can be weighted."""
    assert log.probabilities is not None
    wrong = ~((log.probabilities >= SMALLEST_PROBABILITY) & (log.probabilities <= 1.0))
    if wrong.any():
        step = int(np.argmax(wrong))
        raise ArgumentError(
            f"log: row {log.rows[step]}: the probability of the action is {log.probabilities[step]:g}; to weight by it "
            f"needs one from {SMALLEST_PROBABILITY:g} to 1: correct the row, or read the log without probabilities"
        )


class PairSteps(NamedTuple):
    """The k steps of one pair, which has m next states.

    Attributes:
        case: [k]
        contexts: [k, d]
        targets: [k, 1 + m] the loss, and 1 for the next state that followed, 0 for the others.
        gram: [d, d] the Gram matrix before the first step; sums: [d, 1 + m] the sums of target times context. A guess
            of the prior is in both, as learners have it.
    """

    case: Ints
    contexts: Floats
    targets: Floats
    gram: Floats
    sums: Floats


class LogModel(NamedTuple):
    """The steps of a log from which the pairs that policies play are estimated.

    Attributes:
        support: of these pairs only.
        pairs: [N] the number of each of its pairs in the log's support.
        steps: the steps of each pair.
        prior: what is known of pairs of the log's support, or None.
        triples: [M] the place of each triple in the log's support.
    """

    support: Support
    pairs: Ints
    steps: tuple[PairSteps, ...]
    prior: PriorKnowledge | None
    triples: Ints


class Fit(NamedTuple):
    """An estimate: [N, d] losses and [M, d] rows, linear in the context; and what the next one may start from."""

    losses: Floats
    rows: Floats
    estimate: Estimate


def log_model(log: Log, played: Ints, *, regularization: float = 1.0, prior: PriorKnowledge | None = None) -> LogModel:
    """Everything that is needed to estimate the pairs in ``played``, which has one of every state or more."""
    whole = log.support
    pairs = np.unique(played)
    counts = np.diff(whole.next_start)[pairs]
    next_start = np.concatenate(([0], np.cumsum(counts)))
    triples = np.repeat(whole.next_start[pairs] - next_start[:-1], counts) + np.arange(next_start[-1])
    pair_start = np.concatenate(([0], np.cumsum(np.bincount(whole.pair_state[pairs], minlength=whole.states))))
    support = Support(
        pair_start, whole.pair_action[pairs], next_start, whole.next_state[triples], whole.state_names,
        whole.action_names, whole.goal_name,
    )  # fmt: skip
    steps = []
    for pair in pairs.tolist():
        at = np.flatnonzero(log.steps.pairs == pair)
        row = whole.row(pair)
        followed = log.steps.next_places[at][:, None] == np.arange(row.start, row.stop)
        targets = np.column_stack([log.steps.losses[at], followed.astype(np.float64)])
        begun = _before_steps(pair, row, log.context_size, regularization, prior)
        steps.append(PairSteps(log.case_of[at], log.steps.contexts[at], targets, *begun))
    return LogModel(support, pairs, tuple(steps), prior, triples)


def _before_steps(
    pair: int, row: slice, size: int, regularization: float, prior: PriorKnowledge | None
) -> tuple[Floats, Floats]:
    """The Gram matrix and the sums of a pair before its first step; 0 or the guess is what the ridge pulls to."""
    if prior is None or not prior.guessed[pair]:
        return regularization * np.eye(size), np.zeros((size, 1 + row.stop - row.start))
    weight = regularization + float(prior.strength[pair])
    return weight * np.eye(size), weight * np.vstack([prior.guess_losses[pair], prior.guess_rows[row]]).T


def fit(model: LogModel, counts: Floats | Ints, *, start: Fit | None = None) -> Fit:
    """The projected ridge estimate in which the steps of case i count ``counts[i]`` times.

    With counts of 1 it is that of a learner that has learned the log, with the same prior knowledge put in. ``start``
    is an earlier fit, from which the projection is found faster.
    """
    support, size = model.support, model.steps[0].contexts.shape[1]
    losses, rows = np.zeros((support.pairs, size)), np.zeros((support.triples, size))
    gram = np.stack([steps.gram for steps in model.steps])
    for pair, steps in enumerate(model.steps):
        weighted = steps.contexts * counts[steps.case][:, None]
        gram[pair] += weighted.T @ steps.contexts
        coefficients = np.linalg.solve(gram[pair], steps.sums + weighted.T @ steps.targets)
        losses[pair], rows[support.row(pair)] = coefficients[:, 0], coefficients[:, 1:].T
    to_goal = support.next_state == support.states
    rows[to_goal] = 0.0
    rows[to_goal] = 1.0 - np.add.reduceat(rows, support.next_start[:-1], axis=0)[support.leads_to_goal]
    ridge = Estimate(support, losses, rows, gram, projected=False)
    found = project(ridge, start=None if start is None else start.estimate)
    losses = np.clip(losses, 0.0, 1.0)
    rows = np.maximum(found.rows, 0.0)
    if model.prior is not None:
        losses = np.where(model.prior.loss_known[model.pairs, None], model.prior.losses[model.pairs], losses)
        known = np.repeat(model.prior.row_known[model.pairs], np.diff(support.next_start))
        if known.any():
            rows[known] = model.prior.rows[model.triples[known]]
    return Fit(losses, rows, found)


def policy_values(model: LogModel, fitted: Fit, contexts: Floats, played: Ints) -> Floats:
    """[G, S + 1] what policies lose until the goal in an estimate; infinite where they may not arrive.

    Args:
        model, fitted: of :func:`log_model` and :func:`fit`.
        contexts: [G, d]
        played: [G, S] the pair of each state under each context, numbered as in the log's support.

    One linear system of S equations for each context, O(G S^3).
    """
    states = model.support.states
    values = np.zeros((len(contexts), states + 1))
    own = np.searchsorted(model.pairs, played)
    same: dict[bytes, list[int]] = {}  # the contexts of each policy
    for place, policy in enumerate(own):
        same.setdefault(policy.tobytes(), []).append(place)
    most = max(1, CHUNK // (states * (states + 1)))
    for members in same.values():
        for first in range(0, len(members), most):
            part = members[first : first + most]
            values[part, :-1] = _values_of(model.support, fitted, contexts[part], own[part[0]])
    return values


def _values_of(support: Support, fitted: Fit, contexts: Floats, policy: Ints) -> Floats:
    """[g, S] the values of one policy under each context."""
    states = support.states
    counts = np.diff(support.next_start)[policy]
    triples = np.concatenate([np.arange(support.next_start[pair], support.next_start[pair + 1]) for pair in policy])
    chances = contexts @ fitted.rows[triples].T
    matrix = np.zeros((len(contexts), states, states + 1))
    matrix[:, np.repeat(np.arange(states), counts), support.next_state[triples]] = np.where(
        chances > IMPOSSIBLE, chances, 0.0
    )
    losses = np.clip(contexts @ fitted.losses[policy].T, 0.0, 1.0)
    leads = matrix[:, :, :states] > 0.0
    arrives = _reaches(leads, matrix[:, :, states] > 0.0)
    never = _reaches(leads, ~arrives)
    system = np.eye(states) - np.where(never[:, :, None], 0.0, matrix[:, :, :states])
    return np.where(never, np.inf, np.linalg.solve(system, losses[:, :, None])[:, :, 0])


def _reaches(leads: NDArray[np.bool_], targets: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """[g, S] the states from which targets [g, S] are reached, by moves [g, S, S]."""
    found = targets
    while True:
        wider = found | (leads & found[:, None, :]).any(axis=2)
        if np.array_equal(wider, found):
            return found
        found = wider
