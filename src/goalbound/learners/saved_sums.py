"""What was read from the checkpoint of a ridge learner is what its visits imply: contexts are not negative and sum to
1, outcomes lie in [0, 1]. Bounds leave room for rounding; what they leave to a forger is a learner of other steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goalbound.kernels.forecasts import LEAST_FORECAST
from goalbound.kernels.likelihood import MOST_TILT
from goalbound.kernels.likelihood_state import LikelihoodState, part_in_use
from goalbound.kernels.linearity_test import LinearityTest
from goalbound.kernels.pending import UNIT
from goalbound.kernels.regression import RegressionSums
from goalbound.kernels.state import Constants, LearnerState
from goalbound.learners.checkpoint import MANY, within
from goalbound.models import Support

SLACK = 1e-6
"""A share of the visits and of the ridge: more than the rounding of sums."""

Floats = NDArray[np.float64]


def check_sums(state: LearnerState, constants: Constants, support: Support) -> None:
    """An error that names the first array with a number that no visits lead to."""
    model = constants.model
    visits = state.regression.visits.astype(np.float64)
    ridge = np.full(len(visits), constants.regularization)
    if model.on:
        ridge += np.where(model.guessed, model.strength, 0.0)
    data, slack = _check_gram(state.regression, ridge, visits)
    _check_log_det(state, data, ridge, slack)
    _check_outcomes(state, constants, support, data.sum(axis=2), ridge, slack)
    _check_estimates(state, ridge, visits)
    _check_variance(state, data, slack, support)
    _check_pending(state, constants.regularization)
    _check_linearity(state.linearity, support)
    if len(state.likelihood.visits):
        _check_likelihood_sums(state.likelihood, visits)


def _check_gram(regression: RegressionSums, ridge: Floats, visits: Floats) -> tuple[Floats, Floats]:
    """[N, d, d] the sums of c c^T, without the ridge, and [N] how far rounding may have moved them."""
    size = regression.gram.shape[1]
    data = regression.gram - ridge[:, None, None] * np.eye(size)
    slack = SLACK * (visits + ridge)
    most = np.broadcast_to((visits + slack)[:, None, None], data.shape)
    within("state.regression.gram less the ridge", data, -slack[:, None, None], most)
    within("state.regression.gram less its transpose", data - data.swapaxes(1, 2), *_around(0.0, slack[:, None, None]))
    total = data.sum(axis=(1, 2))  # each visit adds 1
    within("state.regression.gram less the ridge, summed,", total, *_around(visits, size * size * slack))
    diagonal = data[:, range(size), range(size)]
    most = np.sqrt(np.maximum(diagonal[:, :, None] * diagonal[:, None, :], 0.0)) + slack[:, None, None]
    within("state.regression.gram beside its diagonal", data, -slack[:, None, None], most)
    within("state.regression.gram_low", regression.gram_low, *_around(0.0, slack[:, None, None]))
    for name in ("loss_low", "goal_low"):
        within(f"state.regression.{name}", getattr(regression, name), *_around(0.0, slack[:, None]))
    within("state.regression.inverse", regression.inverse, *_around(0.0, 2.0 / ridge.min()))
    return data, slack


def _check_log_det(state: LearnerState, data: Floats, ridge: Floats, slack: Floats) -> None:
    """``log_det`` is an upper bound, by what rounding adds and visits that were taken back had."""
    size = data.shape[1]
    eigenvalues = np.maximum(np.linalg.eigvalsh(data) - slack[:, None], 0.0)
    least = np.log1p(eigenvalues / ridge[:, None]).sum(axis=1)
    counted = state.regression.visits + float(state.totals["changes"])
    most = size * np.log1p(counted / ridge)
    within("state.log_det", state.log_det, (1.0 - SLACK) * least - SLACK, 1.01 * most + 1.0)


def _check_outcomes(
    state: LearnerState, constants: Constants, support: Support, contexts: Floats, ridge: Floats, slack: Floats
) -> None:
    """Sums of losses and of next states, beside the sums of all contexts [N, d]."""
    regression, model = state.regression, constants.model
    first, lengths = support.next_start[:-1], np.diff(support.next_start)
    room = (contexts.shape[1] * slack)[:, None]
    guessed = (model.guessed & model.on)[:, None] * ridge[:, None]  # guesses begin with sums of that weight
    at_first = guessed * model.losses if model.on else 0.0
    within("state.regression.loss_sums", regression.loss_sums - at_first, -room, contexts + room)
    most, each = contexts + guessed + room, np.repeat(room, lengths, axis=0)
    within("state.regression.goal_sums", regression.goal_sums, -room, most)
    within("state.regression.next_sums", regression.next_sums, -each, np.repeat(most, lengths, axis=0))
    within("state.regression.next_low", regression.next_low, *_around(0.0, each))
    came = np.add.reduceat(regression.next_sums, first, axis=0) + regression.goal_sums - guessed
    within("state.regression.next_sums and goal_sums together", came, -room, contexts + room)


def _check_estimates(state: LearnerState, ridge: Floats, visits: Floats) -> None:
    """Ridge coefficients, projected rows, and the radii around them."""
    size = state.losses.shape[1]
    most = 1.0 + 2.0 * np.sqrt(size + visits / ridge)
    within("state.losses", state.losses, *_around(0.0, most[:, None]))
    within("state.rows", state.rows, 0.0, 1.0 + SLACK)
    for name in ("loss_radius", "next_radius", "known_width"):
        within(f"state.{name}", getattr(state, name), 0.0, np.inf)
    within("state.revision", state.revision, 0, state.totals["changes"] + len(visits) + 1)


def _check_variance(state: LearnerState, data: Floats, slack: Floats, support: Support) -> None:
    """Sums of c c^T times at most a quarter."""
    if not len(state.variance):
        return
    rows, columns = np.tril_indices(data.shape[1])
    most = np.repeat(0.25 * data[:, rows, columns] + slack[:, None], np.diff(support.next_start), axis=0)
    within("state.variance", state.variance, 0.0, most)
    within("state.variance_log_det", state.variance_log_det, 0.0, np.inf)


def _check_pending(state: LearnerState, regularization: float) -> None:
    """Visits without an outcome: a context has d entries that sum to 1, its norm is at most that of the first visit."""
    pending = state.pending
    size = pending.contexts.shape[1]
    units = pending.visits / UNIT + size * pending.visits
    within("pending contexts", pending.contexts.sum(axis=1), 0, units)
    within("pending contexts", pending.contexts, 0, units[:, None])
    within("pending norms", pending.norms, 0, units * (1.01 / np.sqrt(regularization) + 1.0))


def _check_linearity(test: LinearityTest, support: Support) -> None:
    """Each step of the test adds at most 1 to a sum, or takes it. They are kept where data is forgotten."""
    if not len(test.steps):
        return
    within("linearity steps", test.steps, 0, MANY)
    sums = 2.0 * (test.steps.astype(np.float64)[:, :, None] + 1.0)
    within("linearity losses", test.losses, *_around(0.0, sums))
    within("linearity rows", test.rows, *_around(0.0, np.repeat(sums, np.diff(support.next_start), axis=0)))


def _check_likelihood_sums(state: LikelihoodState, counted: Floats) -> None:
    """Sums over the visits of the pair whose numbers they are. ``contexts`` may be those of more visits, up to all that
    are ``counted`` [N]: forecasts also use sums that came from another learner."""
    pairs = np.flatnonzero(state.place)
    pairs = pairs[np.argsort(state.first[pairs])]
    counts = np.diff(np.append(state.first[pairs], int(state.used["numbers"])))
    visits = np.repeat(state.visits[pairs], counts).astype(np.float64)
    placed = np.flatnonzero(state.place)[np.argsort(state.place[state.place > 0])]
    least, most = state.visits[placed].astype(np.float64), counted[placed]
    used = part_in_use(state)
    room = SLACK * (visits + 1.0)
    contexts = used.contexts.sum(axis=1)
    within("likelihood contexts", contexts, least - SLACK * (most + 1.0), most + SLACK * (most + 1.0))
    within("likelihood ones", used.ones, 0.0, visits + room)
    within("likelihood estimate", used.estimate, 0.0, 1.0)
    most = -np.log(LEAST_FORECAST) * 2.0 * (visits + 1.0)
    within("likelihood log_loss", used.log_loss, 0.0, most[:, None])
    within("likelihood shift", used.shift, *_around(0.0, np.log(MOST_TILT) * visits + room))
    total = float(state.visits.sum())
    within("likelihood rows", used.rows[:, -1], 0.0, total * (1.0 + SLACK))
    within("likelihood rows", used.rows, 0.0, MOST_TILT * (total + 1.0))


def _around(middle: float | Floats, by: float | Floats) -> tuple[float | Floats, float | Floats]:
    return middle - by, middle + by
