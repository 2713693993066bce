"""Importance sampling per decision: the cases of a log weighted by how likely a policy would have done the same."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.errors import ArgumentError
from goalbound.logs.log import Log

SMALLEST_PROBABILITY = 1e-6
"""A probability below it is an error: one such step would count as a million others."""

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
