"""What policies lose, from the steps of a log weighted by how often a policy and the log visit each state."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence import Estimate
from goalbound.logs.estimators import Cases
from goalbound.logs.log import Log

ENDS = 0.01
"""The share of steps after which a case ends in the judge's model anyway, so that no plan lasts for ever in it."""
LEAST_VISITS = 0.2
"""How often a case of the log visits a state is taken to be at least this share of the mean over all cases."""
CHUNK = 2**21
"""Entries of matrices that are held at once."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def visit_terms(
    log: Log, cases: Cases, estimate: Estimate, pairs: Ints, own: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Terms of the cases ``own``, whose mean estimates the loss of the policy ``pairs`` [n, S]; and [K] weights.

    v(s_0) + sum over t of w_t (l_t + v(s_{t+1}) - v(s_t)), with w_t = 0 unless the policy plays what was done, and else
    (visits of s_t by the policy) / (visits of s_t in the log) / (the probability of the action). The visits by the
    policy, and v, are those in the estimate; the visits in the log are a regression of their number in the other cases
    on the context and the first state. If the problem is Markov given the context, the mean is the loss of the policy
    if either v or the visits are right, and its error is at most a product of both errors (Kallus and Uehara, 2020,
    Double reinforcement learning). Weights do not multiply along a case, as those of importance sampling do: a plan
    that is unlike what was done keeps hundreds of effective steps, where a handful of whole cases follow it.
    """
    support, steps = log.support, log.steps
    chosen = np.flatnonzero(own)
    contexts, starts = steps.contexts[cases.first], support.pair_state[steps.pairs[cases.first]].astype(np.int64)
    values, visits = _values_and_visits(estimate, contexts[chosen], pairs[chosen], starts[chosen])
    visits /= _visits_of_log(log, cases, contexts, starts, own)
    place = np.cumsum(own) - 1
    held = np.flatnonzero(own[log.case_of] & (pairs[log.case_of, support.pair_state[steps.pairs]] == steps.pairs))
    case, state = place[log.case_of[held]], support.pair_state[steps.pairs[held]]
    assert log.probabilities is not None
    weights = np.zeros(len(log))
    weights[held] = visits[case, state] / log.probabilities[held] * cases.whole[log.case_of[held]]
    residuals = steps.losses[held] + values[case, support.next_state[steps.next_places[held]]] - values[case, state]
    sums = np.bincount(case, weights=weights[held] * residuals, minlength=len(chosen))
    return values[np.arange(len(chosen)), starts[chosen]] + sums, weights


def _values_and_visits(estimate: Estimate, contexts: Floats, pairs: Ints, starts: Ints) -> tuple[Floats, Floats]:
    """[n, S + 1] what policies lose in an estimate, and [n, S] how often they visit each state from the first one."""
    support, count = estimate.support, len(contexts)
    states = support.states
    values, visits = np.zeros((count, states + 1)), np.empty((count, states))
    of_triple = np.repeat(np.arange(support.pairs), np.diff(support.next_start))
    size = max(1, CHUNK // (support.triples + states**2))
    for first in range(0, count, size):
        part = slice(first, first + size)
        chances = np.clip(contexts[part] @ estimate.rows.T, 0.0, 1.0)
        system = np.tile(np.eye(states), (len(chances), 1, 1))
        for triple in np.flatnonzero(support.next_state < states).tolist():
            pair = of_triple[triple]
            state = support.pair_state[pair]
            played = pairs[part, state] == pair
            system[:, state, support.next_state[triple]] -= (1.0 - ENDS) * chances[:, triple] * played
        losses = np.clip(np.einsum("nd,nsd->ns", contexts[part], estimate.losses[pairs[part]]), 0.0, 1.0)
        begun = np.eye(states)[starts[part]]
        values[part, :-1] = np.linalg.solve(system, losses[:, :, None])[:, :, 0]
        visits[part] = np.linalg.solve(system.transpose(0, 2, 1), begun[:, :, None])[:, :, 0]
    return values, visits


def _visits_of_log(log: Log, cases: Cases, contexts: Floats, starts: Ints, own: NDArray[np.bool_]) -> Floats:
    """[n, S] how often a case of the log is expected to visit each state, by the cases that are not ``own``."""
    states = log.support.states
    flat = log.case_of * states + log.support.pair_state[log.steps.pairs]
    counts = np.bincount(flat, minlength=log.cases * states).reshape(log.cases, states)
    known = np.column_stack([contexts, np.eye(states)[starts]])
    others = ~own & cases.whole
    mean = counts[others].mean(axis=0) if others.any() else np.ones(states)
    gram = known[others].T @ known[others] + np.eye(known.shape[1])
    slopes = np.linalg.solve(gram, known[others].T @ (counts[others] - mean))
    least = np.maximum(LEAST_VISITS * mean, 1.0 / log.cases)
    return np.maximum(known[own] @ slopes + mean, least)
