"""What was read from the file of a ridge learner fits together: no number that kernels use as an index is out of range,
and every sum is one that visits lead to. Contexts are not negative and sum to 1, outcomes lie in [0, 1].

One function for each group of fields, which names the first array that does not fit. Bounds leave room for rounding;
what they leave to a forger is a learner of other steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goalbound.confidence.linearity import check_watch
from goalbound.confidence.pooling import guessed_sums, least_weights, prior_weights
from goalbound.confidence.regression import FILE_SLACK, RegressionSums, visited
from goalbound.errors import FileFormatError
from goalbound.learners.state import EpisodeState
from goalbound.learners.visits import check_missing
from goalbound.models import Support
from goalbound.models.files.ranges import LARGEST, MANY, around, within, within_record
from goalbound.models.validation import check_distribution
from goalbound.planning.kernels.stochastic_rows import NO_GOAL, TO_BEST

if TYPE_CHECKING:
    from goalbound.learners.learner import RidgeLearner

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def check_size(arrays: Mapping[str, NDArray[Any]], support: Support, size: int) -> None:
    """The Gram matrices of a learner are there, so that a header alone cannot claim memory."""
    shape = (support.pairs, size, size)
    if "state.regression.gram" not in arrays or arrays["state.regression.gram"].shape != shape:
        raise FileFormatError(f"state.regression.gram is missing or not of shape {shape}, as support and settings ask")


def check_learner_state(learner: RidgeLearner) -> None:
    """All arrays of a learner, each for itself and together; its rooms check theirs."""
    state, constants, support = learner._state, learner._constants, learner.support
    check_indices(state.regression, support)
    within("policy", state.policy, support.pair_start[:-1], support.pair_start[1:] - 1)
    within("change_log", state.change_log, 0, support.pairs - 1)
    failed = 0 if learner.has_sets else MANY  # confidence sets bear with any projection
    within_record("totals", state.totals, loss_bound=(1.0, LARGEST), failed_projections=(0, failed))
    check_values(state.values)
    check_sums(state.regression, constants, support)
    check_changes(state, constants)
    check_missing(state, constants.pooling.least)
    learner._assembly.room.check(learner)
    check_watch(state.watch, support)


def check_indices(regression: RegressionSums, support: Support) -> None:
    """Visits, and which next states have an index: each once, and all where the goal cannot follow."""
    starts = support.next_start
    lengths = np.diff(starts) - (support.next_state[starts[1:] - 1] == support.states)
    within("visits", regression.visits, 0, MANY)
    within("seen", regression.seen, 0, lengths)
    within("seen_index", regression.seen_index, -1, np.repeat(regression.seen, np.diff(starts)) - 1)
    within("seen_state", regression.seen_state, 0, support.states - 1)
    taken = np.flatnonzero(regression.seen_index >= 0)
    pair = np.searchsorted(starts, taken, side="right") - 1
    stands = regression.seen_state[starts[pair] + regression.seen_index[taken]]
    within("seen_state", stands, support.next_state[taken], support.next_state[taken])
    count = np.bincount(pair, minlength=support.pairs)
    within("seen", regression.seen, count, count)
    whole = ~support.leads_to_goal
    within("seen", regression.seen[whole], lengths[whole], lengths[whole])


def check_sums(regression: RegressionSums, constants: Any, support: Support) -> None:
    """Gram matrices, and sums of losses and of next states. Sums of pairs that were guessed begin with the prior times
    the guess."""
    data, slack = visited(regression, constants)
    visits, size, wide = regression.visits.astype(np.float64), data.shape[1], slack[:, None, None]
    upper = np.broadcast_to(visits[:, None, None] + wide, data.shape)
    within("state.regression.gram less the ridge", data, -wide, upper)
    within("state.regression.gram less its transpose", data - data.swapaxes(1, 2), *around(0.0, wide))
    total = data.sum(axis=(1, 2))  # each visit adds 1
    within("state.regression.gram less the ridge, summed,", total, *around(visits, size * size * slack))
    diagonal = data[:, range(size), range(size)]
    largest = np.sqrt(np.maximum(diagonal[:, :, None] * diagonal[:, None, :], 0.0))
    within("state.regression.gram beside its diagonal", data, -wide, largest + wide)
    within("state.regression.gram_low", regression.gram_low, *around(0.0, wide))
    within("state.regression.loss_low", regression.loss_low, *around(0.0, slack[:, None]))
    within("state.regression.goal_low", regression.goal_low, *around(0.0, slack[:, None]))
    within("state.regression.inverse", regression.inverse, *around(0.0, 2.0 / least_weights(constants).min()))
    starts, room = support.next_start, (size * slack)[:, None]
    contexts, lengths = data.sum(axis=2), np.diff(starts)
    losses, rows = guessed_sums(constants, size)
    within("state.regression.loss_sums", regression.loss_sums - losses, -room, contexts + room)
    to_goal = support.next_state[starts[1:] - 1] == support.states  # the goal stands last in its row
    goal_sums, next_sums = regression.goal_sums.copy(), regression.next_sums - rows
    goal_sums[to_goal] -= rows[starts[1:] - 1][to_goal]
    next_sums[starts[1:][to_goal] - 1] += rows[starts[1:] - 1][to_goal]
    most, each = contexts + room, np.repeat(room, lengths, axis=0)
    within("state.regression.goal_sums", goal_sums, -room, most)
    within("state.regression.next_sums", next_sums, -each, np.repeat(most, lengths, axis=0))
    within("state.regression.next_low", regression.next_low, *around(0.0, each))
    came = np.add.reduceat(next_sums, starts[:-1], axis=0) + goal_sums
    within("state.regression.next_sums and goal_sums together", came, -room, most)


def check_changes(state: Any, constants: Any) -> None:
    """How often estimates have changed, and ``log_det``, an upper bound by what rounding adds."""
    regression, changes = state.regression, int(state.totals["changes"])
    within("state.revision", state.revision, 0, changes + len(state.revision) + 1)
    data, slack = visited(regression, constants)
    size, weakest = data.shape[1], least_weights(constants)
    deviations, mean = (1.0 / np.sqrt(weights)[:, None, None] for weights in prior_weights(constants))
    root = np.eye(size) * deviations + (mean - deviations) / size  # of the inverse of the prior
    eigenvalues = np.maximum(np.linalg.eigvalsh(root @ data @ root) - (slack / weakest)[:, None], 0.0)
    least = np.log1p(eigenvalues).sum(axis=1)
    most = size * np.log1p((regression.visits + float(changes)) / weakest)
    within("state.log_det", state.log_det, (1.0 - FILE_SLACK) * least - FILE_SLACK, 1.01 * most + 1.0)


def check_episode_states(states: EpisodeState, support: Support, awaits: NDArray[np.bool_], changes: int) -> None:
    """The arrays of K episodes, each with an axis in front for them, each for itself and together. ``changes``: how
    many entries the change log had."""
    sets = states.sets
    _check_contexts(states.context)
    lengths = np.diff(support.next_start)
    within("policy", states.iteration.policy, support.pair_start[:-1], support.pair_start[1:] - 1)
    within("used", sets.used, 0, lengths)
    whole = (sets.mass == NO_GOAL) | (sets.mass == TO_BEST)
    all_used = np.broadcast_to(lengths, whole.shape)[whole]
    within("used", sets.used[whole], all_used, all_used)
    within("mass", sets.mass[:, support.leads_to_goal], 0.0, LARGEST)
    within("state", sets.state, 0, support.states)
    within("low", sets.low, 0.0, 1.0)
    within("high", sets.high, 0.0, 1.0)
    within("centre", sets.centre, 0.0, 1.0 + 1e-6)
    within("ball", sets.ball, 0.0, LARGEST)
    within("norm", states.norm, 0.0, LARGEST)
    within("known_width", states.known_width, 0.0, LARGEST)
    read = {"changes_read": (0, changes), "changes_known": (0, changes)}
    within_record("progress", states.progress, interval=(1, MANY), counted=(0, awaits.astype(np.int64)), **read)
    within("residual", states.iteration.progress["residual"], 0.0, np.inf)
    check_values(states.iteration.values)


def _check_contexts(contexts: Floats) -> None:
    """[K, d] points of the simplex."""
    plain = ((contexts >= 0.0) & (contexts <= 1.0)).all(axis=1) & (abs(contexts.sum(axis=1) - 1.0) <= 2.0**-40)
    for context in contexts[~plain]:
        check_distribution(context, "context", len(context), "component")


def check_values(values: Floats) -> None:
    """[..., S + 1] what is lost until the goal."""
    within("values", values[..., :-1], 0.0, LARGEST)
    within("values of the goal", values[..., -1:], 0.0, 0.0)
