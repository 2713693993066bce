"""The ridge estimate of a log whose cases count more or less than once, and the values of policies in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence import Estimate, project
from goalbound.learners.prior import PriorKnowledge
from goalbound.logs.log import Log
from goalbound.models import Support

IMPOSSIBLE = 1e-12
"""Estimated probabilities up to this one cannot be told from rounding, and count as 0."""
CHUNK = 2**21
"""So many entries of policies' matrices are held at once."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
